// Methods that share no iteration must find the same velocities. Impulses of redundant contacts are not unique and
// are not compared.
#include <gtest/gtest.h>

#include "problems.hpp"

namespace taut::testing {
namespace {

constexpr double kTolerance = 1e-9;

// Velocities of every method against those of ADMM; `required` must all be certified, others may give up honestly.
void expect_agreement(const OwnedProblem& problem, std::initializer_list<const char*> required, double margin,
                      int index) {
  SCOPED_TRACE(index);
  const Solution reference = solve("admm", problem, kTolerance);
  ASSERT_EQ(reference.report.status, Status::converged);
  for (const char* method : kMethods) {
    SCOPED_TRACE(method);
    const Solution s = solve(method, problem, kTolerance);
    const Residuals judged = residuals(problem.view(), s.lambda);
    EXPECT_EQ(judged.natural, s.report.residuals.natural);  // a report carries the judge's numbers
    const bool certified = s.report.status == Status::converged;
    EXPECT_EQ(certified, judged.worst() <= kTolerance);
    EXPECT_LT(judged.primal, 1e-12);  // the returned impulse is in its set, converged or not
    if (!certified) {
      for (const char* name : required) EXPECT_STRNE(name, method) << to_string(s.report.status) << judged.natural;
      continue;
    }
    EXPECT_LT((s.velocity - reference.velocity).lpNorm<Eigen::Infinity>(), margin);
    double dissipated = 0.0;  // contacts take energy: λ·(v⁺ + v⁻)/2 ≤ 0 follows from λ·c⁺ ≤ 0 and G ≥ 0
    for (const Block& b : problem.blocks) {
      const double power = s.lambda.segment(b.start, b.size).dot(s.velocity.segment(b.start, b.size));
      EXPECT_LE(power, 1e-7);
      dissipated += power;
    }
    EXPECT_LE(dissipated, 1e-7);
  }
}

TEST(Agreement, OnQuadrupeds) {
  std::mt19937 rng(11);
  for (int k = 0; k < 40; ++k) expect_agreement(quadruped(0.05 * (k % 15), rng), {"admm", "auto"}, 1e-6, k);
}

TEST(Agreement, OnACubeSlidingStraightOnRedundantCorners) {
  std::mt19937 rng(12);
  for (int k = 0; k < 20; ++k) {
    OwnedProblem problem = stack(1, 1.0, 0.05 * (k % 8), 0.0, rng);
    for (int i = 0; i < 4; ++i) problem.g.segment<2>(3 * i) += Eigen::Vector2d(0.02 * k, 0.0);
    expect_agreement(problem, {"pgs", "admm", "auto"}, 1e-6, k);
  }
}

// A cube that spins as it slides has no unique velocity either: how its weight is shared among four corners is
// undetermined, and the torque of friction depends on it. What remains is that every answer is one.
TEST(Agreement, OnACubeSpinningOnRedundantCornersEveryAnswerIsCertified) {
  std::mt19937 rng(13);
  for (int k = 0; k < 40; ++k) {
    const OwnedProblem problem = stack(1, 1.0, 0.05 * (k % 15), 0.05, rng);
    for (const char* method : {"pgs", "admm", "auto"}) {
      EXPECT_EQ(solve(method, problem, kTolerance).report.status, Status::converged) << method << " on " << k;
    }
  }
}

TEST(Agreement, OnStacks) {
  std::mt19937 rng(14);
  for (int k = 0; k < 10; ++k) expect_agreement(stack(3, 1.0, 0.5, 1e-3, rng), {"admm", "auto"}, 1e-6, k);
}

TEST(Auto, HoldsAStackWithTheHeavyCubeOnTop) {
  std::mt19937 rng(15);
  for (const double ratio : {1e3, 1e4}) {
    for (int k = 0; k < 10; ++k) {
      // The jitter is a tenth of what a step of gravity lets friction and weight absorb: at rest it stays.
      const Solution s = solve("auto", stack(2, ratio, 0.8, 1e-4, rng), 1e-8);
      EXPECT_EQ(s.report.status, Status::converged) << ratio << ", " << k;
      EXPECT_LT(s.velocity.lpNorm<Eigen::Infinity>(), 2e-8) << ratio << ", " << k;
    }
  }
}

TEST(Agreement, OnBlocksOfEveryKindCoupledToOneAnother) {
  std::mt19937 rng(18);
  for (int k = 0; k < 40; ++k) {
    OwnedProblem p{random_spd(12, rng), 0.3 * random_matrix(12, 1, rng), VectorXd::Constant(12, 1e-3 * (k % 3)), {}};
    p.blocks = {{SetKind::free, 0, 3},      {SetKind::positive, 3, 1},           {SetKind::interval, 4, 1, 0.0, 0.05},
                {SetKind::cone, 5, 3, 0.3}, {SetKind::interval, 8, 1, 0.0, 0.0}, {SetKind::cone, 9, 3, 0.0}};
    expect_agreement(p, {"pgs", "admm", "auto"}, 1e-6, k);
  }
}

TEST(Agreement, WarmStartedFromTheSolutionCostsNoIteration) {
  std::mt19937 rng(16);
  const OwnedProblem problem = quadruped(0.6, rng);
  for (const char* method : kMethods) {
    Solution s = solve("auto", problem, kTolerance);
    const SolveReport again = Solver(method, {.tolerance = kTolerance}).solve(problem.view(), s.lambda, s.velocity);
    EXPECT_EQ(again.status, Status::converged) << method;
    EXPECT_EQ(again.iterations, 0) << method;
  }
}

TEST(Auto, NeedsAFewNewtonStepsWhenModesHaveNotChanged) {
  std::mt19937 rng(17);
  for (int k = 0; k < 20; ++k) {
    OwnedProblem problem = quadruped(0.6, rng);
    Solution s = solve("auto", problem, 1e-10);
    problem.g *= 1.0 + 1e-4;  // scaling the velocity scales the solution: every mode stays
    const SolveReport next = Solver("auto", {.tolerance = 1e-9}).solve(problem.view(), s.lambda, s.velocity);
    EXPECT_EQ(next.status, Status::converged);
    EXPECT_LE(next.iterations, 3);
  }
}

}  // namespace
}  // namespace taut::testing
