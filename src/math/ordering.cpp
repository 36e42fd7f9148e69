#include "taut/math/ordering.hpp"

#include <algorithm>

#include "taut/math/interruption.hpp"

namespace taut {

void MinimumDegree::link(int node) {
  int& head = head_[static_cast<std::size_t>(lists_[node].size)];
  next_[node] = head;
  previous_[node] = -1;
  if (head >= 0) previous_[head] = node;
  head = node;
}

void MinimumDegree::unlink(int node) {
  if (previous_[node] >= 0) {
    next_[previous_[node]] = next_[node];
  } else {
    head_[static_cast<std::size_t>(lists_[node].size)] = next_[node];
  }
  if (next_[node] >= 0) previous_[next_[node]] = previous_[node];
}

bool MinimumDegree::run(std::span<const int> begin, std::span<const int> neighbours, std::size_t limit) {
  const int nodes = static_cast<int>(begin.size()) - 1;
  const auto n = static_cast<std::size_t>(nodes);
  lists_.resize(n);
  next_.resize(n);
  previous_.resize(n);
  order_.clear();
  head_.assign(n + 1, -1);
  pool_.clear();
  for (int k = 0; k < nodes; ++k) {
    lists_[k] = {pool_.size(), 0};
    for (int p = begin[k]; p < begin[k + 1]; ++p) {
      if (neighbours[p] != k) pool_.push_back(neighbours[p]);
    }
    lists_[k].size = static_cast<int>(pool_.size() - lists_[k].first);
  }
  for (int k = nodes - 1; k >= 0; --k) link(k);  // the smallest index ends up first in its list

  int degree = 0;
  while (static_cast<int>(order_.size()) < nodes) {
    while (head_[degree] < 0) ++degree;
    const int node = head_[degree];
    may_interrupt(1 + degree);
    unlink(node);
    order_.push_back(node);
    const List eliminated = lists_[node];
    for (int k = 0; k < eliminated.size; ++k) {
      const int other = pool_[eliminated.first + k];
      // Neighbours of `other` and of `node`, merged, without the two.
      unlink(other);
      const List before = lists_[other];
      const std::size_t first = pool_.size();
      if (first + before.size + eliminated.size > limit) return false;
      pool_.resize(first + before.size + eliminated.size);
      const int *a = pool_.data() + before.first, *a_end = a + before.size;
      const int *b = pool_.data() + eliminated.first, *b_end = b + eliminated.size;
      int* out = pool_.data() + first;
      while (a < a_end || b < b_end) {
        const int next = b == b_end || (a < a_end && *a <= *b) ? *a : *b;
        if (a < a_end && *a == next) ++a;
        if (b < b_end && *b == next) ++b;
        if (next != node && next != other) *out++ = next;
      }
      const int size = static_cast<int>(out - (pool_.data() + first));
      if (size <= before.size) {  // back where it was: most lists do not grow
        std::copy_n(pool_.data() + first, size, pool_.data() + before.first);
        pool_.resize(first);
        lists_[other].size = size;
      } else {
        pool_.resize(first + size);
        lists_[other] = {first, size};
      }
      degree = std::min(degree, size);
      link(other);
    }
  }
  return true;
}

}  // namespace taut
