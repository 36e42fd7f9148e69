#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>

#include "taut/dynamics/instant.hpp"
#include "taut/problem/block_matrix.hpp"

namespace taut {

/// Dynamics of a tree that is one body on a free joint: everything has a closed form of fixed size, which for a pile of
/// a thousand is worth having. The numbers are those of Pinocchio's CRBA, non-linear effects and U D Uᵀ.
class FreeBody {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Vector6 = Eigen::Matrix<double, 6, 1>;

  FreeBody(int joint, int first_q, int first_dof) : joint_(joint), q_(first_q), dof_(first_dof) {}

  /// Placement, world Jacobian (its six columns), mass matrix and non-linear effects. With dt > 0 these are what keeps
  /// energy and momentum in a free step, see `midpoint_spin` and `centre_turn`.
  void update(const pinocchio::Model& model, const double* q, const double* v, const Instant& when,
              pinocchio::SE3& placement, Eigen::Ref<Matrix6> jacobian, Eigen::Ref<Vector6> nonlinear_effects);

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

/// The spin at the end of that step.
Eigen::Vector3d end_spin(const Eigen::Vector3d& omega, const Eigen::Vector3d& middle);

/// d(m × I m)/dm.
Eigen::Matrix3d gyroscopic_slope(const Eigen::Matrix3d& I, const Eigen::Vector3d& m);

/// The velocity ω × c of a centre of mass against its joint's origin turns with the body, while a step carries the
/// origin's velocity in fixed axes. For the centre to fly on as it did the origin has to make up for all of the turn,
/// before and after the look. Against ω × (ω × c), what ω × c turns by at first, that is an acceleration by
///
///   δ = ((exp(ahead ω⁺) − 1)(ω⁺ × c) − (exp(−back ω) − 1)(ω × c))/dt − ω × (ω × c),   back = dt − ahead
Eigen::Vector3d centre_turn(const Eigen::Vector3d& omega, const Eigen::Vector3d& end, const Eigen::Vector3d& c,
                            const Instant& when);

/// The slopes of δ.
struct CentreTurnSlopes {
  Eigen::Matrix3d omega, end, c;
};
CentreTurnSlopes centre_turn_slopes(const Eigen::Vector3d& omega, const Eigen::Vector3d& end, const Eigen::Vector3d& c,
                                    const Instant& when);

/// Of the non-linear effects of a free body, V ×* I V with those of a step that looks `when`, in V.
FreeBody::Matrix6 free_body_slope(const pinocchio::Inertia& inertia, const FreeBody::Vector6& v, const Instant& when);

}  // namespace taut
