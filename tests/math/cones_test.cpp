#include "taut/math/cones.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>

namespace taut {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kMus[] = {0.0, 0.1, 0.7, 1.0, 5.0};

std::vector<Vector3d> random_points(int count, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<Vector3d> points(count);
  for (Vector3d& p : points) p = Vector3d(normal(rng), normal(rng), normal(rng));
  return points;
}

// The cone as its generators: the nearest point lies on one ray of the boundary, and along a ray it is a clamp.
Vector3d nearest_by_search(const Vector3d& x, double mu) {
  if (x.head<2>().norm() <= mu * x[2]) return x;
  Vector3d best = Vector3d::Zero();
  constexpr int kRays = 20'000;
  for (int k = 0; k < kRays; ++k) {
    const double angle = 2.0 * std::numbers::pi * k / kRays;
    const Vector3d ray = Vector3d(mu * std::cos(angle), mu * std::sin(angle), 1.0).normalized();
    const Vector3d candidate = std::max(0.0, ray.dot(x)) * ray;
    if ((x - candidate).norm() < (x - best).norm()) best = candidate;
  }
  return best;
}

TEST(ConeProjection, MatchesASearchOverTheBoundary) {
  for (const double mu : kMus) {
    for (const Vector3d& x : random_points(20, 1)) {
      // Rays are 3e-4 rad apart, and a step along the boundary costs the distance its square.
      EXPECT_LE((x - project_onto_cone(x, mu)).norm(), (x - nearest_by_search(x, mu)).norm() + 1e-12);
      EXPECT_LT((project_onto_cone(x, mu) - nearest_by_search(x, mu)).norm(), 5e-3);
    }
  }
}

TEST(ConeProjection, IsIdempotentAndFeasible) {
  for (const double mu : kMus) {
    for (const Vector3d& x : random_points(200, 2)) {
      const Vector3d p = project_onto_cone(x, mu);
      EXPECT_LE(p.head<2>().norm(), mu * p[2] + 1e-15 * x.norm());
      EXPECT_LT((project_onto_cone(p, mu) - p).norm(), 1e-15 * (1.0 + x.norm()));
    }
  }
}

TEST(ConeProjection, SplitsASpaceIntoConeAndPolarAsMoreauSays) {
  for (const double mu : kMus) {
    for (const Vector3d& x : random_points(200, 3)) {
      const Vector3d in_cone = project_onto_cone(x, mu), in_polar = x - in_cone;
      EXPECT_NEAR(in_cone.dot(in_polar), 0.0, 1e-14 * x.squaredNorm());
      EXPECT_LE(mu * in_polar.head<2>().norm() + in_polar[2], 1e-14 * (1.0 + mu) * x.norm());
    }
  }
}

TEST(ConeProjection, SendsThePolarToTheApex) {
  EXPECT_EQ(project_onto_cone({0.3, 0.4, -0.5 * 0.7}, 0.7), Vector3d::Zero());  // exactly on its boundary
  EXPECT_EQ(project_onto_cone({0.0, 0.0, -1.0}, 0.0), Vector3d::Zero());
  EXPECT_EQ(project_onto_cone(Vector3d::Zero(), 0.5), Vector3d::Zero());
}

TEST(ConeProjection, WithoutFrictionKeepsTheNormalOnly) {
  EXPECT_EQ(project_onto_cone({3.0, -4.0, 2.0}, 0.0), Vector3d(0.0, 0.0, 2.0));
  EXPECT_EQ(project_onto_cone({3.0, -4.0, -2.0}, 0.0), Vector3d::Zero());
}

TEST(DualConeProjection, IsTheProjectionOnTheConeOfInverseFriction) {  // K_μ* = K_{1/μ}, by another formula
  for (const Vector3d& x : random_points(200, 4)) {
    EXPECT_LT((project_onto_dual_cone(x, 0.4) - project_onto_cone(x, 2.5)).norm(), 1e-14 * (1.0 + x.norm()));
  }
}

TEST(ConeProjectionDerivative, MatchesCentralDifferences) {
  constexpr double h = 1e-6;
  for (const double mu : kMus) {
    for (const Vector3d& x : random_points(100, 5)) {
      // A stencil across a kink proves nothing: stay well inside one of the three regions.
      const double t = x.head<2>().norm();
      if (std::abs(t - mu * x[2]) < 1e-3 || std::abs(mu * t + x[2]) < 1e-3 || t < 0.05) continue;
      Matrix3d differences;
      for (int k = 0; k < 3; ++k) {
        const Vector3d e = h * Vector3d::Unit(k);
        differences.col(k) = (project_onto_cone(x + e, mu) - project_onto_cone(x - e, mu)) / (2.0 * h);
      }
      // Truncation is h² over |x_t|², rounding 1e-16 over h.
      EXPECT_LT((cone_projection_derivative(x, mu) - differences).norm(), 1e-8);
    }
  }
}

TEST(DiskProjection, ShortensWithoutTurning) {
  EXPECT_EQ(project_onto_disk({0.3, 0.4}, 0.5), Vector2d(0.3, 0.4));
  EXPECT_LT((project_onto_disk({3.0, 4.0}, 0.5) - Vector2d(0.3, 0.4)).norm(), 1e-16);
  EXPECT_EQ(project_onto_disk({3.0, 4.0}, 0.0), Vector2d::Zero());
  EXPECT_EQ(project_onto_disk({0.0, 0.0}, 0.0), Vector2d::Zero());
}

TEST(DeSaxce, LiftsASlidingVelocityIntoTheDualConeBoundary) {
  const Vector3d c(0.6, -0.8, 0.0);
  EXPECT_EQ(de_saxce(c, 0.5), Vector3d(0.0, 0.0, 0.5));
  const Vector3d s = c + de_saxce(c, 0.5);
  EXPECT_LT((project_onto_dual_cone(s, 0.5) - s).norm(), 1e-15);
}

}  // namespace
}  // namespace taut
