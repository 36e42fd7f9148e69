#pragma once

#include <coal/collision_object.h>

#include <Eigen/Core>
#include <vector>

namespace taut {

/// What taut needs of a Coal shape at every step, unpacked once: its kind, sizes, bounding ball and support function.
struct Shape {
  enum class Kind { sphere, ellipsoid, capsule, cone, cylinder, box, convex, half_space, height_field };

  Kind kind = Kind::sphere;
  const coal::CollisionGeometry* geometry = nullptr;
  Eigen::Vector3d size = Eigen::Vector3d::Zero();  ///< box: half sides; ellipsoid: radii; else (radius, ·, half length)
  const std::vector<Eigen::Vector3d>* vertices = nullptr;  ///< convex
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();       ///< half-space {x : normal·x ≤ offset}
  double offset = 0.0;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();  ///< bounding ball, in the shape's frame
  double radius = 0.0;                               ///< infinite for a half-space
};

/// Throws std::invalid_argument naming `name` if taut does not collide such a shape (a non-convex mesh, an octree) or
/// if it is degenerate (zero or negative size, NaN, fewer than four vertices).
Shape make_shape(const coal::CollisionGeometry& geometry, const char* name);

/// The point of the shape farthest along d (not necessarily unit), in the shape's frame. Not for half-spaces and
/// height fields.
Eigen::Vector3d support(const Shape& shape, const Eigen::Vector3d& d);

/// How far the shape reaches along the unit vector d from its origin: d · support(d), without the point.
double support_height(const Shape& shape, const Eigen::Vector3d& d);

}  // namespace taut
