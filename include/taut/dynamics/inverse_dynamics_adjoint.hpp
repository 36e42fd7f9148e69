#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <span>
#include <vector>

#include "taut/dynamics/dynamics.hpp"
#include "taut/dynamics/spatial.hpp"

namespace taut {

/// The adjoint of τ = M(q) a + b(q, v) − Σ Jᵀ f: derivatives of wᵀ τ for one w, in one sweep out to the leaves and one
/// back, without the matrices of `InverseDynamicsDerivatives`, at a tenth of their price.
///
/// In the world, with V, A, W the twists of a body at v, its acceleration and its twist at w, wᵀ τ = Σ W · (I A +
/// V ×* I V − f); moving joint j turns all that hangs on it, which leaves only what its parent has:
///
///   ∂/∂q_j = −S_j · (W_λ ×* F + A_λ ×* P + V_λ ×* (D − V_λ ×* P)),   ∂/∂v_j = S_j · (D − (V_λ + V_j) ×* P)
///
/// with F, P, D the sums beyond j of the bodies' forces, of I W and of V ×* I W − W ×* I V − I (V × W).
class InverseDynamicsAdjoint {
 public:
  explicit InverseDynamicsAdjoint(const pinocchio::Model& model);

  /// q̄ −= ∂(wᵀ τ)/∂q and v̄ −= ∂(wᵀ τ)/∂v at velocity `v`, of free bodies at `v_bodies`, in a step that looks
  /// `when`. `forces`: per joint, the world first, in its frame. `dynamics` stands at q.
  void subtract(const pinocchio::Model& model, const Dynamics& dynamics, const ConstVectorRef& v,
                const ConstVectorRef& v_bodies, const ConstVectorRef& a, std::span<const pinocchio::Force> forces,
                const ConstVectorRef& w, const Instant& when, VectorRef q_bar, VectorRef v_bar);

  // Of the last call, per joint, in the world.
  std::span<const Vector6> twists() const { return V_; }
  std::span<const Vector6> accelerations() const { return A_; }  ///< less gravity
  std::span<const Vector6> virtual_twists() const { return W_; }
  bool is_free_body(int joint) const { return is_body_[static_cast<std::size_t>(joint)]; }
  /// Σ I W of everything: −∂(wᵀ τ)/∂g.
  const Vector6& momentum() const { return P_[0]; }

 private:
  std::vector<char> is_body_;
  std::vector<Vector6> V_, A_, W_, F_, P_, D_;
};

}  // namespace taut
