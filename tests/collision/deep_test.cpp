#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <random>

#include "couples.hpp"
#include "taut/collision/distance.hpp"
#include "taut/collision/patch.hpp"

namespace taut::testing {
namespace {

Pose pose(const SE3& M) { return {M.rotation(), M.translation()}; }

// The largest separation over all directions: the best of many, the first few of them made better around themselves.
double largest_separation(const Shape& a, const SE3& oM1, const Shape& b, const SE3& oM2, std::mt19937& rng) {
  const auto value = [&](const Vector3d& n) { return separation(a, pose(oM1), b, pose(oM2), n); };
  std::vector<std::pair<double, Vector3d>> starts;
  for (int k = 0; k < 400; ++k) {
    const Vector3d n = random_direction(rng);
    starts.emplace_back(value(n), n);
  }
  std::partial_sort(starts.begin(), starts.begin() + 6, starts.end(),
                    [](const auto& x, const auto& y) { return x.first > y.first; });
  double best = -HUGE_VAL;
  for (std::size_t i = 0; i < 6; ++i) {
    auto [height, n] = starts[i];
    for (double step = 0.1; step > 1e-4;) {
      const Matrix3d frame = contact_frame(n);
      bool better = false;
      for (int k = 0; k < 8 && !better; ++k) {
        const double angle = k * M_PI / 4 + 10.0 * step;
        const Vector3d turned =
            (n + step * (std::cos(angle) * frame.col(0) + std::sin(angle) * frame.col(1))).normalized();
        if (const double h = value(turned); h > height) height = h, n = turned, better = true;
      }
      if (!better) step *= 0.5;
    }
    best = std::max(best, height);
  }
  return best;
}

Geometry random_round(std::mt19937& rng) {
  std::uniform_real_distribution<double> size(0.02, 0.3);
  if (rng() % 3 == 0) return std::make_shared<coal::Sphere>(size(rng));
  return std::make_shared<coal::Capsule>(size(rng), 2.0 * size(rng));
}

Geometry random_shape(std::mt19937& rng) {
  std::uniform_real_distribution<double> exponent(-2.0, 0.0);
  const auto size = [&] { return std::pow(10.0, exponent(rng)); };
  switch (rng() % 6) {
    case 0:
      return random_round(rng);
    case 1:
      return std::make_shared<coal::Cylinder>(size(), size());
    case 2:
      return std::make_shared<coal::Cone>(size(), size());
    case 3:
      return std::make_shared<coal::Box>(size(), size(), size());
    default:
      return std::make_shared<coal::Ellipsoid>(size(), size(), size());
  }
}

TEST(Deep, RoundShapesAreAsDeepAsTheirAxesSay) {
  std::mt19937 rng(31);
  for (int k = 0; k < 300; ++k) {
    const Geometry first = random_round(rng), second = random_round(rng);
    const Shape a = make_shape(*first, "first"), b = make_shape(*second, "second");
    SE3 oM1(random_rotation(rng), random_vector(rng, 0.2)), oM2(random_rotation(rng), random_vector(rng, 0.2));
    if (k % 5 == 1) oM2.translation() = oM1.translation();  // axes cross
    if (k % 5 == 2) oM2.rotation() = oM1.rotation();
    if (k % 5 == 3) oM2 = oM1;
    const Distance at = distance(a, oM1, b, oM2);
    EXPECT_NEAR(separation(a, pose(oM1), b, pose(oM2), at.normal), at.distance, 1e-12) << k;
    EXPECT_GE(at.distance, largest_separation(a, oM1, b, oM2, rng) - 1e-12) << k;
    EXPECT_NEAR(at.normal.norm(), 1.0, 1e-14);
    EXPECT_LT((at.point_1 - at.point_2 - at.distance * at.normal).norm(), 1e-12) << k;
    // On the shapes: a radius from the axis.
    for (const auto& [shape, M, point] : {std::tuple(a, oM1, at.point_1), std::tuple(b, oM2, at.point_2)}) {
      Vector3d x = M.actInv(point);
      if (shape.kind == Shape::Kind::capsule) x.z() -= std::clamp(x.z(), -shape.size.z(), shape.size.z());
      EXPECT_NEAR(x.norm(), shape.size.x(), 1e-12) << k;
    }
    EXPECT_NEAR(distance(b, oM2, a, oM1).distance, at.distance, 1e-12) << k;
  }
}

TEST(Deep, NoDirectionSeparatesMore) {
  std::mt19937 rng(32);
  int sunk = 0;
  for (int k = 0; k < 1500; ++k) {
    const Geometry first = random_shape(rng), second = random_shape(rng);
    first->computeLocalAABB();
    second->computeLocalAABB();
    const Shape a = make_shape(*first, "first"), b = make_shape(*second, "second");
    const double reach = std::min(a.radius, b.radius);
    const SE3 oM1(random_rotation(rng), random_vector(rng, 1.0));
    const SE3 oM2(random_rotation(rng), oM1.translation() + random_vector(rng, 0.5 * reach));
    const Distance at = distance(a, oM1, b, oM2);
    if (!deep(a, b, at.distance)) continue;
    ++sunk;
    EXPECT_LT((at.point_1 - at.point_2 - at.distance * at.normal).norm(), 1e-6) << k;
    const double most = largest_separation(a, oM1, b, oM2, rng);
    EXPECT_GE(at.distance, most - 1e-6) << k;

    // In a step the same.
    Couple couple(first, second);
    const auto& contacts = couple.detect(oM1, oM2, 1e-3);
    ASSERT_FALSE(contacts.empty()) << k;
    EXPECT_NEAR(couple.deepest(), at.distance, 1e-6) << k;
  }
  EXPECT_GT(sunk, 1000);
}

}  // namespace
}  // namespace taut::testing
