#include <cmath>

#include "taut/collision/patch.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

// Four points of a circle, the first the lowest along n, so that a disk standing on its face rests on a square.
template <typename Touch>
void touch_circle(const Pose& pose, double radius, double z, const Vector3d& n_local, bool lowest_only, Touch&& touch) {
  Eigen::Vector2d down = -n_local.head<2>();
  const double length = down.norm();
  // Standing on the face: any direction is lowest. A fixed one keeps the points in place.
  down = length > 1e-9 ? Eigen::Vector2d(down / length) : Eigen::Vector2d(1.0, 0.0);
  const Eigen::Vector2d side(-down.y(), down.x());
  for (const Eigen::Vector2d& direction : {down, side, Eigen::Vector2d(-down), Eigen::Vector2d(-side)}) {
    touch(pose * Vector3d(radius * direction.x(), radius * direction.y(), z));
    if (lowest_only) return;
  }
}

}  // namespace

void half_space_patch(const Shape& shape, const Pose& pose, const Shape& half_space, const Pose& half_space_pose,
                      double margin, Patch& patch) {
  const Vector3d n = half_space_pose.rotation * half_space.normal;
  const double offset = half_space.offset + n.dot(half_space_pose.translation);
  patch.normal = n;
  patch.second_is_reference = true;
  patch.count = 0;
  const auto touch = [&](const Vector3d& x) {
    const double gap = n.dot(x) - offset;
    if (gap <= margin) patch.add(x - 0.5 * gap * n, gap, PatchOrigin(PatchOrigin::Kind::vertex));
  };
  const Vector3d n_local = pose.rotation.transpose() * n;
  const double r = shape.size.x(), h = shape.size.z();

  switch (shape.kind) {
    case Shape::Kind::sphere:
      touch(pose.translation - r * n);
      break;
    case Shape::Kind::ellipsoid:
      touch(pose * support(shape, -n_local));
      break;
    case Shape::Kind::capsule: {
      const Vector3d axis = h * pose.rotation.col(2);
      touch(pose.translation + axis - r * n);
      touch(pose.translation - axis - r * n);
      break;
    }
    case Shape::Kind::cylinder: {
      const double near = n_local.z() > 0.0 ? -h : h;
      touch_circle(pose, r, near, n_local, false, touch);
      touch_circle(pose, r, -near, n_local, true, touch);  // lying on its side
      break;
    }
    case Shape::Kind::cone:
      touch_circle(pose, r, -h, n_local, false, touch);
      touch(pose * Vector3d(0.0, 0.0, h));
      break;
    case Shape::Kind::box:
      for (int i = 0; i < 8; ++i) {
        touch(pose * Vector3d(i & 1 ? shape.size.x() : -shape.size.x(), i & 2 ? shape.size.y() : -shape.size.y(),
                              i & 4 ? shape.size.z() : -shape.size.z()));
      }
      break;
    case Shape::Kind::convex: {
      // More vertices than fit may be within the margin (a fine mesh lying flat): the deepest must be among them.
      touch(pose * support(shape, -n_local));
      const Vector3d deepest = patch.count > 0 ? patch.points[0].position : Vector3d::Zero();
      const double limit = margin + offset - n.dot(pose.translation);
      for (const Vector3d& vertex : *shape.vertices) {
        if (n_local.dot(vertex) > limit) continue;
        const Vector3d x = pose * vertex;
        const double gap = n.dot(x) - offset;
        if ((x - 0.5 * gap * n - deepest).squaredNorm() > 1e-16) touch(x);
        if (patch.count == Patch::capacity) reduce_to_four(patch);
      }
      break;
    }
    case Shape::Kind::half_space:
    case Shape::Kind::height_field:
      break;
  }
}

}  // namespace taut
