#include "taut/solvers/staggered.hpp"

#include <gtest/gtest.h>

#include "problems.hpp"
#include "taut/solvers/pgs.hpp"

namespace taut::testing {
namespace {

constexpr double kTolerance = 1e-10;

Solution staggered(const OwnedProblem& problem, StaggeredOptions options) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  ProximalWorkspace workspace;
  s.report = Staggered(options).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

Solution pgs(const OwnedProblem& problem, double tolerance) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  SweepWorkspace workspace;
  s.report =
      Pgs({.tolerance = tolerance, .max_sweeps = 200'000}).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

TEST(Staggered, PointSticksSlidesAndLeavesAsOnPaper) {
  const double m = 2.0, mu = 0.4, fall = 0.0981;
  const auto point = [&](double speed, double normal) {
    return staggered(one_contact(Matrix3d::Identity() / m, {speed, 0.0, normal}, mu), {.tolerance = kTolerance});
  };
  const Solution stick = point(0.9 * mu * fall, -fall), slide = point(1.0, -fall), leave = point(0.3, 0.1);
  for (const Solution* s : {&stick, &slide, &leave}) EXPECT_EQ(s->report.status, Status::converged);
  EXPECT_LT(stick.velocity.norm(), 2 * kTolerance);
  EXPECT_NEAR(slide.velocity[0], 1.0 - mu * fall, 2 * kTolerance);
  EXPECT_NEAR(slide.velocity[2], 0.0, 2 * kTolerance);  // stays on the plane, where the convex relaxation lifts off
  EXPECT_NEAR(slide.lambda[2], m * fall, 2 * m * kTolerance);
  EXPECT_EQ(leave.lambda, VectorXd::Zero(3));
}

TEST(Staggered, CoupledSlidingContactOpposesItsVelocity) {
  std::mt19937 rng(6);
  const double mu = 0.3;
  const Matrix3d G = random_spd(3, rng);
  const Vector3d direction(0.6, 0.8, 0.0), lambda = 0.7 * (Vector3d::UnitZ() - mu * direction);
  const Solution s = staggered(one_contact(G, 0.25 * direction - G * lambda, mu), {.tolerance = kTolerance});
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.velocity - 0.25 * direction).norm(), 100 * kTolerance);
}

TEST(Staggered, AgreesWithSweepsOnRandomContacts) {
  std::mt19937 rng(41);
  for (int k = 0; k < 60; ++k) {
    const int count = 1 + k % 6;
    const OwnedProblem problem = OwnedProblem::contacts(random_spd(3 * count, rng), random_matrix(3 * count, 1, rng),
                                                        VectorXd::Constant(count, 0.1 * (k % 7)));
    const Solution a = staggered(problem, {.tolerance = 1e-9}), b = pgs(problem, 1e-9);
    ASSERT_EQ(b.report.status, Status::converged) << k;
    ASSERT_EQ(a.report.status, Status::converged) << k << ": " << a.report.residuals.worst();
    EXPECT_LT((a.velocity - b.velocity).lpNorm<Eigen::Infinity>(), 1e-6) << k;
  }
}

TEST(Staggered, AgreesWithSweepsOnBlocksOfEveryKind) {
  std::mt19937 rng(42);
  for (int k = 0; k < 20; ++k) {
    OwnedProblem p{random_spd(12, rng), random_matrix(12, 1, rng), VectorXd::Zero(12), {}, {}};
    p.R = 0.1 * random_matrix(12, 1, rng).cwiseAbs();  // tangential rows of different compliance among them
    p.blocks = {{SetKind::free, 0, 4},
                {SetKind::positive, 4, 1},
                {SetKind::interval, 5, 1, 0.0, 0.1},
                {SetKind::cone, 6, 3, 0.4},
                {SetKind::cone, 9, 3, 0.0}};
    const Solution a = staggered(p, {.tolerance = 1e-9}), b = pgs(p, 1e-9);
    ASSERT_EQ(a.report.status, Status::converged) << k << ": " << a.report.residuals.worst();
    ASSERT_EQ(b.report.status, Status::converged) << k;
    EXPECT_LT((a.velocity - b.velocity).lpNorm<Eigen::Infinity>(), 1e-6) << k;
  }
}

// Where redundant contacts slide the exact law has many solutions, of different velocities: normal impulses can be
// shared in many ways, and friction follows them. Without friction, or stuck, the velocity is unique.
TEST(Staggered, RedundantStackAndMassRatio) {
  std::mt19937 rng(43);
  const Solution sliding = staggered(stack(3, 1.0, 0.5, 1e-2, rng), {.tolerance = 1e-9});
  EXPECT_EQ(sliding.report.status, Status::converged) << sliding.report.residuals.worst();

  const OwnedProblem smooth = stack(3, 1.0, 0.0, 1e-2, rng);
  const Solution a = staggered(smooth, {.tolerance = 1e-9}), b = pgs(smooth, 1e-9);
  ASSERT_EQ(a.report.status, Status::converged) << a.report.residuals.worst();
  ASSERT_EQ(b.report.status, Status::converged);
  EXPECT_LT((a.velocity - b.velocity).lpNorm<Eigen::Infinity>(), 1e-6);

  for (const double ratio : {1e-6, 1.0, 1e6}) {  // at rest, nothing moves [CB, Fig. 13]
    const Solution rest = staggered(stack(2, ratio, 0.5, 0.0, rng), {.tolerance = 1e-9});
    EXPECT_EQ(rest.report.status, Status::converged) << ratio << ": " << rest.report.residuals.worst();
    EXPECT_LT(rest.velocity.lpNorm<Eigen::Infinity>(), 1e-8) << ratio;
  }
}

TEST(Staggered, SparseAndDenseAgree) {
  std::mt19937 rng(44);
  const OwnedProblem dense = stack(4, 2.0, 0.5, 1e-2, rng);
  OwnedProblem sparse = dense;
  sparse.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  sparse.G.resize(0, 0);
  const Solution a = staggered(dense, {.tolerance = 1e-9}), b = staggered(sparse, {.tolerance = 1e-9});
  EXPECT_EQ(a.report.iterations, b.report.iterations);
  EXPECT_LT((a.velocity - b.velocity).lpNorm<Eigen::Infinity>(), 1e-8);  // factored in another order, judged at 1e-9
}

TEST(Staggered, LimitsAreObeyedAndTheStatusSaysSo) {
  std::mt19937 rng(45);
  const OwnedProblem problem = stack(3, 10.0, 0.5, 1e-1, rng);
  const Solution limited = staggered(problem, {.tolerance = 1e-13, .max_iterations = 2});
  EXPECT_EQ(limited.report.iterations, 2);
  EXPECT_EQ(limited.report.status, Status::iteration_limit);
  const Solution beyond = staggered(problem, {.tolerance = 1e-30, .max_iterations = 100'000});
  EXPECT_EQ(beyond.report.status, Status::stalled);
  EXPECT_LT(beyond.report.iterations, 10'000);
}

// Friction that lifts: λ_n = −g_n + 0.9 λ_t answers λ_t = −μ λ_n 1.8 times as large, and the alternation jumps between
// no contact and too much of it. It must say so instead of claiming a solution, which there is: λ_n = 0.1 / 2.8.
TEST(Staggered, CycleIsReportedAsAStall) {
  Matrix3d G = Matrix3d::Identity();
  G(0, 2) = G(2, 0) = -0.9;
  const OwnedProblem problem = one_contact(G, {1.0, 0.0, -0.1}, 2.0);
  EXPECT_LT(residuals(problem.view(), Vector3d(-0.2 / 2.8, 0.0, 0.1 / 2.8)).worst(), 1e-15);

  const Solution s = staggered(problem, {.tolerance = kTolerance});
  EXPECT_EQ(s.report.status, Status::stalled);
  EXPECT_GT(s.report.residuals.worst(), 1e-3);
  EXPECT_EQ(s.report.residuals.worst(), residuals(problem.view(), s.lambda).worst());
}

TEST(Staggered, BlockThatMovesNothingAndNaNAreHarmless) {
  std::mt19937 rng(46);
  OwnedProblem problem =
      OwnedProblem::contacts(random_spd(6, rng), random_matrix(6, 1, rng), VectorXd::Constant(2, 0.5));
  problem.G.bottomRows<3>().setZero();
  problem.G.rightCols<3>().setZero();
  problem.g.tail<3>().setZero();
  const OwnedProblem alone = one_contact(problem.G.topLeftCorner<3, 3>(), problem.g.head<3>(), 0.5);
  const Solution s = staggered(problem, {.tolerance = kTolerance});
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.velocity.head<3>() - staggered(alone, {.tolerance = kTolerance}).velocity).norm(), 1e-8);

  problem.g[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(staggered(problem, {}).report.status, Status::converged);
  EXPECT_THROW(Staggered({.proximal = 0.0}), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
