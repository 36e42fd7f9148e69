#include "taut/collision/patch_derivatives.hpp"

#include <Eigen/Geometry>
#include <cmath>
#include <stdexcept>

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::SE3;
using Row = PatchPointDerivatives::Row;
using Rows = PatchPointDerivatives::Rows;

// How the points of a body move with its pose, whose columns start at `column`.
struct Body {
  const Pose& pose;
  int column;

  Rows velocity(const Vector3d& x) const {
    Rows rows = Rows::Zero();
    for (int k = 0; k < 3; ++k) {
      rows.col(column + k) = pose.rotation.col(k);
      rows.col(column + 3 + k) = pose.rotation.col(k).cross(x - pose.translation);
    }
    return rows;
  }
  Rows turn(const Vector3d& direction) const {  // ω × direction
    Rows rows = Rows::Zero();
    for (int k = 0; k < 3; ++k) rows.col(column + 3 + k) = pose.rotation.col(k).cross(direction);
    return rows;
  }
};

// How a point of the part of a shape that faces d follows d where that moves by `seen`: rims and side lines around the
// axis, round surfaces with their curvature.
template <typename Columns>
Columns follow(const Shape& shape, const Pose& pose, const Vector3d& d, const Columns& seen, const Vector3d& x) {
  Columns rows = Columns::Zero();
  switch (shape.kind) {
    case Shape::Kind::sphere:
    case Shape::Kind::capsule:  // an end of the axis and the radius along d
      rows = shape.size.x() * seen;
      break;
    case Shape::Kind::ellipsoid: {
      int none = 0;
      const Matrix3d& R = pose.rotation;
      const Matrix3d curvature = feature_along(shape, R.transpose() * d, Vector3d::Zero(), none).curvature;
      rows = R * curvature * (R.transpose() * seen);
      break;
    }
    case Shape::Kind::cylinder:
    case Shape::Kind::cone: {
      const Vector3d axis = pose.rotation.col(2);
      const Vector3d radial = d - axis.dot(d) * axis;
      const double length = radial.norm();
      if (length > 1e-9) {  // standing on a face the points stay where they are
        rows = axis.cross(x - pose.translation) * (axis.cross(radial).transpose() * seen / (length * length));
      }
      break;
    }
    default:
      break;
  }
  return rows;
}

Rows facing_velocity(const Shape& shape, const Body& body, const Vector3d& d, const Rows& dd, const Vector3d& x) {
  return body.velocity(x) + follow(shape, body.pose, d, Rows(dd - body.turn(d)), x);
}

// What sizes do to a point x of the part of a shape that faces d: the shape grows along its axes, and points keep their
// share of it.
Matrix3d growth(const Shape& shape, const Pose& pose, const Vector3d& d, const Vector3d& x) {
  const Matrix3d& R = pose.rotation;
  const Vector3d local = R.transpose() * (x - pose.translation), d_local = R.transpose() * d;
  Matrix3d columns = Matrix3d::Zero();
  switch (shape.kind) {
    case Shape::Kind::sphere:
      columns.col(0) = d_local;
      break;
    case Shape::Kind::ellipsoid: {
      int none = 0;
      columns = size_motion(shape, feature_along(shape, d_local, local, none), d_local).point;
      break;
    }
    case Shape::Kind::capsule:
      columns.col(0) = d_local;
      columns(2, 1) = (local.z() - shape.size.x() * d_local.z()) / shape.size.z();
      break;
    case Shape::Kind::cylinder:
    case Shape::Kind::cone:
      columns.col(0).head<2>() = local.head<2>() / shape.size.x();
      columns(2, 1) = local.z() / shape.size.z();
      break;
    case Shape::Kind::box:
      columns = local.cwiseQuotient(shape.size).asDiagonal();
      break;
    case Shape::Kind::convex:
      columns = local.asDiagonal();
      break;
    case Shape::Kind::half_space:
      columns.col(0) = shape.normal;
      break;
    case Shape::Kind::height_field:
      break;
  }
  return R * columns;
}

// How the normal of a face turns with the sizes of its shape: only a mesh's does, that is scaled along its axes.
Matrix3d face_turn(const Shape& shape, const Pose& pose, const Vector3d& up) {
  if (shape.kind != Shape::Kind::convex) return Matrix3d::Zero();
  const Matrix3d scaled = Vector3d(pose.rotation.transpose() * up).asDiagonal();
  return -(Matrix3d::Identity() - up * up.transpose()) * pose.rotation * scaled;
}

}  // namespace

Patch contact_patch(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, double margin) {
  if (leads(second, first)) {
    Patch turned = contact_patch(second, oM2, first, oM1, margin);
    turned.normal = -turned.normal;
    turned.second_is_reference = !turned.second_is_reference;
    for (int i = 0; i < turned.count; ++i) turned.points[i].normal = -turned.points[i].normal;
    return turned;
  }
  const Pose pose_1{oM1.rotation(), oM1.translation()}, pose_2{oM2.rotation(), oM2.translation()};
  Patch patch;
  if (second.kind == Shape::Kind::height_field) {
    if (first.kind >= Shape::Kind::half_space)
      throw std::invalid_argument("patch: one shape must be bounded and convex");
    height_field_patch(first, pose_1, second, pose_2, margin, patch);
    reduce_to_four(patch);
    return patch;
  }
  const Distance at = distance(first, oM1, second, oM2);
  if (at.distance > margin) return patch;
  if (second.kind == Shape::Kind::half_space) {
    half_space_patch(first, pose_1, second, pose_2, margin, patch);
  } else {
    convex_patch(first, pose_1, second, pose_2, at.normal, 0.5 * (at.point_1 + at.point_2), at.distance, margin, patch);
  }
  reduce_to_four(patch);
  return patch;
}

PatchPointDerivatives derivatives(const Shape& first, const Pose& first_pose, const Shape& second,
                                  const Pose& second_pose, const Patch& patch, int point,
                                  const CollisionDerivativeOptions& options) {
  using Kind = PatchOrigin::Kind;
  const Patch::Point& at = patch.points[static_cast<std::size_t>(point)];
  const Vector3d& n = at.normal;
  const Vector3d half = 0.5 * at.gap * n;
  PatchPointDerivatives result;
  if (at.origin.kind == Kind::witness) {
    const Distance distance{
        .distance = at.gap, .normal = n, .point_1 = at.position + half, .point_2 = at.position - half};
    const DistanceDerivatives d = derivatives(first, SE3(first_pose.rotation, first_pose.translation), second,
                                              SE3(second_pose.rotation, second_pose.translation), distance, options);
    result.gap = d.distance;
    result.point = 0.5 * (d.point_1 + d.point_2);
    result.normal = d.normal;
    result.frame = d.frame;
    result.method = d.method;
    return result;
  }
  // The incident shape lies on the side of the reference that `up` points to.
  const bool lower = patch.second_is_reference;
  const Body reference{lower ? second_pose : first_pose, lower ? 6 : 0};
  const Body incident{lower ? first_pose : second_pose, lower ? 0 : 6};
  const Shape& face_shape = lower ? second : first;
  const Shape& incident_shape = lower ? first : second;
  const Vector3d up = lower ? n : Vector3d(-n);
  const Vector3d x = at.position + 0.5 * at.gap * up;  // on the incident shape
  const Rows d_up = reference.turn(up);

  const Rows of_incident = facing_velocity(incident_shape, incident, -up, -d_up, x);
  Rows dx = of_incident;
  if (at.origin.kind != Kind::vertex) {
    const Rows of_face = facing_velocity(face_shape, reference, up, d_up, x);
    const bool crossing = at.origin.kind == Kind::crossing;
    // A crossing slides along its edge to stay over the side; a corner along the normal to stay in the incident face.
    const Vector3d& along = crossing ? at.origin.edge : up;
    const Vector3d& across = crossing ? at.origin.side : at.origin.edge;
    const Rows& own = crossing ? of_incident : of_face;
    const Rows& other = crossing ? of_face : of_incident;
    dx = own - along * (across.transpose() * (own - other)) / across.dot(along);
  }
  result.gap = up.transpose() * (dx - reference.velocity(x));
  result.normal = lower ? d_up : Rows(-d_up);
  result.point = dx - 0.5 * (up * result.gap + at.gap * d_up);
  for (int c = 0; c < 12; ++c) result.frame.col(c) = frame_rotation(n, result.normal.col(c));
  return result;
}

PatchPointSizeDerivatives size_derivatives(const Shape& first, const Pose& first_pose, const Shape& second,
                                           const Pose& second_pose, const Patch& patch, int point) {
  using Kind = PatchOrigin::Kind;
  using Columns = PatchPointSizeDerivatives::Rows;
  const Patch::Point& at = patch.points[static_cast<std::size_t>(point)];
  const Vector3d& n = at.normal;
  PatchPointSizeDerivatives result;
  if (at.origin.kind == Kind::witness) {
    const Vector3d half = 0.5 * at.gap * n;
    const SizeDerivatives d = size_derivatives(
        first, SE3(first_pose.rotation, first_pose.translation), second,
        SE3(second_pose.rotation, second_pose.translation),
        {.distance = at.gap, .normal = n, .point_1 = at.position + half, .point_2 = at.position - half});
    result.gap = d.distance;
    result.point = 0.5 * (d.point_1 + d.point_2);
    result.normal = d.normal;
    result.frame = d.frame;
    return result;
  }
  const bool lower = patch.second_is_reference;
  const Shape &face_shape = lower ? second : first, &incident_shape = lower ? first : second;
  const Pose &face_pose = lower ? second_pose : first_pose, &incident_pose = lower ? first_pose : second_pose;
  const int face_column = lower ? 3 : 0, incident_column = 3 - face_column;
  const Vector3d up = lower ? n : Vector3d(-n);
  const Vector3d x = at.position + 0.5 * at.gap * up, foot = at.position - 0.5 * at.gap * up;
  Columns d_up = Columns::Zero(), of_face = Columns::Zero(), of_incident;
  d_up.middleCols<3>(face_column) = face_turn(face_shape, face_pose, up);
  of_face.middleCols<3>(face_column) = growth(face_shape, face_pose, up, foot);
  of_incident = follow(incident_shape, incident_pose, -up, Columns(-d_up), x);
  of_incident.middleCols<3>(incident_column) += growth(incident_shape, incident_pose, -up, x);

  // As with poses: a crossing slides along its edge to stay over the side, a corner along the normal.
  Columns dx = of_incident;
  if (at.origin.kind == Kind::crossing) {
    const Vector3d &edge = at.origin.edge, &side = at.origin.side;
    dx -= edge * (side.transpose() * (of_incident - of_face - at.gap * d_up)) / side.dot(edge);
  } else if (at.origin.kind == Kind::corner) {
    const Vector3d& normal = at.origin.edge;
    const Columns carried = of_face + at.gap * d_up;
    dx = carried - up * (normal.transpose() * (carried - of_incident)) / normal.dot(up);
  }
  result.gap = up.transpose() * (dx - of_face);
  result.normal = lower ? d_up : Columns(-d_up);
  result.point = dx - 0.5 * (up * result.gap + at.gap * d_up);
  for (int c = 0; c < 6; ++c) result.frame.col(c) = frame_rotation(n, result.normal.col(c));
  return result;
}

}  // namespace taut
