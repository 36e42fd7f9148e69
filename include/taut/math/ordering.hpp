#pragma once

#include <span>
#include <vector>

namespace taut {

/// Minimum degree: an order of elimination that keeps the factors of a sparse symmetric pattern sparse.
///
/// Nodes are eliminated by least degree; the neighbours of each become neighbours of one another. Ties go to the
/// smallest index, so the order depends on the pattern alone. Buffers grow and stay.
class MinimumDegree {
 public:
  /// Neighbours of node k are `neighbours[begin[k], begin[k + 1])`, sorted; k itself may be among them. False if the
  /// lists of neighbours would exceed `limit` entries: too much fill to factor.
  bool run(std::span<const int> begin, std::span<const int> neighbours, std::size_t limit);

  /// The nodes in order of elimination.
  std::span<const int> order() const { return order_; }

 private:
  void link(int node);
  void unlink(int node);

  struct List {
    std::size_t first = 0;
    int size = 0;
  };
  std::vector<List> lists_;  ///< neighbours of each node, in `pool_`
  std::vector<int> pool_, order_;
  std::vector<int> head_;  ///< first node of each degree, −1: none
  std::vector<int> next_, previous_;
};

}  // namespace taut
