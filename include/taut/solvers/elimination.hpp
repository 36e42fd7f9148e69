#pragma once

#include <vector>

#include "taut/math/dense.hpp"
#include "taut/solvers/sparse_system.hpp"

namespace taut {

/// A problem without its bilateral rows f: the others o, on a mechanism that keeps its joints.
///
///   c_o = (S + R_oo) λ_o + s,   S = G_oo − G_of (G + R)_ff⁺ G_fo,   λ_f = −(G + R)_ff⁺ (g_f + G_fo λ_o)
///
/// Joints are equations: they have no modes to be found, and sweeps spend themselves on them when they are many or
/// couple bodies of very different mass [KL, Sec. VII-B]. What is left is the contact problem of the same machine in
/// reduced coordinates. Redundant rows, which every planar loop in space has, leave pivots that are nothing but
/// rounding: these are dropped and their impulses stay as they are, which changes no velocity.
class Elimination {
 public:
  void reserve(int rows);

  /// Factors the bilateral rows. False if there are none, or too many that all meet.
  bool factor(const Problem& problem);

  /// x, a right-hand side of the bilateral rows, made consistent: where rows repeat others, what the others say.
  void reconcile(VectorRef x);

  /// x_f ← (G + R)_ff⁺ x_f, zero in redundant rows.
  void solve_joints(VectorRef x);

  /// Forms S after `factor`. False if there are so many other rows that a sparse problem is better left as it is.
  bool reduce(const Problem& problem);

  /// The reduced problem as seen from (λ, c), whose joints need not be kept yet, with λ_o in `impulse()`.
  void restrict_from(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity);
  Problem reduced() const;
  VectorView impulse() { return {lambda_.data(), static_cast<Eigen::Index>(others_.size())}; }
  VectorView velocity() { return {velocity_.data(), static_cast<Eigen::Index>(others_.size())}; }
  /// `impulse()` into λ, with the joint impulses that keep the joints.
  void recover(const Problem& problem, VectorRef lambda);

  /// The largest velocity in c of a bilateral row; those that were dropped do not count. They repeat the others: where
  /// only they are not kept, no impulse whatsoever keeps all.
  double joint_residual(const ConstVectorRef& velocity) const;

 private:
  MatrixView L() { return {matrix_.data(), height_, height_, Eigen::OuterStride<>(height_)}; }
  void factor_dense(const Problem& problem);
  bool factor_sparse(const Problem& problem);
  void reduce_sparse(const Problem& problem);
  void take_reduced(const Problem& problem, int first);

  bool sparse_ = false;
  std::vector<int> joints_, rest_, others_;  ///< rows of the problem: bilateral, not so, and those of the latter kept
  std::vector<int> place_;                   ///< of a bilateral row in `joints_`
  std::vector<Block> blocks_;                ///< of the reduced problem
  int height_ = 0;
  std::vector<double> matrix_;  ///< dense: L of the joints, L_of under it and then S; sparse: S alone
  SparseSystem system_;         ///< sparse: the factors of the joints
  std::vector<double> least_;   ///< of each row, the pivot that still counts
  std::vector<double> S_, s_, R_, lambda_, velocity_;
  std::vector<double> forward_, change_, work_;
};

}  // namespace taut
