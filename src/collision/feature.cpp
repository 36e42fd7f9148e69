#include "taut/collision/feature.hpp"

#include <algorithm>
#include <cmath>

#include "taut/collision/mesh.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

void add_flat(Feature& feature, const Vector3d& direction) {
  Vector3d rest = direction;
  for (int k = 0; k < feature.flats; ++k) rest -= feature.flat.col(k).dot(rest) * feature.flat.col(k);
  const double left = rest.norm();
  if (feature.flats < 2 && left > 1e-6 * direction.norm()) feature.flat.col(feature.flats++) = rest / left;
}

// The point of the flat nearest to `near`.
void move_near(Feature& feature, const Vector3d& near) {
  const Vector3d way = near - feature.point;
  for (int k = 0; k < feature.flats; ++k) feature.point += feature.flat.col(k).dot(way) * feature.flat.col(k);
}

Feature on_ellipsoid(const Vector3d& radii, const Vector3d& d) {
  const Vector3d squares = radii.cwiseAbs2(), s = squares.cwiseProduct(d);
  const double size = radii.cwiseProduct(d).norm();
  Feature feature;
  feature.point = s / size;
  feature.curvature = squares.asDiagonal();
  feature.curvature = Matrix3d((feature.curvature - s * s.transpose() / (size * size)) / size);
  return feature;
}

// A circle of radius r about z, turning with d: what cylinders, cones and capsules have around their axis.
Matrix3d around_axis(double r, const Vector3d& d) {
  const double radial = d.head<2>().norm();
  const Vector3d along(-d.y() / radial, d.x() / radial, 0.0);
  return r / radial * along * along.transpose();
}

Feature on_capsule(const Shape& shape, const Vector3d& d, const Vector3d& near, double angle) {
  const double r = shape.size.x(), h = shape.size.z();
  Feature feature;
  feature.point = r * d;
  feature.curvature = r * (Matrix3d::Identity() - d * d.transpose());
  if (std::abs(d.z()) < angle && std::abs(near.z()) < h * (1.0 - 1e-9)) {
    feature.curvature = around_axis(r, d);
    add_flat(feature, Vector3d::UnitZ());
    move_near(feature, near);
  } else {  // which end: the nearer one where the direction does not tell
    feature.point.z() += std::copysign(h, std::abs(d.z()) < angle ? near.z() : d.z());
  }
  return feature;
}

Feature on_disk(double height, const Vector3d& near) {
  Feature feature;
  feature.point.z() = height;
  add_flat(feature, Vector3d::UnitX());
  add_flat(feature, Vector3d::UnitY());
  move_near(feature, near);
  return feature;
}

Feature on_cylinder(const Shape& shape, const Vector3d& d, const Vector3d& near, double angle) {
  const double r = shape.size.x(), h = shape.size.z(), radial = d.head<2>().norm();
  if (radial < angle) return on_disk(std::copysign(h, d.z()), near);
  Feature feature;
  feature.point << r / radial * d.head<2>(), 0.0;
  feature.curvature = around_axis(r, d);
  if (std::abs(d.z()) < angle && std::abs(near.z()) < h * (1.0 - 1e-9)) {
    add_flat(feature, Vector3d::UnitZ());
    move_near(feature, near);
  } else {
    feature.point.z() = std::copysign(h, std::abs(d.z()) < angle ? near.z() : d.z());
  }
  return feature;
}

// The apex is at +h, the base of radius r at −h.
Feature on_cone(const Shape& shape, const Vector3d& d, const Vector3d& near, double angle) {
  const double r = shape.size.x(), h = shape.size.z(), radial = d.head<2>().norm();
  if (radial < angle && d.z() < 0.0) return on_disk(-h, near);
  const Vector3d apex(0.0, 0.0, h);
  Feature feature;
  feature.point = apex;
  const double slant = std::hypot(r, 2.0 * h);
  const double tilt = (2.0 * h * d.z() - r * radial) / slant;  // of d above the normal of the side
  if (radial < angle || tilt > angle) return feature;          // the apex
  const Vector3d rim(r / radial * d.x(), r / radial * d.y(), -h);
  if (tilt < -angle) {
    feature.point = rim;
    feature.curvature = around_axis(r, d);
    return feature;
  }
  add_flat(feature, rim - apex);
  move_near(feature, near);
  feature.curvature = around_axis(feature.point.head<2>().norm(), d);
  return feature;
}

Feature on_box(const Shape& shape, const Vector3d& d, const Vector3d& near, double angle) {
  Feature feature;
  for (int k = 0; k < 3; ++k) {
    if (std::abs(d[k]) < angle && std::abs(near[k]) < shape.size[k] * (1.0 - 1e-9)) {
      add_flat(feature, Vector3d::Unit(k));
      feature.point[k] = near[k];
    } else {
      feature.point[k] = std::copysign(shape.size[k], std::abs(d[k]) < angle ? near[k] : d[k]);
    }
  }
  return feature;
}

Feature on_mesh(const Shape& shape, const Vector3d& d, const Vector3d& near, double angle, int& vertex) {
  const auto& vertices = *shape.vertices;
  vertex = farthest_vertex(shape, d, vertex);
  Feature feature;
  feature.point = vertices[vertex];
  // The longest edge first, then what reaches farthest beside it: a vertex close by may be lower by next to nothing and
  // yet belong to a face of quite another direction.
  const auto candidates = vertices_near_top(shape, d, vertex, angle * 2.0 * shape.radius);
  for (int flat = 0; flat < 2; ++flat) {
    double longest = 0.0;
    Vector3d way = Vector3d::Zero();
    for (const int i : candidates) {
      Vector3d beside = vertices[i] - vertices[vertex];
      const double below = -d.dot(beside);
      if (flat == 1) beside -= feature.flat.col(0).dot(beside) * feature.flat.col(0);
      const double length = beside.norm();
      if (below <= angle * length && length > longest) longest = length, way = vertices[i] - vertices[vertex];
    }
    if (longest == 0.0) break;
    add_flat(feature, way);
    if (feature.flats <= flat) break;
  }
  // A vertex of an edge or a face that the witness sits on is not a place to move from in all directions, but the
  // derivative cannot tell: on one side of the corner it holds.
  move_near(feature, near);
  return feature;
}

}  // namespace

Feature feature_along(const Shape& shape, const Vector3d& d, const Vector3d& near, int& vertex, double angle) {
  switch (shape.kind) {
    case Shape::Kind::sphere:
    case Shape::Kind::ellipsoid:
      return on_ellipsoid(shape.size, d);
    case Shape::Kind::capsule:
      return on_capsule(shape, d, near, angle);
    case Shape::Kind::cylinder:
      return on_cylinder(shape, d, near, angle);
    case Shape::Kind::cone:
      return on_cone(shape, d, near, angle);
    case Shape::Kind::box:
      return on_box(shape, d, near, angle);
    case Shape::Kind::convex:
      return on_mesh(shape, d, near, angle, vertex);
    case Shape::Kind::half_space:
    case Shape::Kind::height_field:
      break;
  }
  Feature feature;  // a half-space: its plane, whatever the direction
  feature.point = shape.offset * shape.normal;
  const Vector3d across = shape.normal.unitOrthogonal();
  add_flat(feature, across);
  add_flat(feature, shape.normal.cross(across));
  move_near(feature, near);
  return feature;
}

SizeMotion size_motion(const Shape& shape, const Feature& feature, const Vector3d& d) {
  SizeMotion motion;
  const double radial = d.head<2>().norm();
  const Vector3d outward = radial > 0.0 ? Vector3d(d.x() / radial, d.y() / radial, 0.0) : Vector3d::Zero();
  const double r = shape.size.x(), h = shape.size.z();
  const Vector3d& p = feature.point;
  switch (shape.kind) {
    case Shape::Kind::sphere:
      motion.count = 1;
      motion.point.col(0) = d;
      break;
    case Shape::Kind::ellipsoid: {  // s = A² d / |A d|
      motion.count = 3;
      const double size = shape.size.cwiseProduct(d).norm();
      for (int k = 0; k < 3; ++k) {
        motion.point.col(k) = -p * (shape.size[k] * d[k] * d[k] / (size * size));
        motion.point(k, k) += 2.0 * shape.size[k] * d[k] / size;
      }
      break;
    }
    case Shape::Kind::capsule:
      motion.count = 2;
      motion.point.col(0) = d;
      if (feature.flats == 0) motion.point(2, 1) = std::copysign(1.0, p.z());
      break;
    case Shape::Kind::cylinder:
      motion.count = 2;
      if (feature.flats < 2) motion.point.col(0) = outward;
      if (feature.flats != 1) motion.point(2, 1) = std::copysign(1.0, p.z());
      break;
    case Shape::Kind::cone:
      motion.count = 2;
      if (feature.flats == 1) {  // on the side, at the same share of the way from the apex to the rim
        const double share = (h - p.z()) / (2.0 * h), slant = std::hypot(r, 2.0 * h);
        const double sign = std::copysign(1.0, -feature.flat(2, 0));  // the flat points down the side, or up
        motion.point.col(0) = share * outward;
        motion.point(2, 1) = 1.0 - 2.0 * share;
        motion.flat[0].col(0) = sign / slant * outward;
        motion.flat[0](2, 1) = -2.0 * sign / slant;
      } else {
        const bool apex = feature.flats == 0 && p.z() > 0.0;
        if (!apex && feature.flats == 0) motion.point.col(0) = outward;
        motion.point(2, 1) = apex ? 1.0 : -1.0;
      }
      break;
    case Shape::Kind::box:
      motion.count = 3;
      for (int k = 0; k < 3; ++k) {
        bool flat = false;
        for (int f = 0; f < feature.flats; ++f) flat = flat || feature.flat(k, f) != 0.0;
        if (!flat) motion.point(k, k) = std::copysign(1.0, p[k]);
      }
      break;
    case Shape::Kind::convex:  // scales along the axes of its frame, of which each is 1
      motion.count = 3;
      motion.point = p.asDiagonal();
      for (int f = 0; f < feature.flats; ++f) motion.flat[f] = Vector3d(feature.flat.col(f)).asDiagonal();
      break;
    case Shape::Kind::half_space:
      motion.count = 1;
      motion.point.col(0) = shape.normal;
      break;
    case Shape::Kind::height_field:
      break;
  }
  return motion;
}

std::span<const char* const> size_names(const Shape& shape) {
  static constexpr const char* radius[] = {"radius"};
  static constexpr const char* radii[] = {"radius_x", "radius_y", "radius_z"};
  static constexpr const char* round[] = {"radius", "half_length"};
  static constexpr const char* box[] = {"half_side_x", "half_side_y", "half_side_z"};
  static constexpr const char* scale[] = {"scale_x", "scale_y", "scale_z"};
  static constexpr const char* offset[] = {"offset"};
  switch (shape.kind) {
    case Shape::Kind::sphere:
      return radius;
    case Shape::Kind::ellipsoid:
      return radii;
    case Shape::Kind::capsule:
    case Shape::Kind::cylinder:
    case Shape::Kind::cone:
      return round;
    case Shape::Kind::box:
      return box;
    case Shape::Kind::convex:
      return scale;
    case Shape::Kind::half_space:
      return offset;
    case Shape::Kind::height_field:
      break;
  }
  return {};
}

}  // namespace taut
