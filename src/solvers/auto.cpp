#include "taut/solvers/auto.hpp"

#include <algorithm>
#include <cmath>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"

namespace taut {
namespace {

constexpr int kRobotRows = 72;
constexpr int kSparseSweeps = 100;
constexpr int kMostBursts = 8;
constexpr int kPivotRows = 120;
constexpr int kLocalIterations = 2'000, kLocalPatience = 60;

// One solve: what its stages share.
class Course {
 public:
  Course(const Problem& problem, const AutoOptions& options, AutoWorkspace& workspace, std::vector<double>& best,
         VectorRef lambda, VectorRef velocity)
      : problem_(problem),
        options_(options),
        workspace_(workspace),
        best_(best.data(), problem.rows()),
        lambda_(lambda),
        velocity_(velocity) {
    project(problem_, lambda_);
    current_ = report_.residuals = residuals(problem_, lambda_, velocity_);
    best_ = lambda_;
  }

  // Joints first, then all stages on what is left of the problem. True if the solve is over.
  bool without_joints();

  double worst() const { return report_.residuals.worst(); }
  bool solved() const { return report_.residuals.worst() <= options_.tolerance; }
  bool done() const { return solved() || left() <= 0; }

  void newton(int patience) {
    const Newton method(
        {.tolerance = options_.tolerance, .max_iterations = std::min(100, left()), .patience = patience});
    note(method.solve_from(problem_, current_, workspace_.newton, lambda_, velocity_));
  }

  // Up to `count` sweeps, and as many again, and again, as long as their pace says that they will end the solve before
  // these are spent.
  void sweeps(int count) {
    constexpr int kPace = 10;  // sweeps over which the pace is measured
    const int most = std::min(kMostBursts * count, left());
    int taken = 0;
    double moved = 0.0, moved_before = 0.0;
    for (int end = std::min(count, most); taken < end; ++taken) {
      may_interrupt(problem_.rows());
      moved = sweep(problem_, workspace_.sweeps, 1.0, lambda_, velocity_, PgsRule{});
      // A sweep that moves less than this has little left to find; the judge decides.
      if (moved <= 0.1 * options_.tolerance) {
        ++taken;
        break;
      }
      if (taken + 1 + kPace == end) moved_before = moved;
      if (taken + 1 < end || !(moved < moved_before)) continue;
      const double pace = std::log(moved / moved_before) / kPace;
      if (std::log(0.1 * options_.tolerance / moved) / pace < count) end = std::min(end + count, most);
    }
    note({.iterations = taken, .residuals = residuals(problem_, lambda_, velocity_)});
  }

  // Sweeps that cost as much as one Newton step: few for a robot, hundreds for a dense problem of hundreds of rows,
  // some tens for a pile, whose factors are as sparse as its G. At least ten, the fewest that make the modes of a cold
  // start worth a factorization; more than a few hundred at once would be patience with a method that has stopped
  // getting anywhere.
  int sweeps_per_newton() {
    prepare_sweeps(problem_, workspace_.sweeps);
    if (problem_.G.is_sparse()) return kSparseSweeps;
    const double rows = problem_.rows();
    const double sweep_flops = 2.0 * rows * rows + 30.0 * problem_.size(),
                 newton_flops = 2.0 / 3.0 * rows * rows * rows;
    return static_cast<int>(std::clamp(newton_flops / sweep_flops, 10.0, 300.0));
  }

  void proximal(int max_iterations) {
    const Proximal method({.tolerance = options_.tolerance, .max_iterations = std::min(max_iterations, left())});
    note(method.solve(problem_, workspace_.proximal, lambda_, velocity_));
  }

  // The worst block with its neighbours, solved as if it were alone, again and again: what is left of a pile's residual
  // often sits in a few corners.
  void clusters() {
    if (workspace_.newton.path != NewtonWorkspace::Path::sparse) return;
    if (!workspace_.local) workspace_.local = std::make_unique<AutoWorkspace>();
    const Auto method({.tolerance = 0.1 * options_.tolerance, .max_iterations = kLocalIterations});
    Cluster& cluster = workspace_.cluster;
    int taken = 0;
    double least = worst();
    for (int waited = 0; waited < kLocalPatience && taken < left(); ++taken) {
      if (!cluster.gather(problem_, workspace_.newton.system, lambda_, velocity_, kRobotRows)) break;
      if (cluster.residual() <= 0.5 * options_.tolerance) break;
      waited = cluster.residual() < 0.9 * least ? 0 : waited + 1;
      least = std::min(least, cluster.residual());
      method.solve(cluster.view(), *workspace_.local, cluster.impulse(), cluster.velocity());
      cluster.scatter(problem_, lambda_, velocity_);
    }
    note({.iterations = taken, .residuals = residuals(problem_, lambda_, velocity_)});
  }

  // The modes of the pyramid's problem, found by pivots: a start like no other, where all iterations have led to the
  // same dead end. True if there is one.
  bool pyramid(int sides) {
    if (!workspace_.pivots) {
      workspace_.pivots = std::make_unique<AutoWorkspace::Pivots>();
      workspace_.pivots->eight.reserve(kPivotRows, workspace_.pivots->workspace);
    }
    const LcpPivot& method = sides == 4 ? workspace_.pivots->four : workspace_.pivots->eight;
    const SolveReport stage = method.solve(problem_, workspace_.pivots->workspace, lambda_, velocity_);
    project(problem_, lambda_);
    note({.iterations = std::max(1, stage.iterations), .residuals = residuals(problem_, lambda_, velocity_)});
    return stage.status == Status::converged;
  }

  void admm(int max_iterations) {
    const Admm method({.tolerance = options_.tolerance, .max_iterations = std::min(max_iterations, left())});
    note(method.solve(problem_, workspace_.admm, lambda_, velocity_));
  }

  // The best iterate of all stages becomes the solution.
  SolveReport finish() {
    if (current_.worst() != report_.residuals.worst()) {
      lambda_ = best_;
      report_.residuals = residuals(problem_, lambda_, velocity_);
    }
    report_.status = solved() ? Status::converged : left() <= 0 ? Status::iteration_limit : Status::stalled;
    return report_;
  }

 private:
  int left() const { return options_.max_iterations - report_.iterations; }

  void note(const SolveReport& stage) {
    report_.iterations += stage.iterations;
    current_ = stage.residuals;
    if (current_.worst() < report_.residuals.worst()) {
      report_.residuals = current_;
      best_ = lambda_;
    }
  }

  const Problem& problem_;
  const AutoOptions& options_;
  AutoWorkspace& workspace_;
  VectorView best_;
  VectorRef lambda_, velocity_;
  SolveReport report_;
  Residuals current_;  // of `lambda_`, not always the best one
};

bool has_joints(const Problem& problem) {
  return std::ranges::any_of(problem.blocks, [](const Block& block) { return block.kind == SetKind::free; });
}

bool only_joints(const Problem& problem) {
  return std::ranges::all_of(problem.blocks, [](const Block& block) { return block.kind == SetKind::free; });
}

// All stages in turn, from a warm start or from zero.
SolveReport solve_in_stages(const Problem& problem, const AutoOptions& options, AutoWorkspace& workspace,
                            Course& course, bool cold) {
  workspace.newton.path = NewtonWorkspace::Path::none;
  workspace.admm.rho = 0.0;  // the answer depends on the problem and the warm start alone
  if (course.done()) return course.finish();
  const int count_per_newton = course.sweeps_per_newton();
  // A robot's Newton step costs a few sweeps: it goes first and may try for longer. A pile's costs hundreds.
  const bool robot = problem.rows() <= kRobotRows;
  if (robot) {
    // From zero a couple of sweeps find most modes.
    if (cold) course.sweeps(2);
    // Almost solved: a robot at rest, some of its contacts or joints with dry friction on the edge between two modes,
    // where Newton dithers. A few sweeps do as a rule; if not, as many as a Newton step costs.
    for (const int count : {3, count_per_newton}) {
      if (cold || course.done() || course.worst() >= 30.0 * options.tolerance) break;
      course.sweeps(count);
    }
    if (!course.done()) course.newton(2);
    if (course.done()) return course.finish();
  } else if (!cold && problem.G.is_sparse()) {
    course.newton(1);  // a stack at rest; a pile whose modes have changed loses little
    if (course.done()) return course.finish();
  }

  const int patience = robot ? 8 : 4;
  const bool sparse = problem.G.is_sparse();
  const auto sweeps_and_newton = [&](int rounds) {
    for (int round = 0, count = count_per_newton; round < rounds && !course.done(); ++round, count *= 2) {
      course.sweeps(count);
      if (course.done()) break;
      course.newton(patience);
    }
  };
  sweeps_and_newton(sparse ? 2 : 4);
  for (const int sides : {4, 8}) {
    if (sparse || problem.rows() > kPivotRows || course.done()) break;
    if (course.pyramid(sides)) sweeps_and_newton(5);
  }
  // Sparse factors are cheap enough for a method that takes tens of them.
  for (int round = 0, count = 50; sparse && round < 5 && !course.done(); ++round, count *= 2) {
    course.proximal(count);
    if (course.done()) break;
    course.clusters();
    if (course.done()) break;
    course.newton(patience);
  }
  // ADMM last: slow to certify, but it brings Newton close from anywhere, in a hundred iterations as a rule.
  for (int round = 0, count = 100; round < (sparse ? 5 : 8) && !course.done(); ++round, count *= 2) {
    course.admm(count);
    if (course.done()) break;
    course.clusters();
    if (course.done()) break;
    course.newton(20);
  }
  return course.finish();
}

bool Course::without_joints() {
  Elimination& elimination = workspace_.elimination;
  if (!workspace_.joints_factored && !elimination.factor(problem_)) return false;
  if (!elimination.reduce(problem_)) return false;
  AutoOptions options{.tolerance = 0.5 * options_.tolerance};
  // From zero: joints need no warm start, and where they contradict each other impulses of redundant rows would only
  // ever grow from one step of a simulation to the next.
  for (const Block& block : problem_.blocks) {
    if (block.kind == SetKind::free) lambda_.segment(block.start, block.size).setZero();
  }
  velocity_of(problem_, lambda_, velocity_);
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds && !done(); ++round) {
    elimination.restrict_from(problem_, lambda_, velocity_);
    const Problem reduced = elimination.reduced();
    options.max_iterations = left();
    const bool cold = (elimination.impulse().array() == 0.0).all();
    Course course(reduced, options, workspace_, workspace_.best_reduced, elimination.impulse(), elimination.velocity());
    const SolveReport report = solve_in_stages(reduced, options, workspace_, course, cold);
    elimination.recover(problem_, lambda_);
    note({.iterations = std::max(1, report.iterations), .residuals = residuals(problem_, lambda_, velocity_)});
    if (report.status != Status::converged) break;
    // Another round refines what rounding has left of the joints. It also asks for more: the judge weighs the rows of
    // the whole by their G, which is larger than S.
    options.tolerance *= 0.1;
  }
  if (elimination.joint_residual(velocity_) > options_.tolerance) return done();
  // Joints are kept. Where that is not a solution there is none, or none that the stages could find; a machine that
  // holds together is then the better answer, whatever the worst number of the others.
  report_.residuals = current_;
  best_ = lambda_;
  return true;
}

}  // namespace

void AutoWorkspace::reserve(int rows) {
  newton.reserve(rows);
  sweeps.reserve(rows);
  proximal.reserve(rows);
  admm.reserve(rows);
  elimination.reserve(rows);
  for (auto* buffer : {&best, &best_reduced}) {
    if (buffer->size() < static_cast<std::size_t>(rows)) buffer->resize(rows);
  }
}

Auto::Auto(AutoOptions options) : options_(options) {}

SolveReport Auto::solve(const Problem& problem, AutoWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  workspace.reserve(problem.rows());
  const bool cold = (lambda.array() == 0.0).all();
  Course course(problem, options_, workspace, workspace.best, lambda, velocity);
  if (course.done()) return course.finish();
  if (has_joints(problem)) {
    // A Newton step on the whole of a sparse problem with contacts is cheaper than an elimination.
    if (problem.G.is_sparse() && !cold && !(workspace.joints_factored && only_joints(problem))) {
      workspace.newton.path = NewtonWorkspace::Path::none;
      course.newton(1);
    }
    if (course.done() || course.without_joints()) return course.finish();
  }
  return solve_in_stages(problem, options_, workspace, course, cold);
}

}  // namespace taut
