#pragma once

#include <pinocchio/spatial.hpp>

#include <Eigen/Geometry>
#include <optional>
#include <stdexcept>
#include <string>

#include "arrays.hpp"

// A placement from a position and a quaternion (x, y, z, w), as users give them.
namespace taut::python {

inline pinocchio::SE3 placement(const Eigen::Vector3d& position, const Eigen::Vector4d& quaternion,
                                const std::string& suffix = "") {
  if (!position.allFinite()) throw std::invalid_argument("position" + suffix + " is not finite");
  if (!(std::abs(quaternion.norm() - 1.0) <= 1e-6)) {
    throw std::invalid_argument("quaternion" + suffix + " (x, y, z, w) has norm " + std::to_string(quaternion.norm()) +
                                ", it must be 1");
  }
  return {Eigen::Quaterniond(quaternion).normalized().toRotationMatrix(), position};
}

inline pinocchio::SE3 placement(const ArrayLike& position, const ArrayLike& quaternion) {
  return placement(Eigen::Vector3d(position.vector("position", 3)),
                   Eigen::Vector4d(quaternion.vector("quaternion", 4)));
}

inline pinocchio::SE3 placement_or_identity(const std::optional<ArrayLike>& position,
                                            const std::optional<ArrayLike>& quaternion, const std::string& suffix) {
  Eigen::Vector3d where = Eigen::Vector3d::Zero();
  Eigen::Vector4d turn = Eigen::Vector4d::UnitW();
  if (position) where = position->vector(("position" + suffix).c_str(), 3);
  if (quaternion) turn = quaternion->vector(("quaternion" + suffix).c_str(), 4);
  return placement(where, turn, suffix);
}

}  // namespace taut::python
