// The spin of a free body against what it must keep, however fast, and its slopes against differences.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

#include "scenes.hpp"
#include "taut/dynamics/free_body.hpp"

namespace taut::testing {
namespace {

// Of a body that can be: second moments of mass that are positive, the largest `ratio` times the least at most.
Matrix3d random_inertia(std::mt19937& rng, double ratio) {
  std::uniform_real_distribution<double> decades(-std::log10(ratio), 0.0);
  const Vector3d s(std::pow(10.0, decades(rng)), std::pow(10.0, decades(rng)), std::pow(10.0, decades(rng)));
  const Matrix3d R = random_rotation(rng);
  return R * Vector3d(s.y() + s.z(), s.x() + s.z(), s.x() + s.y()).asDiagonal() * R.transpose();
}

// Every third about the middle axis, nearly: where a body tumbles, and the midpoint rule has several answers.
Vector3d random_spin(std::mt19937& rng, const Matrix3d& I, double size, int trial) {
  Vector3d omega = random_direction(rng);
  if (trial % 3 == 0) {
    omega = Eigen::SelfAdjointEigenSolver<Matrix3d>(I).eigenvectors().col(1) + std::pow(10.0, -1 - trial % 5) * omega;
  }
  return size * omega.normalized();
}

double energy(const Matrix3d& I, const Vector3d& omega) { return 0.5 * omega.dot(I * omega); }

// One torque-free step, as a body makes it from the torque of the middle.
Vector3d spun(const Matrix3d& I, const Vector3d& omega, double dt) {
  const Vector3d m = midpoint_spin(I, omega, dt);
  return omega - dt * I.ldlt().solve(m.cross(Vector3d(I * m)));
}

TEST(MidpointSpin, IsFoundUpToThreeRadiansAStep) {
  std::mt19937 rng(11);
  for (const double turn : {1e-3, 1e-2, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}) {
    for (int trial = 0; trial < 2000; ++trial) {
      const Matrix3d I = random_inertia(rng, 1e4);
      const Vector3d omega = random_spin(rng, I, turn, trial), m = midpoint_spin(I, omega, 1.0);
      ASSERT_GT(m.norm(), 0.0) << turn << " " << trial;
      // m·(2 I (m − ω) + m × I m) = 0 is what the step gains.
      const Vector3d rest = 2.0 * I * (m - omega) + m.cross(Vector3d(I * m));
      EXPECT_LT(std::abs(m.dot(rest)), 1e-10 * energy(I, omega)) << turn << " " << trial;
      EXPECT_LT(rest.norm(), 1e-13 * I.norm() * omega.norm()) << turn << " " << trial;
    }
  }
}

TEST(MidpointSpin, NeverGainsEnergyHoweverFast) {
  std::mt19937 rng(12);
  const int steps = 2000;
  for (const double turn : {1e-3, 0.1, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0, 1e4}) {
    for (int trial = 0; trial < 30; ++trial) {
      const double ratio = std::pow(10.0, trial % 5);
      const Matrix3d I = random_inertia(rng, ratio);
      Vector3d omega = random_spin(rng, I, turn, trial);
      const double before = energy(I, omega), momentum = (I * omega).norm();
      for (int k = 0; k < steps; ++k) omega = spun(I, omega, 1.0);
      ASSERT_TRUE(omega.allFinite()) << turn << " " << trial;
      // Rounding of I⁻¹ dt m × I m, in every step: as the condition of I has it, and the root of the number of steps.
      const double rounding = 1e-14 * ratio * std::max(1.0, turn) * std::sqrt(steps);
      EXPECT_LT(energy(I, omega) / before - 1.0, rounding) << turn << " " << trial;
      EXPECT_LT(std::abs((I * omega).norm() / momentum - 1.0), 1e3 * rounding) << turn << " " << trial;
    }
  }
}

TEST(MidpointSpin, OfNothingAndOfBallsIsItself) {
  const Vector3d omega(1.0, 2.0, 3.0);
  EXPECT_EQ(midpoint_spin(Matrix3d::Identity(), omega, 10.0), omega);
  EXPECT_EQ(midpoint_spin(Vector3d(1.0, 2.0, 2.5).asDiagonal(), Vector3d::Zero(), 10.0), Vector3d::Zero());
  EXPECT_EQ(midpoint_spin(Vector3d(1.0, 2.0, 2.5).asDiagonal(), omega, 0.0), omega);
  EXPECT_TRUE(midpoint_spin(Vector3d(1.0, 2.0, 2.5).asDiagonal(), 1e200 * omega, 1.0).allFinite());
}

TEST(CentreTurn, OfSmallTurnsIsNothingAndItsSlopesAgreeWithDifferences) {
  std::mt19937 rng(14);
  for (const double turn : {1e-6, 1e-2, 1.0, 3.0, 10.0}) {
    for (const double ahead : {0.01, 0.005}) {
      const Instant when{.dt = 0.01, .ahead = ahead};
      const Vector3d omega = turn / when.dt * random_direction(rng), end = turn / when.dt * random_direction(rng),
                     c = random_vector(rng, 0.3);
      const double size = c.norm() * omega.squaredNorm();
      // A look in the middle of the step makes it of second order.
      const double left = ahead < when.dt ? turn * turn : turn;
      EXPECT_LT(centre_turn(omega, omega, c, when).norm(), (std::min(3.0, left) + 1e-8) * size);
      const CentreTurnSlopes slopes = centre_turn_slopes(omega, end, c, when);
      const auto compare = [&](const Matrix3d& slope, double h, double tolerance, auto&& moved) {
        for (int k = 0; k < 3; ++k) {
          const Vector3d way = h * Vector3d::Unit(k), back = -way;
          const Vector3d reference = (moved(way) - moved(back)) / (2.0 * h);
          EXPECT_LT((slope.col(k) - reference).norm(), tolerance) << turn << " " << k;
        }
      };
      // Differences of what was turned by little, and of what turned often.
      const double h = 1e-4 * omega.norm() / (1.0 + turn), rate = (4.0 + 1e-6 / turn) * size / omega.norm();
      compare(slopes.omega, h, 1e-6 * rate, [&](const Vector3d& by) { return centre_turn(omega + by, end, c, when); });
      compare(slopes.end, h, 1e-6 * rate, [&](const Vector3d& by) { return centre_turn(omega, end + by, c, when); });
      compare(slopes.c, c.norm(), 1e-9 * size / c.norm(),
              [&](const Vector3d& by) { return centre_turn(omega, end, c + by, when); });
    }
  }
}

TEST(FreeBodySlope, AgreesWithDifferencesAsFastAsBodiesSpin) {
  std::mt19937 rng(13);
  const auto effects = [](const Inertia& inertia, const VectorXd& v, const Instant& when) {
    Scene scene = lonely_body(inertia, 0.0);
    Dynamics dynamics(scene.model);
    dynamics.update(scene.model, scene.q0, v, when);
    return VectorXd(dynamics.nonlinear_effects());
  };
  for (const double turn : {0.01, 0.5, 1.0, 1.8}) {
    for (int trial = 0; trial < 30; ++trial) {
      const Inertia inertia(1.5, random_vector(rng, 0.2), pinocchio::Symmetric3(random_inertia(rng, 100.0)));
      const double dt = 0.01, h = 1e-5;
      const Instant when{.dt = dt, .ahead = trial % 2 == 0 ? dt : 0.5 * dt};
      VectorXd v(6);
      v << random_vector(rng, 1.0), turn / dt * random_direction(rng);
      const MatrixXd slope = free_body_slope(inertia, v, when);
      MatrixXd reference(6, 6);
      for (int k = 0; k < 6; ++k) {
        const VectorXd way = h * (1.0 + turn / dt) * VectorXd::Unit(6, k);
        reference.col(k) = (effects(inertia, v + way, when) - effects(inertia, v - way, when)) / (2.0 * way[k]);
      }
      EXPECT_LT((slope - reference).norm(), 1e-6 * (1.0 + reference.norm())) << turn << " " << trial;
    }
  }
}

}  // namespace
}  // namespace taut::testing
