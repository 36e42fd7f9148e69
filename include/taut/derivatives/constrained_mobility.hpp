#pragma once

#include "taut/derivatives/response.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// What forces do to the velocity of a step once the impulses have answered, and what the constraints' own motion does:
///
///   dv⁺ = F (dt df) + Π⊥ dv − K drows,      F = Π⊥ M̃⁻¹,   Π⊥ = I − K W J,   K = M̃⁻¹ Jᵀ Z A⁻.
///
/// Everything is made in the half-way coordinates of M̃⁻¹ = Tᵀ T, where G = H Hᵀ with H = J Tᵀ: rows of the first group
/// become orthonormal ones, Q = L⁻¹ H₁.
class ConstrainedMobility {
 public:
  /// `conditions`: rows that `response` has turned are seen by these rows (each a column of length nv) instead of J.
  void update(const Dynamics& dynamics, const Rows& rows, const ImpulseResponse& response,
              const Eigen::MatrixXd& conditions);

  Eigen::MatrixXd& F() { return F_; }

  /// What Π sees, nv × unknowns: Π⊥ C = C − `push()` (Cᵀ `see()`)ᵀ.
  Eigen::MatrixXd& push() { return push_; }
  const Eigen::MatrixXd& see() const { return see_; }

  /// dv −= K W drows; `drows_transposed` is nv × rows, of all rows of the step.
  void subtract_rows(const ImpulseResponse& response, const Eigen::MatrixXd& drows_transposed, Eigen::MatrixXd& dv);

 private:
  Eigen::MatrixXd T_, T_transposed_, T_inverse_, F_;
  Eigen::MatrixXd push_;  ///< nv × unknowns: Tᵀ [Q, E_z]ᵀ, what impulses do
  Eigen::MatrixXd see_;   ///< nv × unknowns: T⁻¹ [Q, S⁻¹ E_w]ᵀ, what they look at
  Eigen::MatrixXd W_, Y_, S_inverse_, work_;
};

}  // namespace taut
