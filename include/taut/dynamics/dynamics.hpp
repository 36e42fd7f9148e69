#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <span>
#include <vector>

#include "taut/dynamics/forest.hpp"
#include "taut/dynamics/free_body.hpp"
#include "taut/dynamics/rows.hpp"

namespace taut {

/// The smooth part of a step: kinematics, mass matrix with implicit terms, and what constraints ask of them.
///
/// The mass matrix is factorized along the kinematic trees, M + diag = U D Uᵀ; the free velocity, the Delassus matrix
/// and the velocity of an impulse all come from that one factorization (docs/decisions/factorization.md). Each tree has
/// a mass matrix of its own: nothing here is dense in the size of the whole model.
class Dynamics {
 public:
  explicit Dynamics(const pinocchio::Model& model);

  /// Placements, joint Jacobians (world), mass matrix and non-linear effects of a state; of free bodies those of a
  /// step that looks at it `when`, which keep their energy and momentum.
  void update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v,
              const Instant& when = {});

  /// Non-linear effects of joints in trees at another velocity, after `update` of the same q.
  void update_nonlinear_effects(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v);

  /// Factorizes M + diag(implicit); the implicit joint terms dt·D + dt²·K act as armature. Once after `update`.
  void factorize(const pinocchio::Model& model, const ConstVectorRef& implicit);

  /// x ← (M + diag)⁻¹ x.
  void solve(const pinocchio::Model& model, VectorRef x) const;

  /// T with (M + diag)⁻¹ = Tᵀ T, dense: D^{-1/2} U⁻¹, upper triangular. Column j is non-zero on the chain of j.
  void half_inverse(Eigen::MatrixXd& T) const;

  /// T⁻¹ = U D^{1/2}.
  void half(Eigen::MatrixXd& T_inverse) const;

  /// torque += Σ Jᵀ f of forces given in the joints' frames (one per joint, the world first).
  void add_external_forces(std::span<const pinocchio::Force> forces, VectorRef torque) const;

  /// G = J (M + diag)⁻¹ Jᵀ. `G` has at least rows.rows() rows and columns; its top left corner is filled.
  void delassus(Rows& rows, Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>> G) const;

  /// The same, of which only the couples of constraints on a common tree are stored.
  void delassus(Rows& rows, BlockSparse& G);

  /// out = J v.
  void apply(const Rows& rows, const ConstVectorRef& v, VectorRef out) const;

  /// torque += Jᵀ λ.
  void apply_transpose(const Rows& rows, const ConstVectorRef& lambda, VectorRef torque) const;

  const Forest& forest() const { return forest_; }
  /// Degrees of freedom between the root and a joint, root first.
  std::span<const int> chain(int joint) const { return forest_.chain(joint); }

  /// Where the joints stand, the world first.
  const std::vector<pinocchio::SE3>& placements() const { return whole_ ? parts_[0].data.oMi : placements_; }
  /// Their velocities, in their own frames.
  std::span<const pinocchio::Motion> velocities() const {
    if (whole_) return {parts_[0].data.v.data(), parts_[0].data.v.size()};
    return velocities_;
  }
  /// One column per degree of freedom: the velocity, in the world, of what it moves.
  const pinocchio::Data::Matrix6x& columns() const { return whole_ ? parts_[0].data.J : columns_; }
  /// Coriolis, centrifugal and gravity torques.
  const Eigen::VectorXd& nonlinear_effects() const { return whole_ ? parts_[0].data.nle : nonlinear_effects_; }

 private:
  /// A tree with joints of its own. Pinocchio's `Data` is dense in its model, so that each has a small model.
  struct Part {
    int tree;
    pinocchio::Model model;  ///< unused if the tree is the whole model
    pinocchio::Data data;
  };
  const pinocchio::Model& model_of(const Part& part, const pinocchio::Model& whole) const {
    return whole_ ? whole : part.model;
  }
  void publish(const Part& part);
  /// Calls visit(dof, its ancestors and itself root first, column of U from the tree's first dof on, that dof).
  template <typename Visit>
  void for_each_column(Visit&& visit) const;
  void halve(Rows& rows) const;
  void list_neighbours(const Rows& rows);

  Forest forest_;
  bool whole_ = false;  ///< one articulated tree: its data are read in place
  std::vector<Part> parts_;
  std::vector<FreeBody> bodies_;
  std::vector<int> source_;  ///< of each tree: index into `parts_`, or −1 − index into `bodies_`
  std::vector<pinocchio::SE3> placements_;
  std::vector<pinocchio::Motion> velocities_;
  pinocchio::Data::Matrix6x columns_;
  Eigen::VectorXd nonlinear_effects_;
  Eigen::VectorXd inverse_sqrt_D_;

  // Of the sparse Delassus matrix: the constraints of each tree, and where a column is read next by those after it.
  std::vector<int> first_on_tree_, on_tree_, touched_, cursor_;
};

}  // namespace taut
