#pragma once

#include <coal/shape/geometric_shapes.h>

#include <Eigen/Geometry>
#include <memory>

#include "bytes.hpp"
#include "taut/collision/patch.hpp"
#include "taut/collision/shape.hpp"

/// Two shapes at poses from bytes: often square to each other, at touch, or deep.
struct Couple {
  std::unique_ptr<coal::CollisionGeometry> geometries[2];
  taut::Shape shapes[2];
  taut::Pose poses[2];
  double size = 1.0;  ///< of the larger one

  explicit Couple(Bytes& bytes) {
    const double scale = bytes.decades(-2, 1);
    for (int i = 0; i < 2; ++i) {
      const double a = scale * bytes.decades(-1.5, 0), b = scale * bytes.decades(-1.5, 0),
                   c = scale * bytes.decades(-1.5, 0);
      geometries[i] = make(bytes.below(6), a, b, c);
      geometries[i]->computeLocalAABB();
      shapes[i] = taut::make_shape(*geometries[i], "fuzz");
      Eigen::Quaterniond turn = Eigen::Quaterniond::Identity();
      if (bytes.below(3) > 0) turn = Eigen::Quaterniond(bytes.unit(), bytes.unit(), bytes.unit(), bytes.unit());
      if (!(turn.norm() > 1e-3)) turn = Eigen::Quaterniond::Identity();
      poses[i].rotation = turn.normalized().toRotationMatrix();
      poses[i].translation = 2.0 * scale * Eigen::Vector3d(bytes.unit(), bytes.unit(), bytes.unit());
      if (bytes.below(8) == 0) poses[i].translation.setZero();
    }
    size = 3.0 * scale;
  }

  static std::unique_ptr<coal::CollisionGeometry> make(int kind, double a, double b, double c) {
    switch (kind) {
      case 0:
        return std::make_unique<coal::Sphere>(a);
      case 1:
        return std::make_unique<coal::Box>(2 * a, 2 * b, 2 * c);
      case 2:
        return std::make_unique<coal::Capsule>(a, 2 * b);
      case 3:
        return std::make_unique<coal::Cylinder>(a, 2 * b);
      case 4:
        return std::make_unique<coal::Cone>(a, 2 * b);
      default:
        return std::make_unique<coal::Ellipsoid>(a, b, c);
    }
  }
};
