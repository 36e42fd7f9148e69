#pragma once

#include <span>
#include <vector>

namespace taut {

/// A = L U of a sparse matrix whose pattern is symmetric, in a given order and without pivoting: for matrices whose
/// diagonal carries them, such as a damped Delassus matrix. Buffers grow and stay.
///
/// Row k of L and column k of U are found together, from the columns before, along the elimination tree (the up-looking
/// LDLᵀ of Davis, *Algorithm 849*, 2005, with two sets of values).
class SparseLu {
 public:
  /// Starts a matrix of n rows; `order[k]` is the k-th row and column to be eliminated.
  void start(std::span<const int> order);
  /// Room for the next column (they come as 0, 1, 2, …): `size` rows in any order, each once, and their values. Where
  /// (i, j) is given, so must be (j, i), and every diagonal entry. Valid until the next call.
  struct Room {
    int* rows;
    double* values;
  };
  Room add_column(int size);

  /// Factors what was added. False if a pivot is zero or not finite.
  bool factor();
  /// Factors a positive semi-definite matrix: a pivot that is not above `least` of its row is what rounding has left of
  /// a redundant one. It becomes infinite, and `solve` answers zero there.
  void factor_semidefinite(std::span<const double> least);
  /// After it: of the redundant rows, x ← what the others say, so that A z = x has a solution.
  void reconcile(double* x) const;

  /// x ← A⁻¹ x and x ← A⁻ᵀ x.
  void solve(double* x) const;
  void solve_transposed(double* x) const;

  int size() const { return n_; }
  double pivot(int row) const { return diagonal_[place_[row]]; }
  std::size_t entries() const { return rows_.size(); }  ///< of L below its diagonal, and as many of U

 private:
  void analyze();
  template <class Accept>
  bool factor_with(const Accept& accept);

  int n_ = 0;
  std::vector<int> order_, place_;  ///< place_[order_[k]] = k
  // The matrix by columns as given, then by columns and by rows in the order of elimination: upper part of column k and
  // left part of row k share one pattern.
  std::vector<int> begin_, entry_rows_;
  std::vector<double> entries_;
  std::vector<int> upper_begin_, upper_rows_;
  std::vector<double> upper_, left_, diagonal_;
  // Factors: column i of L and row i of U share `rows_[first_[i], first_[i + 1])`.
  std::vector<int> parent_, first_, filled_, rows_;
  std::vector<double> L_, U_;
  std::vector<int> mark_, stack_, path_;
  mutable std::vector<double> y_, z_;
};

}  // namespace taut
