// One block whose solution is known on paper, for every method.
#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include "problems.hpp"

namespace taut::testing {
namespace {

constexpr double kTolerance = 1e-10;

class ClosedForm : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, ClosedForm, ::testing::ValuesIn(kMethods),
                         [](const auto& method) { return std::string(method.param); });

OwnedProblem scalar(SetKind kind, double G, double g, double bound = 0.0) {
  return {MatrixXd::Constant(1, 1, G), VectorXd::Constant(1, g), VectorXd::Zero(1), {{kind, 0, 1, 0.0, bound}}};
}

TEST_P(ClosedForm, SlidingPointBrakesAtMuG) {
  const double m = 2.0, mu = 0.4, dt = 1e-2, v0 = 1.0;
  const Solution s = solve(GetParam(), one_contact(Matrix3d::Identity() / m, {v0, 0.0, -9.81 * dt}, mu), kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_NEAR(s.velocity[0], v0 - mu * 9.81 * dt, 2 * kTolerance);
  EXPECT_NEAR(s.lambda[2], m * 9.81 * dt, 2 * m * kTolerance);
}

TEST_P(ClosedForm, SlowPointSticks) {
  const double m = 2.0, mu = 0.4, dt = 1e-2, v0 = 0.9 * mu * 9.81 * dt;
  const Solution s = solve(GetParam(), one_contact(Matrix3d::Identity() / m, {0.0, v0, -9.81 * dt}, mu), kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT(s.velocity.norm(), 2 * kTolerance);
  EXPECT_NEAR(s.lambda[1], -m * v0, 2 * m * kTolerance);
}

TEST_P(ClosedForm, LeavingPointIsLetGo) {
  const OwnedProblem problem = one_contact(Matrix3d::Identity(), {0.3, -0.2, 0.1}, 0.5);
  const Solution s = solve(GetParam(), problem, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.report.iterations, 0);
  EXPECT_EQ(s.lambda, VectorXd::Zero(3));
  EXPECT_EQ(s.velocity, problem.g);
}

TEST_P(ClosedForm, StickingCoupledContactCancelsItsVelocity) {
  std::mt19937 rng(5);
  const Matrix3d G = random_spd(3, rng);
  const Vector3d inside(0.1, -0.2, 1.0);  // an impulse well inside the cone of μ = 0.8
  const Solution s = solve(GetParam(), one_contact(G, -G * inside, 0.8), kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.lambda - inside).norm(), 100 * kTolerance);  // G⁻¹ of a velocity within tolerance
}

TEST_P(ClosedForm, SlidingCoupledContactOpposesItsVelocity) {
  std::mt19937 rng(6);
  const double mu = 0.3;
  const Matrix3d G = random_spd(3, rng);
  const Vector3d direction(0.6, 0.8, 0.0), lambda = 0.7 * (Vector3d::UnitZ() - mu * direction);
  const Vector3d g = 0.25 * direction - G * lambda;  // so that the contact slides at 0.25 m/s along the direction
  const Solution s = solve(GetParam(), one_contact(G, g, mu), kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.velocity - 0.25 * direction).norm(), 100 * kTolerance);
}

TEST_P(ClosedForm, WithoutFrictionOnlyTheNormalActs) {
  const double compliance = 0.5;
  OwnedProblem problem = one_contact(2.0 * Matrix3d::Identity(), {1.0, 1.0, -1.0}, 0.0);
  problem.R.setConstant(compliance);
  const Solution s = solve(GetParam(), problem, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.lambda.head<2>().norm(), 0.0);
  EXPECT_NEAR(s.lambda[2], 1.0 / 2.5, 2 * kTolerance);
}

TEST_P(ClosedForm, LimitPushesOnlyWhenReached) {
  EXPECT_NEAR(solve(GetParam(), scalar(SetKind::positive, 0.5, -1.0), kTolerance).lambda[0], 2.0, 4 * kTolerance);
  EXPECT_EQ(solve(GetParam(), scalar(SetKind::positive, 0.5, 1.0), kTolerance).lambda[0], 0.0);
}

TEST_P(ClosedForm, JointFrictionHoldsUpToItsBoundAndNoFurther) {
  const double inertia = 0.5, bound = 0.3, threshold = bound / inertia;
  for (const double share : {-2.0, -1.0, -0.5, 0.0, 0.5, 0.999, 1.0, 1.001, 3.0}) {
    const double v = share * threshold;
    const Solution s = solve(GetParam(), scalar(SetKind::interval, 1.0 / inertia, v, bound), kTolerance);
    EXPECT_EQ(s.report.status, Status::converged) << share;
    const double left = std::copysign(std::max(0.0, std::abs(v) - threshold), v);
    EXPECT_NEAR(s.velocity[0], left, 2 * kTolerance) << share;
  }
}

TEST_P(ClosedForm, BilateralBlockStopsEveryRow) {
  std::mt19937 rng(7);
  OwnedProblem problem{random_spd(5, rng), random_matrix(5, 1, rng), VectorXd::Zero(5), {{SetKind::free, 0, 5}}};
  const Solution s = solve(GetParam(), problem, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((problem.G * s.lambda + problem.g).norm(), 10 * kTolerance);
}

TEST_P(ClosedForm, RedundantBilateralBlockStopsEveryRow) {
  std::mt19937 rng(8);
  const MatrixXd J = random_matrix(6, 4, rng);  // six rows on four freedoms
  OwnedProblem problem{J * J.transpose(), J * random_matrix(4, 1, rng), VectorXd::Zero(6), {{SetKind::free, 0, 6}}};
  const Solution s = solve(GetParam(), problem, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((problem.G * s.lambda + problem.g).norm(), 10 * kTolerance);
}

TEST_P(ClosedForm, DecoupledBlocksOfEveryKindKeepTheirOwnAnswers) {
  OwnedProblem p{MatrixXd::Identity(7, 7), VectorXd(7), VectorXd::Zero(7), {}};
  p.G.topLeftCorner<2, 2>() << 2.0, 1.0, 1.0, 2.0;
  p.g << 1.0, -1.0, -0.5, 2.0, 1.0, 0.0, -0.1;
  p.blocks = {{SetKind::free, 0, 2},
              {SetKind::positive, 2, 1},
              {SetKind::interval, 3, 1, 0.0, 0.4},
              {SetKind::cone, 4, 3, 0.5}};
  VectorXd velocity(7);
  velocity << 0.0, 0.0, 0.0, 1.6, 1.0 - 0.05, 0.0, 0.0;
  const Solution s = solve(GetParam(), p, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT((s.velocity - velocity).norm(), 10 * kTolerance);
}

TEST_P(ClosedForm, DoesNotCareHowTheTangentsAreDrawn) {  // turn the frame, turn the impulse; never gain power
  const Matrix3d turn = Eigen::AngleAxisd(1.1, Vector3d::UnitZ()).toRotationMatrix();
  std::mt19937 rng(9);
  for (int k = 0; k < 100; ++k) {
    const Matrix3d G = random_spd(3, rng);
    const Vector3d g = random_matrix(3, 1, rng);
    const Solution straight = solve(GetParam(), one_contact(G, g, 0.4), kTolerance);
    const Solution turned = solve(GetParam(), one_contact(turn * G * turn.transpose(), turn * g, 0.4), kTolerance);
    if (straight.report.status != Status::converged || turned.report.status != Status::converged) {
      // Newton promises nothing far from a solution; the others have no such excuse with one contact.
      EXPECT_STREQ(GetParam(), "newton");
      continue;
    }
    // Both velocities are within the tolerance of the judge, times the conditioning of a 3 x 3 block.
    EXPECT_LT((turn * straight.velocity - turned.velocity).norm(), 1e-7) << k;
    EXPECT_LE(straight.lambda.dot(straight.velocity), 1e-9) << k;
  }
}

}  // namespace
}  // namespace taut::testing
