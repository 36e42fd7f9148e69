#include "taut/solvers/nbgs.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "problems.hpp"
#include "taut/solvers/pgs.hpp"

namespace taut::testing {
namespace {

template <class Method>
Solution run(const SweepOptions& options, const OwnedProblem& problem) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  SweepWorkspace workspace;
  s.report = Method(options).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

TEST(Nbgs, SlidingPointBrakesAtMuG) {
  const double m = 2.0, mu = 0.4, dt = 1e-2, v0 = 1.0;
  const Solution s = run<Nbgs>({.tolerance = 1e-12}, one_contact(Matrix3d::Identity() / m, {v0, 0.0, -9.81 * dt}, mu));
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_NEAR(s.velocity[0], v0 - mu * 9.81 * dt, 1e-12);
}

TEST(Nbgs, LeavingPointIsLetGo) {
  const OwnedProblem problem = one_contact(Matrix3d::Identity(), {0.3, -0.2, 0.1}, 0.5);
  const Solution s = run<Nbgs>({}, problem);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.report.iterations, 0);
  EXPECT_EQ(s.velocity, problem.g);
}

TEST(Nbgs, OneContactTakesOneSweepAndOneToSeeIt) {  // stick, slip or break; friction opposes sliding
  std::mt19937 rng(21);
  int sliding = 0, sticking = 0;
  for (int k = 0; k < 500; ++k) {
    const Solution s =
        run<Nbgs>({.tolerance = 1e-11}, one_contact(random_spd(3, rng), 3.0 * random_matrix(3, 1, rng), 0.5));
    ASSERT_EQ(s.report.status, Status::converged) << k;
    ASSERT_LE(s.report.iterations, 2) << k;
    const Eigen::Vector2d c = s.velocity.head<2>(), friction = s.lambda.head<2>();
    if (s.lambda[2] <= 0.0) continue;
    EXPECT_NEAR(s.velocity[2], 0.0, 1e-11);
    if (c.norm() < 1e-3) {
      ++sticking;
      continue;
    }
    ++sliding;
    EXPECT_LT((c.normalized() + friction.normalized()).norm(), 1e-7) << k;
    EXPECT_NEAR(friction.norm(), 0.5 * s.lambda[2], 1e-10) << k;
  }
  EXPECT_GT(sliding, 50);
  EXPECT_GT(sticking, 10);
}

TEST(Nbgs, AgreesWithPgsOnTheMotion) {
  std::mt19937 rng(22);
  for (int k = 0; k < 60; ++k) {
    // Full rank, or redundant and holding: how a redundant body that slides shares its weight is not unique, and
    // neither is then its friction.
    const OwnedProblem p = k % 3 == 0   ? quadruped(0.6, rng)
                           : k % 3 == 1 ? stack(2, 1.0, 1.0, 1e-3, rng)
                                        : OwnedProblem::contacts(random_spd(15, rng), random_matrix(15, 1, rng),
                                                                 VectorXd::Constant(5, 0.3));
    const Solution nbgs = run<Nbgs>({.tolerance = 1e-9}, p), pgs = run<Pgs>({.tolerance = 1e-9}, p);
    ASSERT_EQ(nbgs.report.status, Status::converged) << k;
    ASSERT_EQ(pgs.report.status, Status::converged) << k;
    EXPECT_LT((nbgs.velocity - pgs.velocity).norm(), 1e-6) << k;
  }
}

TEST(Nbgs, NeedsFewerSweepsThanPgsWhereAContactIsCoupled) {
  std::mt19937 rng(23);
  int nbgs = 0, pgs = 0;
  for (int k = 0; k < 20; ++k) {
    const OwnedProblem p = quadruped(0.6, rng);
    nbgs += run<Nbgs>({.tolerance = 1e-9}, p).report.iterations;
    pgs += run<Pgs>({.tolerance = 1e-9}, p).report.iterations;
  }
  EXPECT_LT(nbgs, pgs);
}

TEST(Nbgs, SolvesRedundantStacks) {
  std::mt19937 rng(24);
  for (const double mu : {0.2, 0.8}) {
    const OwnedProblem p = stack(3, 1.0, mu, 1e-2, rng);
    const Solution s = run<Nbgs>({}, p);
    EXPECT_EQ(s.report.status, Status::converged) << mu;
    EXPECT_LE(residuals(p.view(), s.lambda).worst(), 1e-6);
  }
}

TEST(Nbgs, SparseAndDenseAgree) {
  std::mt19937 rng(25);
  const OwnedProblem dense = stack(3, 1.0, 0.5, 1e-2, rng);
  OwnedProblem sparse = dense;
  sparse.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  EXPECT_LT((run<Nbgs>({.tolerance = 1e-8}, dense).velocity - run<Nbgs>({.tolerance = 1e-8}, sparse).velocity).norm(),
            1e-9);
}

TEST(Nbgs, WithoutFrictionOnlyTheNormalActs) {
  OwnedProblem problem = one_contact(2.0 * Matrix3d::Identity(), {1.0, 1.0, -1.0}, 0.0);
  problem.R.setConstant(0.5);
  const Solution s = run<Nbgs>({.tolerance = 1e-12}, problem);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.lambda, Vector3d(0.0, 0.0, 0.4));
}

TEST(Nbgs, ObeysItsLimit) {
  std::mt19937 rng(26);
  const Solution s = run<Nbgs>({.tolerance = 1e-14, .max_sweeps = 7}, stack(4, 3.0, 0.5, 1e-2, rng));
  EXPECT_EQ(s.report.iterations, 7);
  EXPECT_EQ(s.report.status, Status::iteration_limit);
}

TEST(Nbgs, NeverConvergesOnWhatIsNotFinite) {
  std::mt19937 rng(27);
  OwnedProblem p = stack(2, 1.0, 0.5, 1e-2, rng);
  p.g[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(run<Nbgs>({}, p).report.status, Status::converged);
}

TEST(Nbgs, WhatNothingMovesIsHarmless) {
  OwnedProblem p = one_contact(Matrix3d::Zero(), {1.0, 0.0, 0.5}, 0.5);
  EXPECT_EQ(run<Nbgs>({}, p).report.status, Status::converged);
  p.g[2] = -0.5;
  const Solution s = run<Nbgs>({}, p);
  EXPECT_NE(s.report.status, Status::converged);
  EXPECT_TRUE(s.lambda.allFinite());
}

TEST(Nbgs, RefusesARelaxationOutOfRange) { EXPECT_THROW(Nbgs({.relaxation = 2.0}), std::invalid_argument); }

}  // namespace
}  // namespace taut::testing
