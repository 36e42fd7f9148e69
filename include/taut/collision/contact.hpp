#pragma once

#include <Eigen/Core>
#include <cmath>

namespace taut {

/// One point where two shapes touch, or nearly do.
struct Contact {
  int pair = 0;     ///< index into the scene's collision pairs
  int order = 0;    ///< when collision visits the pair: contacts come sorted by it
  int slot = 0;     ///< 0 … 3: with `pair`, the identity that survives from step to step
  int joint_1 = 0;  ///< the first body, the one n points to
  int joint_2 = 0;
  double gap = 0.0;  ///< φ: signed distance, negative in penetration
  double mu = 0.0;
  double restitution = 0.0;                             ///< Newton's e
  double compliance = 0.0;                              ///< m/N, along the normal
  Eigen::Vector3d point = Eigen::Vector3d::Zero();      ///< world; half-way between the two surfaces
  Eigen::Matrix3d frame = Eigen::Matrix3d::Identity();  ///< (t1, t2, n), world
};

/// A right-handed frame (t1, t2, n) [Duff et al. 2017]. Smooth in n on each side of n.z = 0; the world's axes for
/// n = z.
inline Eigen::Matrix3d contact_frame(const Eigen::Vector3d& n) {
  const double sign = std::copysign(1.0, n.z());
  const double a = -1.0 / (sign + n.z());
  const double b = n.x() * n.y() * a;
  Eigen::Matrix3d frame;
  frame.col(0) << 1.0 + sign * n.x() * n.x() * a, sign * b, -sign * n.x();
  frame.col(1) << b, sign + n.y() * n.y() * a, -n.y();
  frame.col(2) = n;
  return frame;
}

}  // namespace taut
