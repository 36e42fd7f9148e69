// Loop closures: many bilateral rows, often redundant, beside contacts, limits and joint friction.
#include "loops.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>

#include "taut/solvers/elimination.hpp"
#include "taut/solvers/newton.hpp"

namespace taut::testing {
namespace {

double largest(const VectorXd& x) { return x.lpNorm<Eigen::Infinity>(); }

// Bilateral rows alone: the answer is a linear system's.
std::vector<LoopProblem> joints_only(std::mt19937& rng) {
  std::vector<LoopProblem> problems = {four_bar(true, rng), chain(10, 1.0, 0, rng), chain(10, 1e4, 0, rng),
                                       pendulum(20, 1e4, false, rng), chain(60, 1.0, 0, rng).sparse()};
  problems.push_back(problems[0].sparse());
  problems.push_back(chain(60, 25e3, 0, rng).sparse());
  return problems;
}

std::vector<LoopProblem> with_contacts(std::mt19937& rng) {
  std::vector<LoopProblem> problems = {four_bar(false, rng),
                                       boxes_fixed(1e3, rng),
                                       boxes_fixed(25e3, rng),
                                       jointed_quadruped(1, rng),
                                       jointed_quadruped(2, rng).sparse(),
                                       chain(10, 1e4, 2, rng),
                                       pendulum(20, 1e4, true, rng),
                                       cassie_like(4, 2, rng),
                                       cassie_like(8, 3, rng)};
  for (const std::size_t k : {0, 3, 6, 8}) problems.push_back(problems[k].sparse());
  return problems;
}

TEST(Loops, TheFourBarHasThreeRowsTooMany) {
  std::mt19937 rng(1);
  const LoopProblem p = four_bar(true, rng);
  EXPECT_EQ(p.J.rows(), 26);
  EXPECT_EQ(Eigen::ColPivHouseholderQR<MatrixXd>(p.J).rank(), 23);
}

TEST(Loops, AutoCertifiesAllOfThemColdAndWarm) {
  std::mt19937 rng(2);
  std::vector<LoopProblem> problems = joints_only(rng);
  for (LoopProblem& p : with_contacts(rng)) problems.push_back(std::move(p));
  for (int k = 0; k < 30; ++k) problems.push_back(cassie_like(4 + k % 5, k % 4, rng));
  for (const int touching : {4, 1}) problems.push_back(chain(60, 1.0, touching, rng).sparse());
  problems.push_back(chain(60, 1e4, 4, rng).sparse());
  for (const LoopProblem& p : problems) {
    // 1e-8: what a chain of mass ratio 25 000, whose impulses are worth 1e7 m/s each, leaves of double precision.
    for (const double tolerance : {1e-6, 1e-8}) {
      SCOPED_TRACE(p.name + " at " + std::to_string(tolerance));
      const Problem view = p.problem.view();
      Solver solver("auto", {.tolerance = tolerance});
      VectorXd lambda = VectorXd::Zero(view.rows()), velocity(view.rows());
      const SolveReport cold = solver.solve(view, lambda, velocity);
      EXPECT_EQ(cold.status, Status::converged) << cold.residuals.worst();
      EXPECT_LE(residuals(view, lambda).worst(), tolerance);

      OwnedProblem next = p.problem;  // as a step later
      next.g += p.J * (1e-3 * random_matrix(static_cast<int>(p.v.size()), 1, rng));
      const SolveReport warm = solver.solve(next.view(), lambda, velocity);
      EXPECT_EQ(warm.status, Status::converged) << warm.residuals.worst();
      EXPECT_LE(residuals(next.view(), lambda).worst(), tolerance);
    }
  }
}

TEST(Loops, MotionIsThatOfALeastSquaresSolve) {
  std::mt19937 rng(3);
  for (const LoopProblem& p : joints_only(rng)) {
    // M v⁺ − Jᵀ λ = M v,  J v⁺ = −bias: singular where J is, yet v⁺ is unique. Divided by the masses, for the rank of
    // the matrix is read off its pivots.
    const int rows = static_cast<int>(p.J.rows()), dofs = static_cast<int>(p.J.cols());
    const VectorXd root = p.M.diagonal().cwiseSqrt();
    MatrixXd K = MatrixXd::Zero(dofs + rows, dofs + rows);
    K.topLeftCorner(dofs, dofs).setIdentity();
    K.bottomLeftCorner(rows, dofs) = p.J * root.cwiseInverse().asDiagonal();
    VectorXd rhs(dofs + rows);
    rhs << root.cwiseProduct(p.v), -p.bias;
    for (int r = 0; r < rows; ++r) {  // rows of one length
      const double length = K.row(dofs + r).norm();
      K.row(dofs + r) /= length;
      rhs[dofs + r] /= length;
    }
    K.topRightCorner(dofs, rows) = -K.bottomLeftCorner(rows, dofs).transpose();
    Eigen::CompleteOrthogonalDecomposition<MatrixXd> oracle;
    oracle.setThreshold(1e-11);
    oracle.compute(K);
    const VectorXd expected = oracle.solve(rhs).head(dofs).cwiseQuotient(root);
    for (const char* method : {"auto", "newton"}) {
      const Solution s = solve(method, p.problem, 1e-10);
      ASSERT_EQ(s.report.status, Status::converged) << p.name << " by " << method;
      // Rows kept to 1e-10 leave a motion along the rows open, larger where masses are far apart.
      EXPECT_LT(largest(p.velocity_after(s.lambda) - expected), 1e-7) << p.name << " by " << method;
    }
  }
}

TEST(Loops, MethodsThatConvergeAgreeOnTheMotion) {
  std::mt19937 rng(4);
  for (const LoopProblem& p : {four_bar(false, rng), boxes_fixed(1e3, rng), jointed_quadruped(1, rng).sparse()}) {
    const Solution reference = solve("auto", p.problem, 1e-10);
    const VectorXd expected = p.velocity_after(reference.lambda);
    int agreed = 0;
    for (const char* method : kMethods) {
      const Solution s = solve(method, p.problem, 1e-9);
      if (s.report.status != Status::converged) continue;
      EXPECT_LT(largest(p.velocity_after(s.lambda) - expected), 1e-5) << p.name << " by " << method;
      ++agreed;
    }
    EXPECT_GE(agreed, 4) << p.name;
  }
}

TEST(Loops, NoMethodClaimsWhatTheJudgeDenies) {
  std::mt19937 rng(5);
  std::vector<LoopProblem> problems = with_contacts(rng);
  problems.push_back(four_bar(true, rng));
  problems.push_back(chain(10, 1e4, 0, rng).sparse());
  for (const LoopProblem& p : problems) {
    const Problem view = p.problem.view();
    for (const SolverInfo& info : solvers()) {
      SCOPED_TRACE(p.name + " by " + std::string(info.name));
      VectorXd lambda = VectorXd::Zero(view.rows()), velocity(view.rows());
      const SolveReport report =
          Solver(info.name, {.tolerance = 1e-6, .max_iterations = 500}).solve(view, lambda, velocity);
      EXPECT_TRUE(lambda.allFinite() && velocity.allFinite());
      const Residuals judged = residuals(view, lambda);
      EXPECT_TRUE(std::isfinite(judged.worst()));
      if (report.status != Status::converged) continue;
      EXPECT_LE(report.model_residual, 1e-6);
      if (info.model == Model::ncp) {
        EXPECT_LE(judged.worst(), 1e-6);
      }
      // Joints are equations in every model. A compliance of the method's own shows in them, up to its share of λ.
      if (info.name.starts_with("ccp_newton")) continue;
      for (const Block& block : view.blocks) {
        if (block.kind == SetKind::free) {
          EXPECT_LE(largest(velocity.segment(block.start, block.size)), 1e-6);
        }
      }
    }
  }
}

// Contradictions. The reference is how fast things move without any constraint.
struct Contradiction {
  LoopProblem p;
  double speed;
};

std::vector<Contradiction> contradictions(std::mt19937& rng) {
  std::vector<Contradiction> all;
  const auto add = [&](LoopProblem p, const VectorXd& bias) {
    p.problem.g += bias;
    all.push_back({p, largest(p.v) + largest(bias)});
    all.push_back({p.sparse(), all.back().speed});
  };
  // Two welds in one place that want different things.
  Mechanism twice;
  twice.add_box({0, 0, 0}, {0.2, 0.2, 0.2}, 2.0);
  twice.weld(Mechanism::kWorld, 0, {0, 0, 0});
  twice.weld(Mechanism::kWorld, 0, {0, 0, 0});
  add(twice.problem("welded twice", 0.05, rng), VectorXd::Unit(12, 7));
  // A hinge of a four-bar pulled out of the plane: redundant, but no two rows are the same.
  add(four_bar(true, rng), 0.3 * VectorXd::Unit(26, 7));
  // A body that a weld drives into the ground.
  Mechanism driven;
  driven.add_box({0, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  driven.weld(Mechanism::kWorld, 0, {0, 0, 0.1});
  driven.contact(Mechanism::kWorld, 0, {0.1, 0.1, 0.0}, 0.5);
  add(driven.problem("driven into the ground", 0.05, rng), 0.5 * VectorXd::Unit(9, 2));
  // Pressed between floor and ceiling, which close in on it.
  Mechanism pressed;
  pressed.add_box({0, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  pressed.add_box({1, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  pressed.point(0, 1, {0.5, 0, 0.1});
  pressed.turn(Mechanism::kWorld, 0, Vector3d::UnitX(), {.kind = SetKind::positive});
  pressed.turn(Mechanism::kWorld, 0, -Vector3d::UnitX(), {.kind = SetKind::positive});
  VectorXd closing = VectorXd::Zero(5);
  closing.tail<2>().setConstant(-0.4);
  add(pressed.problem("pressed from both sides", 0.05, rng), closing);
  return all;
}

TEST(Loops, ContradictionsAreReportedAndMoveNothingFaster) {
  std::mt19937 rng(6);
  for (const Contradiction& c : contradictions(rng)) {
    const Problem view = c.p.problem.view();
    for (const SolverInfo& info : solvers()) {
      SCOPED_TRACE(c.p.name + " by " + std::string(info.name));
      Solver solver(info.name, {.tolerance = 1e-6, .max_iterations = 2'000});
      VectorXd lambda = VectorXd::Zero(view.rows()), velocity(view.rows());
      for (int step = 0; step < 30; ++step) {  // warm starts: what grows, grows from step to step
        const SolveReport report = solver.solve(view, lambda, velocity);
        // Impulses of ADMM grow until g is lost in c = G λ + g; the status knows of that rounding, the judge does not.
        if (largest(lambda) < 1e6) {
          EXPECT_GT(residuals(view, lambda).worst(), 1e-2);
        }
        // ccp_newton_mujoco and ccp_newton_drake soften the rows: their model has a solution.
        if (!info.name.starts_with("ccp_newton")) {
          ASSERT_NE(report.status, Status::converged);
        }
        ASSERT_LT(largest(c.p.velocity_after(lambda)), 10.0 * c.speed) << "step " << step;
        if (info.name != "auto" && step == 2) break;
      }
    }
  }
}

TEST(Loops, AContradictionDoesNotKeepTheRestFromBeingSolved) {
  std::mt19937 rng(7);
  // A body that is welded to the world twice, to different ends, and another that falls to the ground.
  Mechanism m;
  m.add_box({0, 0, 1.0}, {0.2, 0.2, 0.2}, 2.0);
  m.add_box({1, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  m.weld(Mechanism::kWorld, 0, {0, 0, 1});
  m.point(Mechanism::kWorld, 0, {0, 0, 1});
  for (int corner = 0; corner < 4; ++corner) {
    m.contact(Mechanism::kWorld, 1, {corner & 1 ? 1.1 : 0.9, corner & 2 ? 0.1 : -0.1, 0}, 0.6);
  }
  LoopProblem p = m.problem("half of it", 0.01, rng);
  p.problem.g[7] += 1.0;
  const Solution s = solve("auto", p.problem, 1e-8);
  EXPECT_NE(s.report.status, Status::converged);
  EXPECT_LT(s.report.iterations, 500);             // and it is seen soon
  EXPECT_LT(largest(s.velocity.head<6>()), 1e-8);  // the weld came first
  VectorXd lambda = s.lambda.tail<12>();
  const OwnedProblem ground{
      p.problem.G.bottomRightCorner<12, 12>(),
      p.problem.g.tail<12>(),
      VectorXd::Zero(12),
      {{SetKind::cone, 0, 3, 0.6}, {SetKind::cone, 3, 3, 0.6}, {SetKind::cone, 6, 3, 0.6}, {SetKind::cone, 9, 3, 0.6}}};
  EXPECT_LT(residuals(ground.view(), lambda).worst(), 1e-8);
}

TEST(Loops, ALockedContactCarriesNothing) {
  std::mt19937 rng(8);
  // Welded to the world and touching the ground: the weld alone decides, whatever the ground would like.
  Mechanism m;
  m.add_box({0, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  m.weld(Mechanism::kWorld, 0, {0, 0, 0.1});
  m.contact(Mechanism::kWorld, 0, {0.1, 0.1, 0}, 0.6);
  LoopProblem p = m.problem("locked", 0.05, rng);
  p.problem.g -= p.bias;  // at rest, not on its way into the ground
  const Solution s = solve("auto", p.problem, 1e-10);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(largest(s.lambda.tail<3>()), 0.0);
}

TEST(Loops, CompliantJointsYieldByTheirCompliance) {
  std::mt19937 rng(9);
  LoopProblem p = four_bar(true, rng);
  p.problem.R.setConstant(1e-3);
  const MatrixXd A = p.problem.G + 1e-3 * MatrixXd::Identity(26, 26);
  const VectorXd expected = -A.ldlt().solve(p.problem.g);  // R makes it regular
  for (const LoopProblem& q : {p, p.sparse()}) {
    const Solution s = solve("auto", q.problem, 1e-12);
    EXPECT_EQ(s.report.status, Status::converged);
    EXPECT_LT(largest(s.lambda - expected), 1e-9);
  }
}

TEST(Elimination, GivesTheContactProblemOfTheConstrainedMachine) {
  std::mt19937 rng(10);
  for (const LoopProblem& p : {four_bar(false, rng), four_bar(false, rng).sparse()}) {
    const Problem view = p.problem.view();
    Elimination elimination;
    elimination.reserve(view.rows());
    ASSERT_TRUE(elimination.factor(view));
    ASSERT_TRUE(elimination.reduce(view));
    elimination.restrict_from(view, VectorXd::Zero(view.rows()), p.problem.g);
    const Problem reduced = elimination.reduced();
    ASSERT_EQ(reduced.rows(), 12);
    // Velocities that the joints allow, N z: G of the contacts on that machine is J N (Nᵀ M N)⁻¹ Nᵀ Jᵀ.
    const MatrixXd joints = p.J.topRows(20), contacts = p.J.bottomRows(12);
    const Eigen::CompleteOrthogonalDecomposition<MatrixXd> decomposition(joints.transpose());
    ASSERT_EQ(decomposition.rank(), 17);
    const MatrixXd N = MatrixXd(decomposition.householderQ()).rightCols(24 - 17);
    const MatrixXd half = contacts * N;
    const MatrixXd expected = half * MatrixXd(N.transpose() * p.M * N).ldlt().solve(half.transpose());
    EXPECT_LT((reduced.G.dense() - expected).lpNorm<Eigen::Infinity>(), 1e-10 * expected.lpNorm<Eigen::Infinity>());
  }
}

TEST(Newton, BilateralRowsTakeOneOrTwoSteps) {
  std::mt19937 rng(11);
  for (const LoopProblem& p : joints_only(rng)) {
    const Solution s = solve("newton", p.problem, 1e-6);
    EXPECT_EQ(s.report.status, Status::converged) << p.name;
    EXPECT_LE(s.report.iterations, 2) << p.name;
  }
}

}  // namespace
}  // namespace taut::testing
