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

using Geometry = std::shared_ptr<coal::CollisionGeometry>;

// The same shape with its k-th size, as `size_names` counts, larger by h.
inline Geometry grown(const Geometry& geometry, int k, double h) {
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

}  // namespace taut::testing
