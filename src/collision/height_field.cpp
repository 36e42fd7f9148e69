#include <coal/collision.h>

#include <cmath>

#include "taut/collision/patch.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

coal::Transform3s to_coal(const Pose& pose) { return {pose.rotation, pose.translation}; }

}  // namespace

void height_field_patch(const Shape& shape, const Pose& pose, const Shape& field, const Pose& field_pose, double margin,
                        coal::CollisionRequest& request, coal::CollisionResult& result, Patch& patch) {
  patch.count = 0;
  patch.second_is_reference = true;
  request.num_max_contacts = Patch::capacity;
  request.security_margin = margin;
  request.distance_upper_bound = margin;
  request.cached_gjk_guess = Vector3d::UnitX();
  request.cached_support_func_guess.setZero();
  result.clear();
  // Coal 3 looks for cells where the field stands, and then collides with them as if it stood at the origin: so it
  // does.
  const Pose relative{field_pose.rotation.transpose() * pose.rotation,
                      field_pose.rotation.transpose() * (pose.translation - field_pose.translation)};
  coal::collide(shape.geometry, to_coal(relative), field.geometry, coal::Transform3s(), request, result);
  const bool round = shape.kind <= Shape::Kind::capsule;
  Shape plane{.kind = Shape::Kind::half_space};
  bool level = true;  // all contacts lie in one plane
  for (std::size_t i = 0; i < result.numContacts(); ++i) {
    const coal::Contact& contact = result.getContact(i);
    // Coal's depth is −|distance| here; the witness points know the sign.
    const double gap = contact.normal.dot(contact.nearest_points[1] - contact.nearest_points[0]);
    if (!(gap <= margin) || !contact.normal.allFinite()) continue;
    const Vector3d n = -(field_pose.rotation * contact.normal);
    const double offset = n.dot(field_pose * contact.nearest_points[1]);
    if (patch.count == 0) plane.normal = n, plane.offset = offset;
    level = level && (n - plane.normal).norm() < 1e-6 && std::abs(offset - plane.offset) < 1e-7;
    patch.normal = n;  // a cell's: Coal does not let shapes lean on ridges
    // Coal's point may be anywhere on the cell; of a round shape the nearest one is known.
    const Vector3d point = round ? Vector3d(pose * support(shape, pose.rotation.transpose() * -n) - 0.5 * gap * n)
                                 : field_pose * contact.pos;
    patch.add(point, gap, PatchOrigin(PatchOrigin::Kind::vertex));
  }
  // A shape that stands whole on level cells meets a half-space: its corners, not points inside its face.
  const Vector3d center = relative * shape.center;
  const auto& box = field.geometry->aabb_local;
  const double r = shape.radius;
  const bool inside =
      (center.head<2>() - box.min_.head<2>()).minCoeff() > r && (box.max_.head<2>() - center.head<2>()).minCoeff() > r;
  if (patch.count > 0 && level && inside && !round) half_space_patch(shape, pose, plane, Pose{}, margin, patch);
}

}  // namespace taut
