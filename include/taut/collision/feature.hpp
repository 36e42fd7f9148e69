#pragma once

#include "taut/collision/shape.hpp"

namespace taut {

/// The part of a shape's surface that a witness point lies on, as the support in direction d sees it: a vertex, an
/// edge, a face, a round surface, or a line of one (the side of a cylinder).
///
/// The point is free to move along `flat`, whose directions are at right angles to d; and it moves by `curvature` δd
/// when d turns. A vertex has neither. Together they describe every kind of shape that taut collides, and are all that
/// derivatives of collision need to know of it.
struct Feature {
  Eigen::Vector3d point = Eigen::Vector3d::Zero();                         ///< in the shape's frame
  Eigen::Matrix<double, 3, 2> flat = Eigen::Matrix<double, 3, 2>::Zero();  ///< orthonormal columns
  int flats = 0;                                                           ///< how many of them count
  Eigen::Matrix3d curvature = Eigen::Matrix3d::Zero();                     ///< d support / d d at unit d, symmetric
};

/// The feature of the unit direction d nearest to `near`; both in the shape's frame. Directions closer than `angle`
/// (rad) to that of an edge or a face count as its own. Not for height fields.
Feature feature_along(const Shape& shape, const Eigen::Vector3d& d, const Eigen::Vector3d& near, double angle = 1e-6);

}  // namespace taut
