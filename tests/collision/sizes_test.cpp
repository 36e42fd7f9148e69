// Derivatives of collision with respect to the sizes of shapes.
#include <gtest/gtest.h>

#include "couples.hpp"

namespace taut::testing {
namespace {

using Geometry = std::shared_ptr<coal::CollisionGeometry>;

// The same shape with its k-th size, as `size_names` counts, larger by h.
Geometry grown(const Geometry& geometry, int k, double h) {
  switch (geometry->getNodeType()) {
    case coal::GEOM_SPHERE:
      return std::make_shared<coal::Sphere>(static_cast<coal::Sphere&>(*geometry).radius + h);
    case coal::GEOM_ELLIPSOID:
      return std::make_shared<coal::Ellipsoid>(static_cast<coal::Ellipsoid&>(*geometry).radii + h * Vector3d::Unit(k));
    case coal::GEOM_CAPSULE: {
      const auto& c = static_cast<coal::Capsule&>(*geometry);
      return std::make_shared<coal::Capsule>(c.radius + (k == 0 ? h : 0.0), 2.0 * (c.halfLength + (k == 1 ? h : 0.0)));
    }
    case coal::GEOM_CYLINDER: {
      const auto& c = static_cast<coal::Cylinder&>(*geometry);
      return std::make_shared<coal::Cylinder>(c.radius + (k == 0 ? h : 0.0), 2.0 * (c.halfLength + (k == 1 ? h : 0.0)));
    }
    case coal::GEOM_CONE: {
      const auto& c = static_cast<coal::Cone&>(*geometry);
      return std::make_shared<coal::Cone>(c.radius + (k == 0 ? h : 0.0), 2.0 * (c.halfLength + (k == 1 ? h : 0.0)));
    }
    case coal::GEOM_BOX: {
      const Vector3d half = static_cast<coal::Box&>(*geometry).halfSide + h * Vector3d::Unit(k);
      return std::make_shared<coal::Box>(2.0 * half);
    }
    case coal::GEOM_CONVEX: {
      std::vector<Vector3d> vertices = *static_cast<coal::ConvexBase&>(*geometry).points;
      for (Vector3d& v : vertices) v[k] *= 1.0 + h;
      return hull(vertices);
    }
    case coal::GEOM_HALFSPACE: {
      const auto& half = static_cast<coal::Halfspace&>(*geometry);
      return std::make_shared<coal::Halfspace>(half.n, half.d + h);
    }
    default:
      throw std::logic_error("a shape without sizes");
  }
}

TEST(SizeDerivatives, AgreeWithDifferencesForEveryPair) {
  std::mt19937 rng(21);
  const double h = 1e-6;
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    int compared = 0;
    for (int trial = 0; trial < 200; ++trial) {
      const auto [oM1, oM2] = random_poses(a, b, rng);
      const Distance at = distance(a, oM1, b, oM2);
      if (at.distance < -0.3 * reach_of(a, b)) continue;
      const SizeDerivatives exact = size_derivatives(a, oM1, b, oM2, at);
      if (!exact.unique) continue;
      bool kink = false;
      SizeDerivatives differences;
      for (int c = 0; c < 6; ++c) {
        const int k = c % 3;
        if (k >= static_cast<int>(size_names(c < 3 ? a : b).size())) continue;
        const auto measured = [&](double by) {
          const Geometry one = c < 3 ? grown(pair.first, k, by) : pair.first;
          const Geometry two = c < 3 ? pair.second : grown(pair.second, k, by);
          one->computeLocalAABB();
          two->computeLocalAABB();
          return distance(make_shape(*one, "one"), oM1, make_shape(*two, "two"), oM2);
        };
        const Distance plus = measured(h), minus = measured(-h);
        kink = kink || (plus.normal + minus.normal - 2.0 * at.normal).norm() > 1e-3 * h ||
               (plus.point_1 + minus.point_1 - 2.0 * at.point_1).norm() > 1e-3 * h;
        differences.distance[c] = (plus.distance - minus.distance) / (2.0 * h);
        differences.normal.col(c) = (plus.normal - minus.normal) / (2.0 * h);
        differences.point_1.col(c) = (plus.point_1 - minus.point_1) / (2.0 * h);
        differences.point_2.col(c) = (plus.point_2 - minus.point_2) / (2.0 * h);
      }
      if (kink) continue;
      ++compared;
      const double tolerance = 1e-4 * (1.0 + exact.normal.cwiseAbs().maxCoeff());
      EXPECT_LT((exact.distance - differences.distance).cwiseAbs().maxCoeff(), 1e-6) << pair.name;
      EXPECT_LT((exact.normal - differences.normal).cwiseAbs().maxCoeff(), tolerance) << pair.name;
      EXPECT_LT((exact.point_1 - differences.point_1).cwiseAbs().maxCoeff(), tolerance) << pair.name;
      EXPECT_LT((exact.point_2 - differences.point_2).cwiseAbs().maxCoeff(), tolerance) << pair.name;
    }
    EXPECT_GT(compared, 80) << pair.name;
  }
}

TEST(SizeDerivatives, SpheresGrowTowardEachOther) {
  const coal::Sphere small(0.1), large(0.2);
  const Shape a = make_shape(small, "a"), b = make_shape(large, "b");
  const SE3 oM1 = SE3::Identity(), oM2 = at(0.5, 0.0, 0.0);
  const SizeDerivatives d = size_derivatives(a, oM1, b, oM2, distance(a, oM1, b, oM2));
  EXPECT_NEAR(d.distance[0], -1.0, 1e-12);
  EXPECT_NEAR(d.distance[3], -1.0, 1e-12);
  EXPECT_LT((d.point_1.col(0) - Vector3d::UnitX()).norm(), 1e-12);
  EXPECT_LT(d.point_2.col(0).norm() + d.normal.norm(), 1e-12);
}

}  // namespace
}  // namespace taut::testing
