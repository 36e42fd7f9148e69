#pragma once

#include <utility>

#include "scenes.hpp"
#include "taut/collision/derivatives.hpp"

/// Couples of shapes and poses for the tests of distances and their derivatives.
namespace taut::testing {

struct Two {
  std::string name;
  std::shared_ptr<coal::CollisionGeometry> first, second;
  Shape one() const { return make_shape(*first, "first"); }
  Shape two() const { return make_shape(*second, "second"); }
};

// Every ordered couple, half-spaces included, all with different sizes.
inline std::vector<Two> couples() {
  std::vector<Two> all;
  const auto firsts = solids(1.0), seconds = solids(1.3);
  for (const Solid& a : firsts) {
    for (const Solid& b : seconds) all.push_back({a.name + " and " + b.name, a.geometry, b.geometry});
    const auto plane = std::make_shared<coal::Halfspace>(Vector3d(0.1, -0.2, 1.0).normalized(), 0.05);
    all.push_back({a.name + " and plane", a.geometry, plane});
    all.push_back({"plane and " + a.name, plane, a.geometry});
  }
  for (const Two& two : all) {
    two.first->computeLocalAABB();
    two.second->computeLocalAABB();
  }
  return all;
}

/// How far apart is near: half of what two shapes need to be clear of each other, or what a body stands above a plane.
inline double reach_of(const Shape& a, const Shape& b) {
  const bool plane = a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space;
  return plane ? 0.15 : 0.5 * (a.radius + b.radius);
}

/// From well apart to overlapping by a third; above a plane, or a little below.
inline std::pair<SE3, SE3> random_poses(const Shape& a, const Shape& b, std::mt19937& rng) {
  const bool plane = a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space;
  SE3 oM1(random_rotation(rng), random_vector(rng, 0.3));
  SE3 oM2(random_rotation(rng), oM1.translation());
  const double away = std::uniform_real_distribution<double>(plane ? 0.0 : 0.7, 3.0)(rng);
  oM2.translation() += away * reach_of(a, b) * random_direction(rng);
  if (plane) {
    const SE3& ground = a.kind == Shape::Kind::half_space ? oM1 : oM2;
    const Vector3d up = ground.rotation() * Vector3d(0.1, -0.2, 1.0).normalized();
    SE3& body = a.kind == Shape::Kind::half_space ? oM2 : oM1;
    body.translation() = ground.translation() + up * (0.05 + away * 0.1) + 0.05 * random_vector(rng, 1.0);
  }
  return {oM1, oM2};
}

}  // namespace taut::testing
