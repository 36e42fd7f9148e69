// Derivatives of collision with respect to the sizes of shapes.
#include <gtest/gtest.h>

#include "couples.hpp"

namespace taut::testing {
namespace {

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
