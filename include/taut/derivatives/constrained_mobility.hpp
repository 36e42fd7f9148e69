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

  const Eigen::MatrixXd& F() const { return F_; }

  /// columns ← Π⊥ columns.
  void project(Eigen::MatrixXd& columns);

  /// dv −= K W drows; `drows_transposed` is nv × rows, of all rows of the step.
  void subtract_rows(const ImpulseResponse& response, const Eigen::MatrixXd& drows_transposed, Eigen::MatrixXd& dv);

 private:
  Eigen::MatrixXd T_, F_;
  Eigen::MatrixXd push_;  ///< nv × unknowns: Tᵀ [Q, E_z]ᵀ, what impulses do
  Eigen::MatrixXd see_;   ///< nv × unknowns: T⁻¹ [Q, S⁻¹ E_w]ᵀ, what they look at
  Eigen::MatrixXd W_, Y_, work_;
};

}  // namespace taut
