#include "taut/collision/shape.hpp"

#include <coal/hfield.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace taut {

namespace {

using Eigen::Vector3d;

void require_positive(double value, const char* what, const char* name) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw std::invalid_argument(std::string("shape '") + name + "': " + what + " is " + std::to_string(value) +
                                ", it must be positive and finite");
  }
}

// A flat or needle-like mesh has no inside: GJK's simplices degenerate on it.
void require_solid(const std::vector<Vector3d>& vertices, const char* name) {
  Vector3d mean = Vector3d::Zero();
  for (const Vector3d& v : vertices) mean += v / static_cast<double>(vertices.size());
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const Vector3d& v : vertices) spread += (v - mean) * (v - mean).transpose();
  const Vector3d eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(spread).eigenvalues();
  if (!(eigenvalues[0] > 1e-16 * eigenvalues[2])) {
    throw std::invalid_argument(std::string("shape '") + name + "': the convex mesh is flat");
  }
}

template <typename Round>
void set_round(Shape& shape, const Round& round, const char* name) {
  require_positive(round.radius, "radius", name);
  require_positive(round.halfLength, "half length", name);
  shape.size = {round.radius, round.radius, round.halfLength};
}

// The ball around the local bounding box's centre: exact for all but meshes, where the vertices tell.
void set_ball(Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::sphere:
      shape.radius = shape.size.x();
      break;
    case Shape::Kind::ellipsoid:
      shape.radius = shape.size.maxCoeff();
      break;
    case Shape::Kind::capsule:
      shape.radius = shape.size.x() + shape.size.z();
      break;
    case Shape::Kind::cone:
    case Shape::Kind::cylinder:
      shape.radius = std::hypot(shape.size.x(), shape.size.z());
      break;
    case Shape::Kind::box:
      shape.radius = shape.size.norm();
      break;
    case Shape::Kind::convex: {
      Vector3d low = shape.vertices->front(), high = low;
      for (const Vector3d& v : *shape.vertices) low = low.cwiseMin(v), high = high.cwiseMax(v);
      shape.center = 0.5 * (low + high);
      for (const Vector3d& v : *shape.vertices) shape.radius = std::max(shape.radius, (v - shape.center).norm());
      break;
    }
    case Shape::Kind::half_space:
      shape.radius = std::numeric_limits<double>::infinity();
      break;
    case Shape::Kind::height_field:
      shape.center = shape.geometry->aabb_local.center();
      shape.radius = (shape.geometry->aabb_local.max_ - shape.center).norm();
      break;
  }
}

// Coal makes a field without heights, and ends the process where it is asked for its bounds.
void require_field(const Eigen::MatrixXd& heights, const char* name) {
  if (heights.rows() < 2 || heights.cols() < 2) {
    throw std::invalid_argument(std::string("shape '") + name + "': a height field of " +
                                std::to_string(heights.rows()) + " x " + std::to_string(heights.cols()) +
                                " heights, it needs 2 x 2");
  }
  if (!heights.allFinite()) throw std::invalid_argument(std::string("shape '") + name + "': a height is not finite");
}

}  // namespace

Shape make_shape(const coal::CollisionGeometry& geometry, const char* name) {
  Shape shape;
  shape.geometry = &geometry;
  switch (geometry.getNodeType()) {
    case coal::GEOM_SPHERE: {
      const double r = static_cast<const coal::Sphere&>(geometry).radius;
      require_positive(r, "radius", name);
      shape.kind = Shape::Kind::sphere;
      shape.size.setConstant(r);
      break;
    }
    case coal::GEOM_ELLIPSOID:
      shape.kind = Shape::Kind::ellipsoid;
      shape.size = static_cast<const coal::Ellipsoid&>(geometry).radii;
      for (const double r : shape.size) require_positive(r, "radius", name);
      break;
    case coal::GEOM_CAPSULE:
      shape.kind = Shape::Kind::capsule;
      set_round(shape, static_cast<const coal::Capsule&>(geometry), name);
      break;
    case coal::GEOM_CONE:
      shape.kind = Shape::Kind::cone;
      set_round(shape, static_cast<const coal::Cone&>(geometry), name);
      break;
    case coal::GEOM_CYLINDER:
      shape.kind = Shape::Kind::cylinder;
      set_round(shape, static_cast<const coal::Cylinder&>(geometry), name);
      break;
    case coal::GEOM_BOX:
      shape.kind = Shape::Kind::box;
      shape.size = static_cast<const coal::Box&>(geometry).halfSide;
      for (const double side : shape.size) require_positive(side, "half side", name);
      break;
    case coal::GEOM_CONVEX: {
      shape.kind = Shape::Kind::convex;
      const auto& convex = static_cast<const coal::ConvexBase&>(geometry);
      if (!convex.points || convex.points->size() < 4) {
        throw std::invalid_argument(std::string("shape '") + name + "': a convex mesh needs at least 4 vertices, has " +
                                    std::to_string(convex.points ? convex.points->size() : 0));
      }
      shape.vertices = convex.points.get();
      for (const Vector3d& v : *shape.vertices) {
        if (!v.allFinite()) throw std::invalid_argument(std::string("shape '") + name + "': a vertex is not finite");
      }
      require_solid(*shape.vertices, name);
      break;
    }
    case coal::GEOM_HALFSPACE:
    case coal::GEOM_PLANE: {  // a plane is two-sided in Coal; taut takes the side its normal points to as free
      shape.kind = Shape::Kind::half_space;
      if (geometry.getNodeType() == coal::GEOM_PLANE) {
        const auto& plane = static_cast<const coal::Plane&>(geometry);
        shape.normal = plane.n, shape.offset = plane.d;
      } else {
        const auto& half = static_cast<const coal::Halfspace&>(geometry);
        shape.normal = half.n, shape.offset = half.d;
      }
      if (!shape.normal.allFinite() || !std::isfinite(shape.offset)) {
        throw std::invalid_argument(std::string("shape '") + name + "': the half-space is not finite");
      }
      break;
    }
    case coal::HF_AABB:
      require_field(static_cast<const coal::HeightField<coal::AABB>&>(geometry).getHeights(), name);
      shape.kind = Shape::Kind::height_field;
      break;
    case coal::HF_OBBRSS:
      require_field(static_cast<const coal::HeightField<coal::OBBRSS>&>(geometry).getHeights(), name);
      shape.kind = Shape::Kind::height_field;
      break;
    default:
      throw std::invalid_argument(std::string("shape '") + name +
                                  "': taut collides spheres, ellipsoids, capsules, cones, cylinders, boxes, convex "
                                  "meshes, half-spaces and height fields; this is none of them (take the convex hull "
                                  "of a mesh)");
  }
  const auto* base = dynamic_cast<const coal::ShapeBase*>(&geometry);
  if (base && base->getSweptSphereRadius() > 0.0) {
    throw std::invalid_argument(std::string("shape '") + name + "': a swept-sphere radius of " +
                                std::to_string(base->getSweptSphereRadius()) + " is not supported");
  }
  set_ball(shape);
  return shape;
}

Vector3d support(const Shape& shape, const Vector3d& d) {
  switch (shape.kind) {
    case Shape::Kind::sphere:
      return shape.size.x() * d.normalized();
    case Shape::Kind::ellipsoid: {
      const Vector3d scaled = shape.size.cwiseProduct(d);
      return shape.size.cwiseProduct(scaled) / std::max(scaled.norm(), 1e-300);
    }
    case Shape::Kind::capsule:
      return shape.size.x() * d.normalized() + Vector3d(0, 0, std::copysign(shape.size.z(), d.z()));
    case Shape::Kind::cone:
    case Shape::Kind::cylinder: {
      const double radial = d.head<2>().norm();
      Vector3d point(0.0, 0.0, std::copysign(shape.size.z(), d.z()));
      const Eigen::Vector2d rim =
          radial > 0.0 ? Eigen::Vector2d(shape.size.x() / radial * d.head<2>()) : Eigen::Vector2d(shape.size.x(), 0.0);
      if (shape.kind == Shape::Kind::cone) {  // apex at +half length, base rim at −half length
        const bool apex = d.z() * shape.size.z() > rim.dot(d.head<2>()) - d.z() * shape.size.z();
        point.z() = apex ? shape.size.z() : -shape.size.z();
        if (apex) return point;
      }
      point.head<2>() = rim;
      return point;
    }
    case Shape::Kind::box:
      return {std::copysign(shape.size.x(), d.x()), std::copysign(shape.size.y(), d.y()),
              std::copysign(shape.size.z(), d.z())};
    case Shape::Kind::convex: {
      const auto& vertices = *shape.vertices;
      std::size_t best = 0;
      double height = vertices[0].dot(d);
      for (std::size_t i = 1; i < vertices.size(); ++i) {
        const double h = vertices[i].dot(d);
        if (h > height) height = h, best = i;
      }
      return vertices[best];
    }
    case Shape::Kind::half_space:
    case Shape::Kind::height_field:
      break;
  }
  return shape.center;
}

double support_height(const Shape& shape, const Vector3d& d) {
  switch (shape.kind) {
    case Shape::Kind::sphere:
      return shape.size.x();
    case Shape::Kind::ellipsoid:
      return shape.size.cwiseProduct(d).norm();
    case Shape::Kind::capsule:
      return shape.size.x() + shape.size.z() * std::abs(d.z());
    case Shape::Kind::cylinder:
      return shape.size.x() * d.head<2>().norm() + shape.size.z() * std::abs(d.z());
    case Shape::Kind::box:
      return shape.size.dot(d.cwiseAbs());
    default:
      return d.dot(support(shape, d));
  }
}

}  // namespace taut
