#include "taut/solvers/raisim.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "problems.hpp"

namespace taut::testing {
namespace {

Solution run(const RaisimOptions& options, const OwnedProblem& problem) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  SweepWorkspace workspace;
  s.report = Raisim(options).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

RaisimOptions with(SlidingSearch search, double tolerance = 1e-10, bool de_saxce = false) {
  RaisimOptions options{.search = search, .de_saxce = de_saxce};
  options.sweeps.tolerance = tolerance;
  return options;
}

class RaisimSearch : public ::testing::TestWithParam<SlidingSearch> {};
INSTANTIATE_TEST_SUITE_P(All, RaisimSearch,
                         ::testing::Values(SlidingSearch::bisection, SlidingSearch::golden, SlidingSearch::quartic));

TEST_P(RaisimSearch, SlidingPointBrakesAtMuG) {
  const double m = 2.0, mu = 0.4, dt = 1e-2, v0 = 1.0;
  const Solution s = run(with(GetParam()), one_contact(Matrix3d::Identity() / m, {v0, 0.0, -9.81 * dt}, mu));
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_NEAR(s.velocity[0], v0 - mu * 9.81 * dt, 1e-10);
  EXPECT_NEAR(s.lambda[2], m * 9.81 * dt, m * 1e-10);
}

TEST_P(RaisimSearch, StickingCoupledContactCancelsItsVelocity) {
  std::mt19937 rng(5);
  const Matrix3d G = random_spd(3, rng);
  const Vector3d inside(0.1, -0.2, 1.0);  // an impulse well inside the cone of μ = 0.8
  const Solution s = run(with(GetParam()), one_contact(G, -G * inside, 0.8));
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.lambda - inside).norm(), 1e-8);
}

TEST_P(RaisimSearch, LeavingPointIsLetGo) {
  const OwnedProblem problem = one_contact(Matrix3d::Identity(), {0.3, -0.2, 0.1}, 0.5);
  const Solution s = run(with(GetParam()), problem);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.report.iterations, 0);
  EXPECT_EQ(s.velocity, problem.g);
}

TEST_P(RaisimSearch, SlidesAskewByTheCoupling) {  // [CB, eq. (24)], the dissipation RaiSim gives up
  std::mt19937 rng(6);
  int askew = 0;
  for (int k = 0; k < 200; ++k) {
    const double mu = 0.3;
    const Matrix3d G = random_spd(3, rng);
    const Solution s = run(with(GetParam()), one_contact(G, 3.0 * random_matrix(3, 1, rng), mu));
    ASSERT_EQ(s.report.status, Status::converged) << k;
    const Eigen::Vector2d c = s.velocity.head<2>(), friction = s.lambda.head<2>();
    if (s.lambda[2] <= 0.0 || c.norm() < 1e-3) continue;
    const Eigen::Vector2d along = -friction - mu * mu * s.lambda[2] / G(2, 2) * G.block<2, 1>(0, 2);
    EXPECT_LT((c.normalized() - along.normalized()).norm(), 1e-6) << k;
    EXPECT_NEAR(s.velocity[2], 0.0, 1e-9) << "Signorini holds";
    askew += (c.normalized() + friction.normalized()).norm() > 1e-2;
  }
  EXPECT_GT(askew, 20);
}

TEST_P(RaisimSearch, DeSaxceTurnsItIntoTheExactLaw) {
  std::mt19937 rng(7);
  int sliding = 0;
  for (int k = 0; k < 100; ++k) {
    const OwnedProblem p = one_contact(random_spd(3, rng), 3.0 * random_matrix(3, 1, rng), 0.3);
    const Solution s = run(with(GetParam(), 1e-10, true), p);
    ASSERT_EQ(s.report.status, Status::converged) << k;
    EXPECT_LE(residuals(p.view(), s.lambda).worst(), 1e-10) << k;
    sliding += s.lambda[2] > 0.0 && s.velocity.norm() > 1e-3;
  }
  EXPECT_GT(sliding, 20);
}

TEST_P(RaisimSearch, HandlesFeetOnATrunk) {
  std::mt19937 rng(8);
  for (const bool de_saxce : {false, true}) {
    for (int k = 0; k < 20; ++k) {
      const OwnedProblem p = quadruped(0.6, rng);
      const Solution s = run(with(GetParam(), 1e-8, de_saxce), p);
      EXPECT_EQ(s.report.status, Status::converged) << k << " worst " << s.report.residuals.worst();
    }
  }
}

TEST(Raisim, IsTheExactLawWhereNormalAndTangentAreNotCoupled) {
  std::mt19937 rng(9);
  for (int k = 0; k < 20; ++k) {  // points on springs between them: coupled, but never normal with tangent
    const MatrixXd normal = random_spd(4, rng), tangential = random_spd(8, rng);
    MatrixXd G = MatrixXd::Zero(12, 12);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        G.block<2, 2>(3 * i, 3 * j) = tangential.block<2, 2>(2 * i, 2 * j);
        G(3 * i + 2, 3 * j + 2) = normal(i, j);
      }
    }
    const OwnedProblem p = OwnedProblem::contacts(G, random_matrix(12, 1, rng), VectorXd::Constant(4, 0.5));
    const Solution s = run(with(SlidingSearch::bisection, 1e-10), p);
    ASSERT_EQ(s.report.status, Status::converged) << k;
    EXPECT_LT(residuals(p.view(), s.lambda).worst(), 1e-8) << k;
  }
}

TEST(Raisim, JudgeTellsItsLawFromTheExactOne) {
  std::mt19937 rng(10);
  int told = 0;
  for (int k = 0; k < 50; ++k) {
    const OwnedProblem p = one_contact(random_spd(3, rng), 3.0 * random_matrix(3, 1, rng), 0.5);
    VectorXd velocity(3);
    const Solution own = run(with(SlidingSearch::bisection), p);
    const Solution exact = run(with(SlidingSearch::bisection, 1e-10, true), p);
    ASSERT_EQ(own.report.status, Status::converged);
    EXPECT_LE(raisim_residuals(p.view(), own.lambda, velocity).worst(), 1e-10);
    if ((own.lambda - exact.lambda).norm() < 1e-3) continue;
    ++told;
    EXPECT_GT(raisim_residuals(p.view(), exact.lambda, velocity).worst(), 1e-5) << k;
    EXPECT_GT(residuals(p.view(), own.lambda).worst(), 1e-5) << k;
  }
  EXPECT_GT(told, 5);
}

TEST(Raisim, JudgeSeesWhatIsWrong) {
  const OwnedProblem p = one_contact(Matrix3d::Identity(), {0.0, 0.0, -1.0}, 0.5);
  VectorXd velocity(3);
  const auto judged = [&](const Vector3d& lambda) { return raisim_residuals(p.view(), lambda, velocity); };
  EXPECT_EQ(judged({0.0, 0.0, 1.0}).worst(), 0.0);
  EXPECT_NEAR(judged({0.0, 0.0, 0.9}).dual, 0.1, 1e-15);
  EXPECT_NEAR(judged({0.0, 0.0, 1.1}).natural, 0.1, 1e-15);  // a push that is too much
  EXPECT_NEAR(judged({0.2, 0.0, 1.0}).natural, 0.2, 1e-15);  // friction without need
  EXPECT_GT(judged({0.6, 0.0, 1.0}).primal, 0.08);           // out of the cone
  const OwnedProblem leaving = one_contact(Matrix3d::Identity(), {0.0, 0.0, 1.0}, 0.5);
  EXPECT_NEAR(raisim_residuals(leaving.view(), Vector3d(0.0, 0.0, 0.1), velocity).natural, 0.1, 1e-15);
}

TEST(Raisim, SolvesRedundantStacks) {
  std::mt19937 rng(11);
  for (const double mu : {0.2, 0.8}) {
    const OwnedProblem p = stack(3, 1.0, mu, 1e-2, rng);
    const Solution s = run(with(SlidingSearch::bisection, 1e-6), p);
    EXPECT_EQ(s.report.status, Status::converged) << mu << " worst " << s.report.residuals.worst();
    EXPECT_LE(s.report.residuals.worst(), 1e-6);
  }
}

TEST(Raisim, SearchesGiveTheSameMotion) {
  std::mt19937 rng(12);
  const OwnedProblem p = quadruped(0.4, rng);
  const Solution bisection = run(with(SlidingSearch::bisection), p), golden = run(with(SlidingSearch::golden), p),
                 quartic = run(with(SlidingSearch::quartic), p);
  EXPECT_LT((bisection.velocity - golden.velocity).norm(), 1e-8);
  EXPECT_LT((bisection.velocity - quartic.velocity).norm(), 1e-8);
}

TEST(Raisim, SparseAndDenseAgree) {
  std::mt19937 rng(13);
  const OwnedProblem dense = stack(3, 1.0, 0.5, 1e-2, rng);
  OwnedProblem sparse = dense;
  sparse.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  const Solution a = run(with(SlidingSearch::bisection, 1e-8), dense),
                 b = run(with(SlidingSearch::bisection, 1e-8), sparse);
  EXPECT_LT((a.velocity - b.velocity).norm(), 1e-9);
}

TEST(Raisim, EarlyStoppingStopsEarlyAndSaysSo) {
  std::mt19937 rng(14);
  const OwnedProblem p = stack(4, 3.0, 0.5, 1e-2, rng);
  RaisimOptions options = with(SlidingSearch::bisection, 1e-9, true);
  const Solution whole = run(options, p);
  options.early_stopping = 1e-8;
  const Solution early = run(options, p);
  EXPECT_LT(early.report.iterations, whole.report.iterations);
  EXPECT_EQ(early.report.status, Status::stalled);
  EXPECT_GT(early.report.residuals.worst(), 1e-9);
  EXPECT_NEAR(early.report.residuals.worst(), residuals(p.view(), early.lambda).worst(), 1e-12);
  options.sweeps.tolerance = 1.0;  // what the judge is content with is converged, wherever the sweeps stop
  EXPECT_EQ(run(options, p).report.status, Status::converged);
}

TEST(Raisim, ObeysItsLimit) {
  std::mt19937 rng(15);
  const OwnedProblem p = stack(4, 3.0, 0.5, 1e-2, rng);
  RaisimOptions options = with(SlidingSearch::bisection, 1e-14);
  options.sweeps.max_sweeps = 7;
  const Solution s = run(options, p);
  EXPECT_EQ(s.report.iterations, 7);
  EXPECT_EQ(s.report.status, Status::iteration_limit);
}

TEST(Raisim, NeverConvergesOnWhatIsNotFinite) {
  std::mt19937 rng(16);
  for (const bool de_saxce : {false, true}) {
    OwnedProblem p = stack(2, 1.0, 0.5, 1e-2, rng);
    p.g[5] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_NE(run(with(SlidingSearch::bisection, 1e-6, de_saxce), p).report.status, Status::converged);
  }
}

TEST(Raisim, WhatNothingMovesIsHarmless) {
  OwnedProblem p = one_contact(Matrix3d::Zero(), {1.0, 0.0, 0.5}, 0.5);
  EXPECT_EQ(run(with(SlidingSearch::bisection), p).report.status, Status::converged);
  p.g[2] = -0.5;  // falls, and nothing can hold it
  const Solution s = run(with(SlidingSearch::bisection), p);
  EXPECT_NE(s.report.status, Status::converged);
  EXPECT_EQ(s.report.residuals.dual, 0.5);
  EXPECT_TRUE(s.lambda.allFinite());
}

TEST(Raisim, OtherBlocksKeepTheirLaws) {
  std::mt19937 rng(17);
  OwnedProblem p{random_spd(7, rng), random_matrix(7, 1, rng), VectorXd::Zero(7), {}, {}};
  p.blocks = {{SetKind::free, 0, 2},
              {SetKind::positive, 2, 1},
              {SetKind::interval, 3, 1, 0.0, 0.4},
              {SetKind::cone, 4, 3, 0.5}};
  const Solution s = run(with(SlidingSearch::bisection), p);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT(s.velocity.head<2>().norm(), 1e-9);
  EXPECT_GE(s.velocity[2], -1e-9);
  EXPECT_LE(std::abs(s.lambda[3]), 0.4);
}

TEST(Raisim, RefusesOptionsOutOfRange) {
  RaisimOptions options;
  options.sweeps.relaxation = 2.0;
  EXPECT_THROW(Raisim{options}, std::invalid_argument);
  EXPECT_THROW(Raisim{RaisimOptions{.early_stopping = -1.0}}, std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
