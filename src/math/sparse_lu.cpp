#include "taut/math/sparse_lu.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taut/math/interruption.hpp"

namespace taut {

void SparseLu::start(std::span<const int> order) {
  n_ = static_cast<int>(order.size());
  order_.assign(order.begin(), order.end());
  place_.resize(order_.size());
  for (int k = 0; k < n_; ++k) place_[order_[k]] = k;
  begin_.assign(1, 0);
  entry_rows_.clear();
  entries_.clear();
}

SparseLu::Room SparseLu::add_column(int size) {
  const std::size_t first = entry_rows_.size();
  entry_rows_.resize(first + static_cast<std::size_t>(size));
  entries_.resize(first + static_cast<std::size_t>(size));
  begin_.push_back(static_cast<int>(entry_rows_.size()));
  return {entry_rows_.data() + first, entries_.data() + first};
}

// The upper part of each column and the left part of each row in the order of elimination, then the elimination tree
// and the number of entries in each column of L.
void SparseLu::analyze() {
  const auto n = static_cast<std::size_t>(n_);
  upper_begin_.assign(n + 1, 0);
  diagonal_.assign(n, 0.0);
  for (int j = 0; j < n_; ++j) {
    const int column = place_[j];
    for (int p = begin_[j]; p < begin_[j + 1]; ++p) {
      if (place_[entry_rows_[p]] < column) ++upper_begin_[column + 1];
    }
  }
  for (int k = 0; k < n_; ++k) upper_begin_[k + 1] += upper_begin_[k];
  const auto count = static_cast<std::size_t>(upper_begin_[n_]);
  upper_rows_.resize(count);
  upper_.assign(count, 0.0);
  left_.assign(count, 0.0);
  for (int k = 0, next = 0; k < n_; ++k) {
    const int j = order_[k];
    for (int p = begin_[j]; p < begin_[j + 1]; ++p) {
      const int i = place_[entry_rows_[p]];
      if (i < k) upper_rows_[next++] = i;
      if (i == k) diagonal_[k] = entries_[p];
    }
    std::sort(upper_rows_.begin() + upper_begin_[k], upper_rows_.begin() + upper_begin_[k + 1]);
  }
  // The entry (i, k) of the upper part and (k, i) of the left one share a slot.
  const auto slot = [&](int row, int column) {
    const auto first = upper_rows_.begin() + upper_begin_[column],
               last = upper_rows_.begin() + upper_begin_[column + 1];
    return static_cast<std::size_t>(std::lower_bound(first, last, row) - upper_rows_.begin());
  };
  for (int j = 0; j < n_; ++j) {
    const int column = place_[j];
    for (int p = begin_[j]; p < begin_[j + 1]; ++p) {
      const int row = place_[entry_rows_[p]];
      if (row < column) upper_[slot(row, column)] = entries_[p];
      if (row > column) left_[slot(column, row)] = entries_[p];
    }
  }

  mark_.assign(n, -1);
  parent_.assign(n, -1);
  filled_.assign(n, 0);
  for (int k = 0; k < n_; ++k) {
    mark_[k] = k;
    for (int p = upper_begin_[k]; p < upper_begin_[k + 1]; ++p) {
      for (int i = upper_rows_[p]; mark_[i] != k; i = parent_[i]) {
        if (parent_[i] < 0) parent_[i] = k;
        ++filled_[i];
        mark_[i] = k;
      }
    }
  }
  first_.resize(n + 1);
  first_[0] = 0;
  for (int k = 0; k < n_; ++k) first_[k + 1] = first_[k] + filled_[k];
}

// `accept(row, pivot)` may replace the pivot of a row, or end the factorization.
template <class Accept>
bool SparseLu::factor_with(const Accept& accept) {
  analyze();
  const auto n = static_cast<std::size_t>(n_), fill = static_cast<std::size_t>(first_[n_]);
  rows_.resize(fill);
  L_.resize(fill);
  U_.resize(fill);
  stack_.resize(n);
  path_.resize(n);
  y_.assign(n, 0.0);
  z_.assign(n, 0.0);
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(mark_.begin(), mark_.end(), -1);
  for (int k = 0; k < n_; ++k) {
    // What row k of L and column k of U can hold: the paths from the entries of A up the tree, in topological order.
    int top = n_;
    mark_[k] = k;
    for (int p = upper_begin_[k]; p < upper_begin_[k + 1]; ++p) {
      y_[upper_rows_[p]] = upper_[p];
      z_[upper_rows_[p]] = left_[p];
      int length = 0;
      for (int i = upper_rows_[p]; mark_[i] != k; i = parent_[i]) {
        path_[length++] = i;
        mark_[i] = k;
      }
      while (length > 0) stack_[--top] = path_[--length];
    }
    may_interrupt(n_ - top);
    double pivot = diagonal_[k];
    for (; top < n_; ++top) {
      const int i = stack_[top];
      const double u = y_[i], l = z_[i] / diagonal_[i];
      y_[i] = z_[i] = 0.0;
      const int first = first_[i], last = first + filled_[i];
      for (int p = first; p < last; ++p) {
        y_[rows_[p]] -= L_[p] * u;
        z_[rows_[p]] -= U_[p] * l;
      }
      pivot -= l * u;
      rows_[last] = k;
      L_[last] = l;
      U_[last] = u;
      ++filled_[i];
    }
    if (!accept(order_[k], pivot)) return false;
    diagonal_[k] = pivot;
  }
  return true;
}

bool SparseLu::factor() {
  return factor_with([](int, double pivot) { return pivot != 0.0 && std::isfinite(pivot); });
}

void SparseLu::factor_semidefinite(std::span<const double> least) {
  factor_with([&](int row, double& pivot) {
    if (!(pivot > least[static_cast<std::size_t>(row)])) pivot = std::numeric_limits<double>::infinity();
    return true;
  });
}

void SparseLu::reconcile(double* x) const {
  double* y = y_.data();
  for (int k = 0; k < n_; ++k) y[k] = x[order_[k]];
  for (int i = 0; i < n_; ++i) {
    const double value = y[i];
    if (std::isinf(diagonal_[i])) {
      x[order_[i]] -= value;  // what is left of it after the others have had their say
      continue;
    }
    for (int p = first_[i]; p < first_[i + 1]; ++p) y[rows_[p]] -= L_[p] * value;
  }
}

void SparseLu::solve(double* x) const {
  double* y = y_.data();
  for (int k = 0; k < n_; ++k) y[k] = x[order_[k]];
  for (int i = 0; i < n_; ++i) {
    const double value = y[i];
    for (int p = first_[i]; p < first_[i + 1]; ++p) y[rows_[p]] -= L_[p] * value;
  }
  for (int i = n_ - 1; i >= 0; --i) {
    double sum = y[i];
    for (int p = first_[i]; p < first_[i + 1]; ++p) sum -= U_[p] * y[rows_[p]];
    y[i] = sum / diagonal_[i];
  }
  for (int k = 0; k < n_; ++k) x[order_[k]] = y[k];
}

void SparseLu::solve_transposed(double* x) const {
  double* y = y_.data();
  for (int k = 0; k < n_; ++k) y[k] = x[order_[k]];
  for (int i = 0; i < n_; ++i) {
    const double value = y[i] / diagonal_[i];
    y[i] = value;
    for (int p = first_[i]; p < first_[i + 1]; ++p) y[rows_[p]] -= U_[p] * value;
  }
  for (int i = n_ - 1; i >= 0; --i) {
    for (int p = first_[i]; p < first_[i + 1]; ++p) y[i] -= L_[p] * y[rows_[p]];
  }
  for (int k = 0; k < n_; ++k) x[order_[k]] = y[k];
}

}  // namespace taut
