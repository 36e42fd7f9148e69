#pragma once

#include <array>
#include <span>

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
/// (rad) to that of an edge or a face count as its own. `vertex` of a mesh is where the search starts and what it
/// found. Not for height fields.
Feature feature_along(const Shape& shape, const Eigen::Vector3d& d, const Eigen::Vector3d& near, int& vertex,
                      double angle = 1e-6);

/// What a shape's sizes, those of `size_names`, do to a feature at fixed d.
struct SizeMotion {
  int count = 0;                                                                          ///< of sizes
  Eigen::Matrix3d point = Eigen::Matrix3d::Zero();                                        ///< a column per size
  std::array<Eigen::Matrix3d, 2> flat{Eigen::Matrix3d::Zero(), Eigen::Matrix3d::Zero()};  ///< of each flat direction
};
SizeMotion size_motion(const Shape& shape, const Feature& feature, const Eigen::Vector3d& d);

/// The sizes of a shape, at most three: the members Coal gives them, and for a mesh scales along the axes of its frame.
std::span<const char* const> size_names(const Shape& shape);

}  // namespace taut
