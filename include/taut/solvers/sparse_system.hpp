#pragma once

#include <vector>

#include "taut/math/ordering.hpp"
#include "taut/math/sparse_lu.hpp"
#include "taut/problem/problem.hpp"

namespace taut {

/// Linear systems with the pattern of a block-sparse G, some rows of each block left out: the factors of a pile.
///
/// Contacts of a pile meet few others, and an order of elimination keeps it so: the factors of a thousand bodies have
/// about as many entries as G. A knot of contacts that all meet each other may have too many; it is then for iterative
/// methods.
class SparseSystem {
 public:
  /// Which blocks a system is about.
  enum class Of : unsigned char { all, bilateral };

  /// Finds the order of elimination of the problem's blocks. False if elimination exceeds the `limit`.
  bool order(const Problem& problem, Of blocks = Of::all);

  /// Starts a matrix whose rows are `count(i)` of each block, from `first(i)` on.
  template <class First, class Count>
  void start(const First& first, const Count& count) {
    unknowns_.clear();
    for (const int i : ordering_.order()) {
      for (int r = 0; r < count(i); ++r) unknowns_.push_back(first(i) + r);
    }
    lu_.start(unknowns_);
  }

  /// Calls `visit(i, values)` for each block i that block j touches, `values` being its rows of the panel's first
  /// column.
  template <class Visit>
  void for_each_touched(const Problem& problem, int j, const Visit& visit) const {
    const Panel panel = problem.panel(j);
    for (const Run& run : panel.runs) {
      for (int i = block_of_[static_cast<std::size_t>(run.start)], r = 0; r < run.size; r += problem.blocks[i++].size) {
        visit(i, panel.data + run.row + r);
      }
    }
  }

  /// Pairs of neighbours that elimination may come to: those of factors of half a gigabyte.
  std::size_t limit = 4'000'000;

  SparseLu& lu() { return lu_; }
  const SparseLu& lu() const { return lu_; }

 private:
  MinimumDegree ordering_;
  SparseLu lu_;
  std::vector<int> block_of_;            ///< of each row
  std::vector<int> begin_, neighbours_;  ///< the blocks that each block touches
  std::vector<int> unknowns_;
};

}  // namespace taut
