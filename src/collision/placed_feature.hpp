#pragma once

#include <pinocchio/spatial.hpp>

#include "implicit.hpp"
#include "taut/collision/distance.hpp"

namespace taut {

/// A shape's feature seen from a contact: the contact frame F = (t1, t2, n) in the shape's axes, and what of the
/// feature lies in the tangent plane.
struct PlacedFeature {
  Feature local;
  Eigen::Matrix3d F;  ///< columns t1, t2, n in the shape's axes
  TangentFeature tangent;

  PlacedFeature(const pinocchio::SE3& oM, const Eigen::Matrix3d& frame) : F(oM.rotation().transpose() * frame) {}

  /// `side` is the sign of the support's direction along n: −1 for the first shape, 1 for the second.
  PlacedFeature(const Shape& shape, const pinocchio::SE3& oM, const Eigen::Matrix3d& frame, double side,
                const Eigen::Vector3d& near, int& vertex, double angle = 1e-6)
      : PlacedFeature(oM, frame) {
    local = feature_along(shape, side * F.col(2), oM.actInv(near), vertex, angle);
    const auto T = F.leftCols<2>();
    tangent.flat.noalias() = T.transpose() * local.flat;
    tangent.flats = local.flats;
    bend(local.curvature);
  }

  void bend(const Eigen::Matrix3d& curvature) {
    const auto T = F.leftCols<2>();
    tangent.curvature.noalias() = T.transpose() * (curvature * T);
  }
};

/// Below this share of the smaller radius a curvature is none: two corners that touch.
inline double least_curvature(const Shape& first, const Shape& second, double share = 1e-6) {
  return share * std::min(first.radius, second.radius);
}

}  // namespace taut
