#pragma once

#include <pinocchio/spatial.hpp>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace taut {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

// Twists are (linear, angular) and wrenches (force, moment), as Pinocchio's; plain vectors, which its types are slow to
// become.

/// V × other, of twists.
inline Vector6 cross(const Vector6& V, const Vector6& other) {
  const auto v = V.head<3>(), w = V.tail<3>();
  Vector6 result;
  result << w.cross(other.head<3>()) + v.cross(other.tail<3>()), w.cross(other.tail<3>());
  return result;
}

/// V ×* wrench = −(V ×)ᵀ wrench.
inline Vector6 cross_dual(const Vector6& V, const Vector6& wrench) {
  const auto v = V.head<3>(), w = V.tail<3>();
  Vector6 result;
  result << w.cross(wrench.head<3>()), v.cross(wrench.head<3>()) + w.cross(wrench.tail<3>());
  return result;
}

/// V × as a matrix.
inline Matrix6 twist_cross(const Vector6& V) {
  Matrix6 matrix = Matrix6::Zero();
  matrix.topLeftCorner<3, 3>() = matrix.bottomRightCorner<3, 3>() = pinocchio::skew(Eigen::Vector3d(V.tail<3>()));
  matrix.topRightCorner<3, 3>() = pinocchio::skew(Eigen::Vector3d(V.head<3>()));
  return matrix;
}

/// I V.
inline Vector6 apply(const pinocchio::Inertia& inertia, const Vector6& V) {
  const Eigen::Vector3d& c = inertia.lever();
  const Eigen::Vector3d f = inertia.mass() * (V.head<3>() - c.cross(V.tail<3>()));
  Vector6 result;
  result << f, inertia.inertia() * Eigen::Vector3d(V.tail<3>()) + c.cross(f);
  return result;
}

}  // namespace taut
