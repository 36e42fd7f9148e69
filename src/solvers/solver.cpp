#include "taut/solvers/solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "taut/problem/sets.hpp"
#include "taut/solvers/auto.hpp"
#include "taut/solvers/ccp_newton.hpp"
#include "taut/solvers/ccp_pgs.hpp"
#include "taut/solvers/elimination.hpp"
#include "taut/solvers/lcp_pgs.hpp"
#include "taut/solvers/lcp_pivot.hpp"
#include "taut/solvers/lcp_staggered.hpp"
#include "taut/solvers/nbgs.hpp"
#include "taut/solvers/proximal.hpp"
#include "taut/solvers/raisim.hpp"
#include "taut/solvers/staggered.hpp"

namespace taut {
namespace {

// Norms square what they are given: beyond these, squares are infinite or zero and nothing can be judged.
constexpr double kLargest = 1e100, kSmallest = 1e-100;

// Zero times anything finite is zero, and sums of zeros vectorize: cheaper than asking every entry.
template <class Values>
double zero_if_finite(const Values& values) {
  return (0.0 * values.array()).sum();
}

// `trace` receives the largest one of a block.
bool in_range(const Problem& problem, const ConstVectorRef& lambda, double& trace) {
  double sum = zero_if_finite(problem.R);
  if (problem.G.is_sparse()) {
    const auto values = problem.G.sparse().values();
    sum += zero_if_finite(Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size())));
  } else {
    sum += zero_if_finite(problem.G.dense());
  }
  // An entry of G is no larger than the diagonal ones it stands between, if G is what it should be.
  double softest = 1.0;
  trace = 0.0;
  for (int i = 0; i < problem.size(); ++i) {
    const double stiffness = mean_diagonal(problem, i);
    softest = std::min(softest, stiffness);
    trace = std::max(trace, problem.blocks[i].size * stiffness);
  }
  return sum == 0.0 && softest > kSmallest && trace < kLargest && problem.g.lpNorm<Eigen::Infinity>() < kLargest &&
         lambda.lpNorm<Eigen::Infinity>() < kLargest;
}

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// What rounding may have made of c = (G + R) λ + g, at most: |G_ij| ≤ √(G_ii G_jj).
double rounding(const Problem& problem, const ConstVectorRef& lambda) {
  double largest = 0.0, sum = 0.0;
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const double root = std::sqrt(block.size * mean_diagonal(problem, i));
    largest = std::max(largest, root);
    sum += root * lambda.segment(block.start, block.size).lpNorm<1>();
  }
  return kEpsilon * largest * sum;
}

}  // namespace

const char* to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::iteration_limit:
      return "iteration_limit";
    case Status::stalled:
      return "stalled";
    case Status::not_finite:
      return "not_finite";
  }
  return "unknown";
}

const char* to_string(Model model) {
  switch (model) {
    case Model::ncp:
      return "NCP";
    case Model::ccp:
      return "CCP";
    case Model::lcp:
      return "LCP";
    case Model::raisim:
      return "RaiSim";
  }
  return "unknown";
}

struct Solver::Method {
  virtual ~Method() = default;
  virtual void reserve(int rows) = 0;
  virtual SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity) = 0;
  virtual double* penalty() = 0;
  virtual Elimination& elimination() = 0;
  virtual void set_joints_factored(bool factored) = 0;

  const SolverInfo* info = nullptr;
  SolverOptions options;
  int capacity = 0;
  bool joints_factored = false;
};

namespace {

using Method = Solver::Method;

template <class Algorithm, class Workspace>
struct MethodOf final : Method {
  explicit MethodOf(Algorithm algorithm_) : algorithm(std::move(algorithm_)) {}
  void reserve(int rows) override {
    if constexpr (requires { algorithm.reserve(rows, workspace); }) {
      algorithm.reserve(rows, workspace);  // a method whose options say how much a row takes
    } else {
      workspace.reserve(rows);
    }
  }
  SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity) override {
    return algorithm.solve(problem, workspace, lambda, velocity);
  }
  double* penalty() override {
    if constexpr (requires { workspace.rho; }) return &workspace.rho;
    return nullptr;
  }

  Elimination& elimination() override {
    if constexpr (requires { workspace.elimination; }) {
      return workspace.elimination;
    } else {
      return own_elimination;
    }
  }
  void set_joints_factored([[maybe_unused]] bool factored) override {
    if constexpr (requires { workspace.joints_factored; }) workspace.joints_factored = factored;
  }

  Algorithm algorithm;
  Workspace workspace;
  Elimination own_elimination;  // empty in a method that has one
};

// How the common options become those of a method: what is zero stays the method's own.
template <class T>
void set_if_given(T& option, T value) {
  if (value != T{}) option = value;
}

SweepOptions sweep_options(const SolverOptions& options) {
  SweepOptions sweeps{.tolerance = options.tolerance};
  set_if_given(sweeps.max_sweeps, options.max_iterations);
  set_if_given(sweeps.relaxation, options.relaxation);
  return sweeps;
}

AdmmOptions admm_options(const SolverOptions& options, PenaltyRule penalty) {
  AdmmOptions admm{.tolerance = options.tolerance, .penalty = penalty, .rho = options.rho};
  set_if_given(admm.max_iterations, options.max_iterations);
  set_if_given(admm.over_relaxation, options.relaxation);
  return admm;
}

CcpNewtonOptions ccp_newton_options(const SolverOptions& options, Regularization regularization) {
  CcpNewtonOptions newton{.tolerance = options.tolerance, .regularization = regularization};
  set_if_given(newton.max_iterations, options.max_iterations);
  set_if_given(newton.alpha, options.alpha);
  return newton;
}

RaisimOptions raisim_options(const SolverOptions& options) {
  RaisimOptions raisim;
  raisim.sweeps.tolerance = options.tolerance;
  set_if_given(raisim.sweeps.max_sweeps, options.max_iterations);
  set_if_given(raisim.sweeps.relaxation, options.relaxation);
  return raisim;
}

struct Entry {
  SolverInfo info;
  std::unique_ptr<Method> (*make)(const SolverOptions&);
};

template <class Workspace, class Algorithm>
std::unique_ptr<Method> make_method(Algorithm algorithm) {
  return std::make_unique<MethodOf<Algorithm, Workspace>>(std::move(algorithm));
}

// Every method, in the order of presentation: the one place where a name is given to it.
constexpr std::array kEntries{
    Entry{{"auto", Model::ncp, "the default: Newton on the modes of the warm start, helped by sweeps and ADMM"},
          [](const SolverOptions& o) {
            AutoOptions options{.tolerance = o.tolerance};
            set_if_given(options.max_iterations, o.max_iterations);
            return make_method<AutoWorkspace>(Auto(options));
          }},
    Entry{{"pgs", Model::ncp, "projected Gauss-Seidel: cheap sweeps, slow on mass ratios and redundancy"},
          [](const SolverOptions& o) { return make_method<SweepWorkspace>(Pgs(sweep_options(o))); }},
    Entry{{"nbgs", Model::ncp, "block Gauss-Seidel with the exact solve of one contact: fewer, dearer sweeps"},
          [](const SolverOptions& o) { return make_method<SweepWorkspace>(Nbgs(sweep_options(o))); }},
    Entry{{"staggered", Model::ncp, "staggered projections: normal impulses and friction in turn"},
          [](const SolverOptions& o) {
            StaggeredOptions options{.tolerance = o.tolerance};
            set_if_given(options.max_iterations, o.max_iterations);
            return make_method<ProximalWorkspace>(Staggered(options));
          }},
    Entry{{"admm", Model::ncp, "proximal ADMM, spectral penalty (SA): robust, slow in the last digits"},
          [](const SolverOptions& o) {
            return make_method<AdmmWorkspace>(Admm(admm_options(o, PenaltyRule::spectral)));
          }},
    Entry{
        {"admm_la", Model::ncp, "proximal ADMM, penalty adapted by a constant factor (LA)"},
        [](const SolverOptions& o) { return make_method<AdmmWorkspace>(Admm(admm_options(o, PenaltyRule::linear))); }},
    Entry{{"admm_fp", Model::ncp, "proximal ADMM, fixed penalty (FP)"},
          [](const SolverOptions& o) { return make_method<AdmmWorkspace>(Admm(admm_options(o, PenaltyRule::fixed))); }},
    Entry{{"proximal", Model::ncp, "proximal points, each a convex problem by Newton: for large sparse piles"},
          [](const SolverOptions& o) {
            ProximalOptions options{.tolerance = o.tolerance};
            set_if_given(options.max_iterations, o.max_iterations);
            return make_method<ProximalWorkspace>(Proximal(options));
          }},
    Entry{{"newton", Model::ncp, "semi-smooth Newton on modes: exact near a solution, may stall far away"},
          [](const SolverOptions& o) {
            NewtonOptions options{.tolerance = o.tolerance};
            set_if_given(options.max_iterations, o.max_iterations);
            return make_method<NewtonWorkspace>(Newton(options));
          }},
    Entry{{"ccp_pgs", Model::ccp, "projected Gauss-Seidel on the convex relaxation"},
          [](const SolverOptions& o) { return make_method<SweepWorkspace>(CcpPgs(sweep_options(o))); }},
    Entry{{"ccp_admm", Model::ccp, "ADMM on the convex relaxation"},
          [](const SolverOptions& o) {
            AdmmOptions options = admm_options(o, PenaltyRule::spectral);
            options.de_saxce = false;
            return make_method<AdmmWorkspace>(Admm(options));
          }},
    Entry{{"ccp_newton_mujoco", Model::ccp, "primal Newton on the convex relaxation, compliance α diag G as MuJoCo"},
          [](const SolverOptions& o) {
            return make_method<CcpNewtonWorkspace>(CcpNewton(ccp_newton_options(o, Regularization::mujoco)));
          }},
    Entry{{"ccp_newton_drake", Model::ccp, "primal Newton on the convex relaxation, near-rigid compliance as Drake"},
          [](const SolverOptions& o) {
            return make_method<CcpNewtonWorkspace>(CcpNewton(ccp_newton_options(o, Regularization::drake)));
          }},
    Entry{{"lcp_pivot", Model::lcp, "Lemke's pivots on the pyramid: direct, for few contacts"},
          [](const SolverOptions& o) {
            LcpPivotOptions options{.tolerance = o.tolerance, .sides = o.sides};
            set_if_given(options.max_pivots, o.max_iterations);
            return make_method<LcpPivotWorkspace>(LcpPivot(options));
          }},
    Entry{{"lcp_pgs", Model::lcp, "projected Gauss-Seidel on the pyramid"},
          [](const SolverOptions& o) { return make_method<SweepWorkspace>(LcpPgs(sweep_options(o), o.sides)); }},
    Entry{{"lcp_staggered", Model::lcp, "staggered projections on the pyramid"},
          [](const SolverOptions& o) {
            LcpStaggeredOptions options{.tolerance = o.tolerance, .sides = o.sides};
            set_if_given(options.max_iterations, o.max_iterations);
            return make_method<LcpStaggeredWorkspace>(LcpStaggered(options));
          }},
    Entry{{"raisim", Model::raisim, "RaiSim: sweeps, each contact by bisection on its ellipse"},
          [](const SolverOptions& o) { return make_method<SweepWorkspace>(Raisim(raisim_options(o))); }},
    Entry{{"raisim_golden", Model::raisim, "RaiSim, golden section on the ellipse"},
          [](const SolverOptions& o) {
            RaisimOptions options = raisim_options(o);
            options.search = SlidingSearch::golden;
            return make_method<SweepWorkspace>(Raisim(options));
          }},
    Entry{{"raisim_quartic", Model::raisim, "RaiSim, the ellipse solved as a quartic"},
          [](const SolverOptions& o) {
            RaisimOptions options = raisim_options(o);
            options.search = SlidingSearch::quartic;
            return make_method<SweepWorkspace>(Raisim(options));
          }},
    Entry{{"raisim_ds", Model::raisim, "RaiSim with De Saxcé's correction: where it settles, the exact law holds"},
          [](const SolverOptions& o) {
            RaisimOptions options = raisim_options(o);
            options.de_saxce = true;
            return make_method<SweepWorkspace>(Raisim(options));
          }},
    Entry{{"raisim_ds_es", Model::raisim, "the same, stopped early when a sweep gains little"},
          [](const SolverOptions& o) {
            RaisimOptions options = raisim_options(o);
            options.de_saxce = true;
            options.early_stopping = 1e-8;
            return make_method<SweepWorkspace>(Raisim(options));
          }},
};

constexpr auto kInfos = [] {
  std::array<SolverInfo, kEntries.size()> infos;
  for (std::size_t k = 0; k < infos.size(); ++k) infos[k] = kEntries[k].info;
  return infos;
}();

}  // namespace

std::span<const SolverInfo> solvers() { return kInfos; }

Solver::Solver(std::string_view name, SolverOptions options) {
  const auto refuse = [](const char* what, const std::string& value, const char* why) {
    throw std::invalid_argument(std::string("Solver: ") + what + " is " + value + ", " + why);
  };
  if (!(options.tolerance > 0.0) || !std::isfinite(options.tolerance)) {
    refuse("tolerance", std::to_string(options.tolerance), "not positive");
  }
  if (options.max_iterations < 0) refuse("max_iterations", std::to_string(options.max_iterations), "negative");
  if (!(options.alpha >= 0.0) || !std::isfinite(options.alpha))
    refuse("alpha", std::to_string(options.alpha), "negative");
  if (!(options.rho >= 0.0) || !std::isfinite(options.rho)) refuse("rho", std::to_string(options.rho), "negative");
  if (options.sides < 3) refuse("sides", std::to_string(options.sides), "fewer than a pyramid's three");
  if (options.sides > 1024) refuse("sides", std::to_string(options.sides), "more than 1024");
  for (const auto& entry : kEntries) {
    if (entry.info.name != name) continue;
    method_ = entry.make(options);
    method_->info = &entry.info;
    method_->options = options;
    return;
  }
  std::string known;
  for (const SolverInfo& info : solvers()) known += (known.empty() ? "" : ", ") + std::string(info.name);
  throw std::invalid_argument("Solver: no method '" + std::string(name) + "'; there are " + known);
}

Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

void Solver::reserve(int rows) {
  if (rows <= method_->capacity) return;
  method_->capacity = rows;
  method_->reserve(rows);
}

SolveReport Solver::solve(const Problem& problem, VectorRef lambda, VectorRef velocity) {
  method_->set_joints_factored(false);
  return solve_factored(problem, lambda, velocity);
}

SolveReport Solver::solve_factored(const Problem& problem, VectorRef lambda, VectorRef velocity) {
  const int rows = problem.rows();
  if (rows == 0) return {};
  const auto give_up = [&](int iterations) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    lambda.setZero();
    velocity = problem.g;
    return SolveReport{Status::not_finite, iterations, {inf, inf, inf, inf}, inf};
  };
  double trace = 0.0;
  if (!in_range(problem, lambda, trace)) return give_up(0);
  // Half as much again: a pile that grows by one contact a step must not allocate at each.
  if (rows > method_->capacity) reserve(rows + rows / 2);
  SolveReport report = method_->solve(problem, lambda, velocity);
  report.model_residual = report.residuals.worst();
  if (model() != Model::ncp) report.residuals = residuals(problem, lambda, velocity);
  if (!std::isfinite(report.residuals.worst())) return give_up(report.iterations);
  // Rows that contradict each other have no solution, and impulses grow until rounding hides g. Then the judge has
  // judged another problem: what may have been lost counts as what was found.
  if (kEpsilon * trace * lambda.lpNorm<1>() <= method_->options.tolerance) return report;  // as a rule
  const double lost = rounding(problem, lambda);
  if (lost > std::max(problem.g.lpNorm<Eigen::Infinity>(), method_->options.tolerance)) {
    report.residuals.dual += lost;
    report.residuals.natural += lost;
    report.model_residual += lost;
    if (report.status == Status::converged) report.status = Status::stalled;
  }
  return report;
}

void Solver::factor_joints(const Problem& problem) {
  Elimination& elimination = method_->elimination();
  elimination.reserve(std::max(problem.rows(), method_->capacity));
  method_->joints_factored = elimination.factor(problem);
  method_->set_joints_factored(method_->joints_factored);
}

bool Solver::solve_joints(VectorRef x) {
  if (method_->joints_factored) method_->elimination().solve_joints(x);
  return method_->joints_factored;
}

void Solver::reconcile(VectorRef x) {
  if (method_->joints_factored) method_->elimination().reconcile(x);
}

double Solver::penalty() const {
  const double* rho = method_->penalty();
  return rho ? *rho : 0.0;
}

void Solver::set_penalty(double rho) {
  if (double* current = method_->penalty()) *current = rho;
}

std::string_view Solver::name() const { return method_->info->name; }
Model Solver::model() const { return method_->info->model; }
const SolverOptions& Solver::options() const { return method_->options; }

}  // namespace taut
