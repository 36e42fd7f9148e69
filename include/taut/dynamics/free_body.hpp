#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>

#include "taut/problem/block_matrix.hpp"

namespace taut {

/// Dynamics of a tree that is one body on a free joint: everything has a closed form of fixed size, which for a pile of
/// a thousand is worth having. The numbers are those of Pinocchio's CRBA, non-linear effects and U D Uᵀ.
class FreeBody {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  FreeBody(int joint, int first_q, int first_dof) : joint_(joint), q_(first_q), dof_(first_dof) {}

  /// Placement, world Jacobian (its six columns), mass matrix and non-linear effects. The gyroscopic torque is that of
  /// the middle of a free step of length dt, see `midpoint_spin`.
  void update(const pinocchio::Model& model, const double* q, const double* v, double dt, pinocchio::SE3& placement,
              Eigen::Ref<Matrix6> jacobian, Eigen::Ref<Vector6> nonlinear_effects);

  /// M + diag(implicit) = U D Uᵀ; once after `update`.
  void factorize(const double* implicit, double* inverse_sqrt_D);

  /// x ← (M + diag)⁻¹ x.
  void solve(double* x) const;

  int joint() const { return joint_; }
  int first_q() const { return q_; }
  int first_dof() const { return dof_; }
  /// U, unit upper triangular; the rest of the matrix means nothing.
  const Matrix6& U() const { return M_; }

 private:
  int joint_, q_, dof_;
  Matrix6 M_ = Matrix6::Identity();  ///< after `factorize`: U in its upper triangle
  Vector6 inverse_D_ = Vector6::Ones();
};

/// The spin in the middle of a torque-free step that begins with `omega`: (ω + ω⁺)/2 with
///
///   I (ω⁺ − ω) = −dt ω_m × I ω_m
///
/// which keeps energy and the size of the momentum. Taken at ω instead, the gyroscopic torque of a tumbling body would
/// feed it in every step, exponentially in the end. dt = 0 gives ω.
///
/// Zero where none is found, for a body that turns by more than half a turn in dt: no gyroscopic torque then, which
/// keeps the energy, too.
Eigen::Vector3d midpoint_spin(const Eigen::Matrix3d& inertia, const Eigen::Vector3d& omega, double dt);

/// d(m × I m)/dm.
Eigen::Matrix3d gyroscopic_slope(const Eigen::Matrix3d& I, const Eigen::Vector3d& m);

/// Of the non-linear effects of a free body, V ×* I V with the gyroscopic torque of the middle of a step, in V.
FreeBody::Matrix6 free_body_slope(const pinocchio::Inertia& inertia, const FreeBody::Vector6& v, double dt);

}  // namespace taut
