#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace taut {

/// The set a block of impulses lives in. Every block obeys  set ∋ λ ⊥ c + Γ(c) ∈ dual set  (docs/theory.md, "Sets").
enum class SetKind : std::uint8_t {
  free,      ///< bilateral: λ ∈ Rⁿ, c = 0
  positive,  ///< a joint limit: λ ≥ 0, c ≥ 0, λ c = 0
  interval,  ///< dry joint friction: λ ∈ [−b, b], sliding (c ≠ 0) only at the bound that opposes it
  cone,      ///< frictional contact (t1, t2, n): Signorini and Coulomb
};

/// One constraint: rows [start, start + size) of the problem.
struct Block {
  SetKind kind = SetKind::cone;
  int start = 0;
  int size = 3;        ///< cone 3, positive and interval 1, free any
  double mu = 0.0;     ///< cone: coefficient of friction, ≥ 0
  double bound = 0.0;  ///< interval: b ≥ 0, an impulse
};

using ConstMatrixRef = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using ConstVectorRef = Eigen::Ref<const Eigen::VectorXd>;
using VectorRef = Eigen::Ref<Eigen::VectorXd>;

/// A contact problem as plain data: find λ such that every block obeys its set, with
///
///   c = (G + diag R) λ + g          [CB, eq. (15)], [KL, Sec. V]
///
/// A view: whoever makes it owns the memory. λ is an impulse (N s), c and g are velocities (m/s).
struct Problem {
  ConstMatrixRef G;               ///< Delassus matrix J M⁻¹ Jᵀ, symmetric, positive semi-definite
  ConstVectorRef g;               ///< free velocity of the rows, bias included
  ConstVectorRef R;               ///< compliance of each row, ≥ 0
  std::span<const Block> blocks;  ///< in row order, without gaps

  int rows() const { return static_cast<int>(g.size()); }
  int size() const { return static_cast<int>(blocks.size()); }
};

}  // namespace taut
