// The convex relaxation: what it says on paper, and that its methods say the same.
#include <gtest/gtest.h>

#include <numbers>

#include "problems.hpp"
#include "taut/problem/ccp_residuals.hpp"
#include "taut/solvers/ccp_newton.hpp"
#include "taut/solvers/ccp_pgs.hpp"
#include "taut/solvers/pgs.hpp"

namespace taut::testing {
namespace {

constexpr double kTolerance = 1e-10;

Solution solve_by_sweeps(const OwnedProblem& problem, SweepOptions options) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  SweepWorkspace workspace;
  s.report = CcpPgs(options).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

Solution solve_by_newton(const OwnedProblem& problem, CcpNewtonOptions options) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  CcpNewtonWorkspace workspace;
  s.report = CcpNewton(options).solve(problem.view(), workspace, s.lambda, s.velocity);
  return s;
}

OwnedProblem with_compliance(OwnedProblem problem, const CcpNewtonOptions& options) {
  VectorXd R(problem.g.size());
  CcpNewton(options).compliance(problem.view(), R);
  problem.R = R;
  return problem;
}

OwnedProblem random_contacts(int count, double mu, std::mt19937& rng) {
  return OwnedProblem::contacts(random_spd(3 * count, rng), random_matrix(3 * count, 1, rng),
                                VectorXd::Constant(count, mu));
}

OwnedProblem every_kind(std::mt19937& rng) {
  OwnedProblem p{random_spd(12, rng), random_matrix(12, 1, rng), VectorXd::Zero(12), {}, {}};
  p.blocks = {{SetKind::free, 0, 4},
              {SetKind::positive, 4, 1},
              {SetKind::interval, 5, 1, 0.0, 0.1},
              {SetKind::cone, 6, 3, 0.5},
              {SetKind::cone, 9, 3, 0.0}};
  return p;
}

// The closed form of one contact with G = w I and compliance R I: λ = P_K(−g / (w + R)).
struct ClosedForm {
  double w, R, mu;
  Vector3d g;
  Vector3d lambda() const { return project_onto_cone(-g / (w + R), mu); }
};

const ClosedForm kStick{.w = 0.5, .R = 0.0, .mu = 0.4, .g = {0.02, -0.02, -0.1}};
const ClosedForm kSlip{.w = 0.5, .R = 0.0, .mu = 0.4, .g = {0.6, 0.8, -0.1}};
const ClosedForm kBreak{.w = 0.5, .R = 0.0, .mu = 0.4, .g = {0.1, 0.0, 0.2}};

TEST(CcpPgs, OneContactSticksSlipsAndBreaksAsOnPaper) {
  for (const ClosedForm& form : {kStick, kSlip, kBreak}) {
    const OwnedProblem problem = one_contact(form.w * Matrix3d::Identity(), form.g, form.mu);
    const Solution s = solve_by_sweeps(problem, {.tolerance = kTolerance});
    EXPECT_EQ(s.report.status, Status::converged);
    EXPECT_LE(s.report.iterations, 2);  // one step is exact when G_ii is isotropic
    EXPECT_LT((s.lambda - form.lambda()).norm(), 10 * kTolerance);
  }
}

TEST(CcpNewton, OneContactSticksSlipsAndBreaksAsOnPaper) {
  for (const double alpha : {1e-8, 1e-2, 1.0}) {
    for (ClosedForm form : {kStick, kSlip, kBreak}) {
      form.R = alpha * form.w;
      const OwnedProblem problem = one_contact(form.w * Matrix3d::Identity(), form.g, form.mu);
      const Solution s = solve_by_newton(problem, {.tolerance = kTolerance, .alpha = alpha});
      EXPECT_EQ(s.report.status, Status::converged) << alpha;
      EXPECT_LT((s.lambda - form.lambda()).norm(), 10 * kTolerance) << alpha;
      EXPECT_LT((s.velocity - form.w * s.lambda - form.g).norm(), 1e-15) << alpha;  // c of the problem, without R̃
    }
  }
}

TEST(Ccp, SlidingContactLeavesThePlaneAtMuTimesItsSpeed) {  // [CB, eq. (19)], and the exact law does not
  const double mu = 0.4;
  const OwnedProblem problem = one_contact(0.5 * Matrix3d::Identity(), {0.6, 0.8, -0.1}, mu);
  const Solution ccp = solve_by_sweeps(problem, {.tolerance = kTolerance});
  EXPECT_GT(ccp.velocity.head<2>().norm(), 0.5);
  EXPECT_NEAR(ccp.velocity[2], mu * ccp.velocity.head<2>().norm(), 10 * kTolerance);
  EXPECT_GT(ccp.lambda[2], 0.1);  // pushes and leaves at once

  Solution ncp{VectorXd::Zero(3), VectorXd::Zero(3), {}};
  SweepWorkspace workspace;
  ncp.report = Pgs({.tolerance = kTolerance}).solve(problem.view(), workspace, ncp.lambda, ncp.velocity);
  EXPECT_EQ(ncp.report.status, Status::converged);
  EXPECT_NEAR(ncp.velocity[2], 0.0, 10 * kTolerance);
  VectorXd c(3);
  EXPECT_GT(ccp_residuals(problem.view(), ncp.lambda, c).worst(), 0.1);  // each judge refuses the other's solution
  EXPECT_GT(residuals(problem.view(), ccp.lambda, c).worst(), 0.1);
}

TEST(Ccp, SolutionMinimizesTheEnergyOverTheCones) {  // [CB, eq. (20)], against random members of the cones
  std::mt19937 rng(11);
  const OwnedProblem problem = random_contacts(4, 0.6, rng);
  const auto energy = [&](const VectorXd& x) { return 0.5 * x.dot(problem.G * x) + problem.g.dot(x); };
  const Solution s = solve_by_sweeps(problem, {.tolerance = kTolerance});
  ASSERT_EQ(s.report.status, Status::converged);
  for (const double radius : {1e-3, 1e-1, 1.0}) {
    for (int k = 0; k < 1000; ++k) {
      VectorXd other = s.lambda + radius * random_matrix(12, 1, rng);
      project(problem.view(), other);
      // First order in the residual of λ, which a distance of order one multiplies.
      EXPECT_GE(energy(other), energy(s.lambda) - 100 * kTolerance);
    }
  }
}

TEST(CcpPgs, StepsStayShortWhereOneEigenvalueCarriesTheTrace) {  // 3/trace alone is 2.9/λ_max here and diverges
  std::mt19937 rng(12);
  const Vector3d long_axis = Vector3d(1.0, 2.0, -1.5).normalized();
  const Matrix3d G = long_axis * long_axis.transpose() + 0.02 * Matrix3d::Identity();
  const Solution s = solve_by_sweeps(one_contact(G, -G * Vector3d(0.1, 0.0, 1.0), 0.8), {.tolerance = kTolerance});
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.lambda - Vector3d(0.1, 0.0, 1.0)).norm(), 50 * 2 * kTolerance);  // 1/λ_min
}

TEST(CcpNewton, SolvesItsModelToTheLastDigitsWhateverTheBlocks) {
  std::mt19937 rng(13);
  std::vector<OwnedProblem> problems{every_kind(rng), quadruped(0.7, rng), stack(3, 1.0, 0.5, 1e-2, rng),
                                     stack(4, 100.0, 0.8, 1e-1, rng), stack(2, 1e6, 0.5, 1e-2, rng)};
  for (int k = 0; k < 20; ++k) problems.push_back(random_contacts(1 + k, 0.1 * k, rng));
  for (const auto regularization : {Regularization::mujoco, Regularization::drake}) {
    for (const OwnedProblem& problem : problems) {
      const CcpNewtonOptions options{.tolerance = 1e-11, .regularization = regularization};
      const Solution s = solve_by_newton(problem, options);
      EXPECT_EQ(s.report.status, Status::converged);
      EXPECT_LE(s.report.iterations, 20);
      VectorXd c(problem.g.size());
      EXPECT_LE(ccp_residuals(with_compliance(problem, options).view(), s.lambda, c).worst(), 1e-11);
    }
  }
}

TEST(CcpNewton, AgreesWithSweepsOnTheProblemWithItsCompliance) {
  std::mt19937 rng(14);
  for (int k = 0; k < 20; ++k) {
    const OwnedProblem problem = k % 4 == 0 ? every_kind(rng) : random_contacts(1 + k % 7, 0.5, rng);
    const auto regularization = k % 2 == 0 ? Regularization::mujoco : Regularization::drake;
    const CcpNewtonOptions options{.tolerance = 1e-9, .regularization = regularization};
    const Solution newton = solve_by_newton(problem, options);
    const Solution sweeps = solve_by_sweeps(with_compliance(problem, options), {.tolerance = 1e-9});
    ASSERT_EQ(newton.report.status, Status::converged);
    ASSERT_EQ(sweeps.report.status, Status::converged);
    // R̃ makes the impulses unique; random_spd has eigenvalues above 0.1, so that 1e-9 m/s is 1e-8 N s a row.
    EXPECT_LT((newton.lambda - sweeps.lambda).lpNorm<Eigen::Infinity>(), 1e-7) << k;
  }
}

TEST(CcpNewton, TendsToTheRigidSolutionInProportionToAlpha) {
  std::mt19937 rng(15);
  for (int k = 0; k < 10; ++k) {
    const OwnedProblem problem = random_contacts(1 + k % 4, 0.5, rng);
    const Solution rigid = solve_by_sweeps(problem, {.tolerance = 1e-12, .max_sweeps = 100'000});
    ASSERT_EQ(rigid.report.status, Status::converged);
    const auto error = [&](double alpha) {
      const Solution soft = solve_by_newton(problem, {.tolerance = 1e-12, .alpha = alpha});
      EXPECT_EQ(soft.report.status, Status::converged);
      return (soft.velocity - rigid.velocity).norm();
    };
    // The error is c α + O(α²) while no contact changes its mode: a tenth of α, a tenth of the error.
    const double at = error(1e-5), below = error(1e-6);
    if (at == 0.0) continue;  // every contact open
    EXPECT_NEAR(below / at, 0.1, 1e-3) << k;
  }
}

TEST(CcpNewton, CompliancesAreThoseOfTheSimulators) {
  Matrix3d G = Vector3d(1.0, 3.0, 4.0).asDiagonal();
  OwnedProblem problem = one_contact(G, Vector3d::Zero(), 0.5);
  VectorXd R(3);
  CcpNewton({.alpha = 0.1}).compliance(problem.view(), R);
  EXPECT_LT((R - Vector3d(0.2, 0.2, 0.4)).norm(), 1e-15);
  CcpNewton({.regularization = Regularization::drake}).compliance(problem.view(), R);
  const double w = std::sqrt(26.0) / 3.0, pi = std::numbers::pi;
  EXPECT_LT((R - w * Vector3d(1e-3, 1e-3, 1.0 / (4.0 * pi * pi))).norm(), 1e-15);

  problem.R << 0.3, 0.1, 5.0;  // softer than what is asked for: the pair stays a pair
  CcpNewton({.alpha = 0.1}).compliance(problem.view(), R);
  EXPECT_EQ(R, Vector3d(0.3, 0.3, 5.0));

  const OwnedProblem nothing = one_contact(Matrix3d::Zero(), Vector3d::Zero(), 0.5);
  CcpNewton().compliance(nothing.view(), R);
  EXPECT_GT(R.minCoeff(), 0.0);
}

TEST(CcpNewton, RestingBodySinksAtItsCompliance) {  // c_n = −R̃_n λ_n: what a regularized contact costs
  const double m = 2.0, impulse = 9.81e-3 * m, alpha = 1.0 / 9.0;
  const OwnedProblem problem = one_contact(Matrix3d::Identity() / m, {0.0, 0.0, -impulse / m}, 0.5);
  const Solution s = solve_by_newton(problem, {.tolerance = 1e-12});
  EXPECT_NEAR(s.velocity[2], -impulse / m * alpha / (1.0 + alpha), 1e-11);
}

TEST(Ccp, RedundantStackFallsAsOne) {  // impulses are not unique, velocities are
  std::mt19937 rng(16);
  const OwnedProblem problem = stack(3, 1.0, 0.5, 1e-2, rng);
  const Solution sweeps = solve_by_sweeps(problem, {.tolerance = 1e-9, .max_sweeps = 100'000});
  EXPECT_EQ(sweeps.report.status, Status::converged);
  const auto error = [&](double alpha) {
    return (solve_by_newton(problem, {.tolerance = 1e-11, .alpha = alpha}).velocity - sweeps.velocity).norm();
  };
  EXPECT_LT(error(1e-7), 1e-6);
  EXPECT_NEAR(error(1e-4) / error(1e-3), 0.1, 0.02);
}

TEST(CcpNewton, LargeSparseProblem) {
  std::mt19937 rng(17);
  OwnedProblem problem = stack(101, 1.0, 0.5, 1e-2, rng);
  problem.sparse = BlockSparse::from_dense(problem.G, problem.blocks);
  problem.G.resize(0, 0);
  const CcpNewtonOptions options{.tolerance = 1e-10};
  const Solution s = solve_by_newton(problem, options);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LE(s.report.iterations, 20);
  VectorXd c(problem.g.size());  // R̃ makes the solution unique: the judge is enough
  EXPECT_LE(ccp_residuals(with_compliance(problem, options).view(), s.lambda, c).worst(), 1e-10);
}

TEST(Ccp, SparseAndDenseAgree) {
  std::mt19937 rng(18);
  const OwnedProblem dense = stack(4, 2.0, 0.5, 1e-2, rng);
  OwnedProblem sparse = dense;
  sparse.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  sparse.G.resize(0, 0);
  for (const auto solve_it : {+[](const OwnedProblem& p) { return solve_by_newton(p, {.tolerance = 1e-11}); },
                              +[](const OwnedProblem& p) { return solve_by_sweeps(p, {.tolerance = 1e-8}); }}) {
    const Solution a = solve_it(dense), b = solve_it(sparse);
    EXPECT_EQ(a.report.iterations, b.report.iterations);
    EXPECT_LT((a.lambda - b.lambda).norm(), 1e-9);
  }
}

TEST(Ccp, WarmStartAtTheSolutionCostsNothing) {
  std::mt19937 rng(19);
  const OwnedProblem problem = quadruped(0.6, rng);
  Solution s = solve_by_newton(problem, {.tolerance = 1e-8});
  CcpNewtonWorkspace workspace;
  const SolveReport report = CcpNewton({.tolerance = 1e-8}).solve(problem.view(), workspace, s.lambda, s.velocity);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.status, Status::converged);
}

TEST(Ccp, LimitsAreObeyedAndTheStatusSaysSo) {
  std::mt19937 rng(20);
  const OwnedProblem problem = stack(4, 10.0, 0.5, 1e-1, rng);
  const Solution sweeps = solve_by_sweeps(problem, {.tolerance = 1e-12, .max_sweeps = 3});
  EXPECT_EQ(sweeps.report.iterations, 3);
  EXPECT_EQ(sweeps.report.status, Status::iteration_limit);
  const Solution newton = solve_by_newton(problem, {.tolerance = 1e-12, .max_iterations = 1});
  EXPECT_EQ(newton.report.iterations, 1);
  EXPECT_EQ(newton.report.status, Status::iteration_limit);
  // Beyond rounding: the method stops by itself.
  const Solution beyond = solve_by_newton(problem, {.tolerance = 1e-30, .max_iterations = 100'000});
  EXPECT_EQ(beyond.report.status, Status::stalled);
  EXPECT_LT(beyond.report.iterations, 1000);
  EXPECT_LT(beyond.report.residuals.worst(), 1e-12);
}

TEST(Ccp, BlockThatMovesNothingAndNaNAreHarmless) {
  std::mt19937 rng(21);
  OwnedProblem problem = random_contacts(2, 0.5, rng);
  problem.G.bottomRows<3>().setZero();
  problem.G.rightCols<3>().setZero();
  problem.g.tail<3>().setZero();
  OwnedProblem alone = one_contact(problem.G.topLeftCorner<3, 3>(), problem.g.head<3>(), 0.5);
  EXPECT_LT((solve_by_newton(problem, {.tolerance = kTolerance}).velocity.head<3>() -
             solve_by_newton(alone, {.tolerance = kTolerance}).velocity)
                .norm(),
            1e-8);
  EXPECT_LT((solve_by_sweeps(problem, {.tolerance = kTolerance}).velocity.head<3>() -
             solve_by_sweeps(alone, {.tolerance = kTolerance}).velocity)
                .norm(),
            1e-8);

  problem.g[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(solve_by_newton(problem, {}).report.status, Status::converged);
  EXPECT_NE(solve_by_sweeps(problem, {}).report.status, Status::converged);
}

TEST(CcpNewton, RefusesWhatCannotRegularize) {
  EXPECT_THROW(CcpNewton({.alpha = 0.0}), std::invalid_argument);
  EXPECT_THROW(CcpNewton({.beta = -1.0}), std::invalid_argument);
  EXPECT_THROW(CcpNewton({.sigma = std::numeric_limits<double>::quiet_NaN()}), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
