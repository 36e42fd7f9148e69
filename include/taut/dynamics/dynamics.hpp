#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <span>
#include <vector>

#include "taut/dynamics/rows.hpp"

namespace taut {

/// The smooth part of a step: kinematics, mass matrix with implicit terms, and what constraints ask of them.
///
/// The mass matrix is factorized along the kinematic tree, M + diag = U D Uᵀ; the free velocity, the Delassus matrix
/// and the velocity of an impulse all come from that one factorization (docs/decisions/factorization.md).
class Dynamics {
 public:
  explicit Dynamics(const pinocchio::Model& model);

  /// Placements, joint Jacobians (world), mass matrix and non-linear effects of a state.
  void update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v);

  /// Factorizes M + diag(implicit); the implicit joint terms dt·D + dt²·K act as armature.
  void factorize(const pinocchio::Model& model, const ConstVectorRef& implicit);

  /// x ← (M + diag)⁻¹ x.
  void solve(const pinocchio::Model& model, VectorRef x) const;

  /// torque += Σ Jᵀ f of forces given in the joints' frames (one per joint, the world first).
  void add_external_forces(std::span<const pinocchio::Force> forces, VectorRef torque) const;

  /// G = J (M + diag)⁻¹ Jᵀ. `G` has at least rows.rows() rows and columns; its top left corner is filled.
  void delassus(Rows& rows, Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>> G) const;

  /// out = J v.
  void apply(const Rows& rows, const ConstVectorRef& v, VectorRef out) const;

  /// torque += Jᵀ λ.
  void apply_transpose(const Rows& rows, const ConstVectorRef& lambda, VectorRef torque) const;

  /// Degrees of freedom between the root and a joint, root first.
  std::span<const int> chain(int joint) const {
    return {dofs_.data() + first_[joint], dofs_.data() + first_[joint + 1]};
  }

  /// How many of them two joints share.
  int common(int joint_1, int joint_2) const { return common_[static_cast<std::size_t>(joint_1) * joints_ + joint_2]; }

  const pinocchio::Data& data() const { return data_; }

 private:
  pinocchio::Data data_;
  int joints_;
  std::vector<int> dofs_, first_;
  std::vector<std::uint16_t> common_;
  Eigen::VectorXd inverse_sqrt_D_;
};

}  // namespace taut
