#pragma once

#include <span>

#include "taut/problem/block_matrix.hpp"

namespace taut {

/// A contact problem as plain data: find λ such that every block obeys its set, with
///
///   c = (G + diag R) λ + g          [CB, eq. (15)], [KL, Sec. V]
///
/// A view: whoever makes it owns the memory. λ is an impulse (N s), c and g are velocities (m/s).
struct Problem {
  BlockMatrix G;                  ///< Delassus matrix J M⁻¹ Jᵀ, symmetric, positive semi-definite
  ConstVectorRef g;               ///< free velocity of the rows, bias included
  ConstVectorRef R;               ///< compliance of each row, ≥ 0
  std::span<const Block> blocks;  ///< in row order, without gaps

  int rows() const { return static_cast<int>(g.size()); }
  int size() const { return static_cast<int>(blocks.size()); }

  /// Columns of G of block i.
  Panel panel(int i) const { return G.panel(i, blocks[i]); }
  /// G_ii of block i.
  Tile diagonal(int i) const { return G.diagonal(i, blocks[i]); }
};

/// c = (G + R) λ + g.
void velocity_of(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity);

/// y += (G + R) x.
void multiply_add(const Problem& problem, const double* x, double* y);

/// y += (G + R) x where only block i of x, given as its `size` values, is not zero.
void multiply_add_block(const Problem& problem, int i, const double* x_i, double* y);

}  // namespace taut
