#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace taut {

// Second-order cones of frictional contact, in the component order (t1, t2, n):
//
//   K_μ = { |x_t| ≤ μ x_n }        impulses Coulomb allows                    [CB, eq. (10)]
//   K_μ* = { μ |x_t| ≤ x_n }       its dual: corrected velocities
//
// μ = 0 is legal everywhere: K_0 is the half line of normal impulses and K_0* the half space x_n ≥ 0.

/// Nearest point of the disk |x| ≤ radius.
inline Eigen::Vector2d project_onto_disk(const Eigen::Vector2d& x, double radius) {
  const double norm2 = x.squaredNorm();
  if (norm2 <= radius * radius) return x;
  return x * (radius / std::sqrt(norm2));
}

/// Nearest point of K_μ.
inline Eigen::Vector3d project_onto_cone(const Eigen::Vector3d& x, double mu) {
  const double tangential = x.head<2>().norm();
  const double height = x[2] + mu * tangential;
  if (height <= 0.0) return Eigen::Vector3d::Zero();  // x lies in the polar cone −K_μ*; asked first for μ = 0
  if (tangential <= mu * x[2]) return x;
  const double normal = height / (1.0 + mu * mu);
  const double shrink = mu * normal / tangential;  // tangential > 0: on the axis one of the two cases above held
  return {shrink * x[0], shrink * x[1], normal};
}

/// Nearest point of K_μ*, by Moreau's decomposition x = P_{K*}(x) − P_K(−x).
inline Eigen::Vector3d project_onto_dual_cone(const Eigen::Vector3d& x, double mu) {
  return x + project_onto_cone(-x, mu);
}

/// A generalized Jacobian of `project_onto_cone`; the derivative wherever there is one. Symmetric.
inline Eigen::Matrix3d cone_projection_derivative(const Eigen::Vector3d& x, double mu) {
  const double tangential = x.head<2>().norm();
  const double height = x[2] + mu * tangential;
  if (height <= 0.0) return Eigen::Matrix3d::Zero();
  if (tangential <= mu * x[2]) return Eigen::Matrix3d::Identity();

  // P(x) = normal · (μ u, 1) with u = x_t/|x_t|: the first term moves along the generator of the cone, the second
  // turns it.
  const Eigen::Vector2d u = x.head<2>() / tangential;
  const double share = 1.0 / (1.0 + mu * mu);
  const Eigen::Vector3d generator(mu * u[0], mu * u[1], 1.0);
  const Eigen::Vector2d side(-u[1], u[0]);
  Eigen::Matrix3d derivative = share * generator * generator.transpose();
  derivative.topLeftCorner<2, 2>() += (mu * height * share / tangential) * side * side.transpose();
  return derivative;
}

/// De Saxcé's correction Γ(c, μ) = (0, 0, μ |c_t|), which turns Signorini and Coulomb into one complementarity
/// condition  K_μ ∋ λ ⊥ c + Γ(c, μ) ∈ K_μ*                                   [CB, eqs. (14)-(15)].
inline Eigen::Vector3d de_saxce(const Eigen::Vector3d& c, double mu) { return {0.0, 0.0, mu * c.head<2>().norm()}; }

}  // namespace taut
