#include "taut/problem/residuals.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace taut {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kGravityStep = 9.81e-3;  // g dt, m/s

struct Owned {
  MatrixXd G;
  VectorXd g, R;
  std::vector<Block> blocks;
  Problem view() const { return {G, g, R, blocks}; }
};

// A point mass m on a plane, moving at v0 along t1 and falling for one step.
Owned point_mass(double m, double mu, double v0) {
  return {
      MatrixXd::Identity(3, 3) / m, Vector3d(v0, 0.0, -kGravityStep), VectorXd::Zero(3), {{SetKind::cone, 0, 3, mu}}};
}

Owned scalar(SetKind kind, double G, double g, double bound) {
  return {MatrixXd::Constant(1, 1, G), VectorXd::Constant(1, g), VectorXd::Zero(1), {{kind, 0, 1, 0.0, bound}}};
}

TEST(Residuals, VanishAtTheClosedFormOfStickSlipAndBreak) {
  const double m = 2.0, mu = 0.4;
  const double slow = 0.5 * mu * kGravityStep;
  EXPECT_LT(residuals(point_mass(m, mu, slow).view(), Vector3d(-m * slow, 0.0, m * kGravityStep)).worst(), 1e-16);
  EXPECT_LT(residuals(point_mass(m, mu, 1.0).view(), m * kGravityStep * Vector3d(-mu, 0.0, 1.0)).worst(), 1e-15);
  Owned leaving = point_mass(m, mu, 1.0);
  leaving.g[2] = 0.3;
  EXPECT_EQ(residuals(leaving.view(), Vector3d::Zero()).worst(), 0.0);
}

TEST(Residuals, MeasureAVelocityErrorInMetersPerSecond) {
  // Sticking, well inside the cone: an impulse off by δ leaves the velocity δ/m, whatever the mass.
  for (const double m : {1e-3, 1.0, 1e3}) {
    const double delta = 1e-3 * m * kGravityStep;
    const Owned problem = point_mass(m, 0.8, 0.0);
    const Residuals r = residuals(problem.view(), Vector3d(0.0, 0.0, m * kGravityStep + delta));
    EXPECT_NEAR(r.natural, delta / m, 1e-15);
    EXPECT_EQ(r.primal, 0.0);
    EXPECT_EQ(r.dual, 0.0);
    EXPECT_NEAR(r.complementarity, (m * kGravityStep + delta) * delta / m, 1e-15);
  }
}

TEST(Residuals, CatchAFrictionlessAnswer) {
  const double m = 2.0, mu = 0.4, v0 = 1.0;
  const Residuals r = residuals(point_mass(m, mu, v0).view(), Vector3d(0.0, 0.0, m * kGravityStep));
  EXPECT_EQ(r.primal, 0.0);
  EXPECT_LT(r.dual, 1e-15);
  EXPECT_NEAR(r.complementarity, mu * v0 * m * kGravityStep, 1e-15);
  EXPECT_GT(r.natural, 0.1 * mu * kGravityStep);  // of the order of the braking that is missing
}

TEST(Residuals, CatchTheConvexRelaxation) {
  // Without De Saxcé's term a sliding point lifts off at μ |v_t| [CB, eq. (16)]: c ∈ K*, λ ⊥ c, and wrong.
  const double m = 1.0, mu = 0.5, v0 = 1.0;
  const Vector3d ray(-mu, 0.0, 1.0), g(v0, 0.0, -kGravityStep);
  const Vector3d lambda = -m * g.dot(ray) / ray.squaredNorm() * ray;  // slides along the generator: ray · c = 0
  EXPECT_GT(residuals(point_mass(m, mu, v0).view(), lambda).natural, 0.1 * mu * v0);
}

TEST(Residuals, CatchPullingAndPenetrating) {
  const Residuals pulls = residuals(point_mass(1.0, 0.5, 0.0).view(), Vector3d(0.0, 0.0, -0.2));
  EXPECT_DOUBLE_EQ(pulls.primal, 0.2);
  const Residuals falls = residuals(point_mass(1.0, 0.5, 0.0).view(), Vector3d::Zero());
  EXPECT_DOUBLE_EQ(falls.dual, kGravityStep);  // straight down: the apex is the nearest point of the dual cone
  EXPECT_DOUBLE_EQ(falls.natural, kGravityStep);
}

TEST(Residuals, OfALimitAreTheLinearComplementarityOnes) {
  const Owned closed = scalar(SetKind::positive, 0.5, -1.0, 0.0), open = scalar(SetKind::positive, 0.5, 1.0, 0.0);
  EXPECT_EQ(residuals(closed.view(), VectorXd::Constant(1, 2.0)).worst(), 0.0);
  EXPECT_EQ(residuals(open.view(), VectorXd::Zero(1)).worst(), 0.0);
  EXPECT_DOUBLE_EQ(residuals(closed.view(), VectorXd::Zero(1)).natural, 1.0);
  EXPECT_DOUBLE_EQ(residuals(closed.view(), VectorXd::Zero(1)).dual, 1.0);
  EXPECT_DOUBLE_EQ(residuals(open.view(), VectorXd::Constant(1, -0.1)).primal, 0.1);
}

TEST(Residuals, OfJointFrictionVanishStuckAndSlipping) {
  const Owned problem = scalar(SetKind::interval, 2.0, 1.0, 0.3);
  const Residuals slips = residuals(problem.view(), VectorXd::Constant(1, -0.3));  // c = 0.4 > 0, braked by all of b
  EXPECT_LT(slips.worst(), 1e-16);
  EXPECT_NEAR(slips.complementarity, 0.0, 1e-16);
  EXPECT_LT(residuals(scalar(SetKind::interval, 2.0, 0.5, 0.3).view(), VectorXd::Constant(1, -0.25)).worst(), 1e-16);
  EXPECT_GT(residuals(problem.view(), VectorXd::Constant(1, 0.3)).natural, 1.0);  // pushes the way it moves
}

TEST(Residuals, OfABilateralBlockAreItsVelocity) {
  Owned problem{MatrixXd::Identity(2, 2), VectorXd::Zero(2), VectorXd::Zero(2), {{SetKind::free, 0, 2}}};
  problem.g << 3.0, -4.0;
  EXPECT_DOUBLE_EQ(residuals(problem.view(), VectorXd::Zero(2)).natural, 4.0);
  EXPECT_EQ(residuals(problem.view(), -problem.g).worst(), 0.0);
}

TEST(Residuals, SeeComplianceInTheVelocity) {
  Owned problem = scalar(SetKind::positive, 0.5, -1.0, 0.0);
  problem.R[0] = 1.5;
  EXPECT_EQ(residuals(problem.view(), VectorXd::Constant(1, 0.5)).worst(), 0.0);
}

TEST(Residuals, ReadAMatrixInsideALargerOne) {
  const Owned small = point_mass(2.0, 0.4, 1.0);
  MatrixXd large = MatrixXd::Constant(7, 7, 1e9);
  large.block(2, 3, 3, 3) = small.G;
  const Problem inside{large.block(2, 3, 3, 3), small.g, small.R, small.blocks};
  const Vector3d lambda(0.1, 0.2, 0.3);
  EXPECT_EQ(residuals(inside, lambda).natural, residuals(small.view(), lambda).natural);
}

TEST(Residuals, AreFiniteWhereABlockMovesNothing) {
  Owned problem = point_mass(1.0, 0.5, 1.0);
  problem.G.setZero();
  EXPECT_TRUE(std::isfinite(residuals(problem.view(), Vector3d::Ones()).worst()));
}

TEST(Residuals, AreInfiniteRatherThanSilentAboutNaN) {
  const Owned problem = point_mass(1.0, 0.5, 1.0);
  EXPECT_EQ(residuals(problem.view(), Vector3d(0.0, NAN, 0.0)).worst(), std::numeric_limits<double>::infinity());
}

std::string refusal(const Problem& problem) {
  try {
    validate(problem);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Validate, NamesWhatIsWrong) {
  EXPECT_EQ(refusal(point_mass(1.0, 0.5, 0.0).view()), "accepted");

  Owned p = point_mass(1.0, -0.25, 0.0);
  EXPECT_NE(refusal(p.view()).find("-0.25"), std::string::npos);
  p = point_mass(1.0, 0.5, 0.0);
  p.G(1, 2) = NAN;
  EXPECT_NE(refusal(p.view()).find("G(1, 2)"), std::string::npos);
  p = point_mass(1.0, 0.5, 0.0);
  p.R[1] = -3.0;
  EXPECT_NE(refusal(p.view()).find("R[1]"), std::string::npos);
  p = point_mass(1.0, 0.5, 0.0);
  p.blocks[0].start = 1;
  EXPECT_NE(refusal(p.view()).find("starts at row 1"), std::string::npos);
  p = point_mass(1.0, 0.5, 0.0);
  p.blocks.clear();
  EXPECT_NE(refusal(p.view()).find("0 of 3"), std::string::npos);
  p = point_mass(1.0, 0.5, 0.0);
  p.R.conservativeResize(2);
  EXPECT_NE(refusal(p.view()).find("R has 2"), std::string::npos);
  p = scalar(SetKind::interval, 1.0, 0.0, -0.5);
  EXPECT_NE(refusal(p.view()).find("-0.5"), std::string::npos);
}

}  // namespace
}  // namespace taut
