#pragma once

#include <cstddef>
#include <vector>

namespace taut {

/// Lemke's method for the linear complementarity problem
///
///   w = M z + q,   0 ≤ w ⊥ z ≥ 0
///
/// by complementary pivots on a dense dictionary, ties broken lexicographically against cycles. For a copositive M it
/// ends with a solution or with a ray, which proves that there is none or none it could find. M and q should be of the
/// order of one: tolerances are absolute.
class Lemke {
 public:
  enum class End { solution, ray, limit };

  void reserve(int unknowns);
  /// Makes room for M and q, which the caller then fills.
  void resize(int unknowns);
  double* column(int j) { return data_.data() + static_cast<std::ptrdiff_t>(j) * unknowns_; }
  double& q(int i) { return column(unknowns_)[i]; }

  /// From z = 0. Every `cadence` pivots the dictionary is made anew (never for 0), which costs as much as the pivots of
  /// a whole run and is for problems whose rounding errors grow out of hand.
  End run(int max_pivots, int cadence = 0);

  /// The dictionary of the present basis from M and q, largest pivots first, whatever the way that led to it.
  void refresh();

  int pivots() const { return pivots_; }  ///< of the last run
  double z(int i) const;                  ///< where the pivots ended

 private:
  int artificial() const { return 2 * unknowns_; }
  int complement(int variable) const { return variable < unknowns_ ? variable + unknowns_ : variable - unknowns_; }
  double* coefficients(int col) { return coefficients_.data() + static_cast<std::ptrdiff_t>(col) * unknowns_; }
  void start();
  void exchange(int row, int col);
  int leaving_row(int col);
  double tie_breaker(int row, int perturbed) const;

  int unknowns_ = 0, pivots_ = 0;
  std::vector<double> data_;  ///< M, then q
  // Dictionary: basic = value + coefficients · nonbasic. Variables: w_i is i, z_i is unknowns + i, the last artificial.
  std::vector<double> coefficients_, value_;
  std::vector<int> basic_, nonbasic_;
  std::vector<int> place_;  ///< of each variable: its row, or −1 − its column
  std::vector<int> candidates_;
  std::vector<char> stays_;  ///< whether w_i is in the basis to come
};

}  // namespace taut
