#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "taut/problem/owned_problem.hpp"

namespace taut::python {

/// A square matrix in compressed rows, scipy's (data, indices, indptr), or in compressed columns.
struct Compressed {
  std::vector<double> values;
  std::vector<int> indices, begin;

  int lines() const { return static_cast<int>(begin.size()) - 1; }
  BlockSparse block_sparse(std::span<const Block> blocks) const {
    return BlockSparse::from_compressed(values, indices, begin, blocks);
  }
};

/// Columns from rows, or rows from columns. G is symmetric, but only up to rounding: exact copies need it.
inline Compressed transposed(const Compressed& lines) {
  const auto size = static_cast<std::size_t>(lines.lines());
  Compressed other{std::vector<double>(lines.values.size()), std::vector<int>(lines.values.size()),
                   std::vector<int>(size + 1, 0)};
  for (const int index : lines.indices) ++other.begin[static_cast<std::size_t>(index) + 1];
  for (std::size_t k = 0; k < size; ++k) other.begin[k + 1] += other.begin[k];
  std::vector<int> next(other.begin.begin(), other.begin.end() - 1);
  for (int line = 0; line < lines.lines(); ++line) {
    for (int k = lines.begin[line]; k < lines.begin[line + 1]; ++k) {
      const int to = next[lines.indices[k]]++;
      other.values[to] = lines.values[k];
      other.indices[to] = line;
    }
  }
  return other;
}

/// Integers of any type that numpy knows; floats are refused, an index is never rounded.
inline std::vector<int> integers(nanobind::handle source, const char* what) {
  namespace nb = nanobind;
  const nb::object numpy = nb::module_::import_("numpy");
  nb::object array = numpy.attr("ascontiguousarray")(source);
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const bool empty = nb::cast<std::size_t>(array.attr("size")) == 0;  // numpy makes floats of an empty list
  if (nb::cast<int>(array.attr("ndim")) != 1 || (kind != "i" && kind != "u" && !empty)) {
    throw std::invalid_argument(std::string(what) + " must be a vector of integers");
  }
  array = array.attr("astype")("int64");
  const auto view = nb::cast<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(array);
  std::vector<int> values(view.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::int64_t value = view.data()[k];
    if (value < 0 || value > INT32_MAX) {
      throw std::invalid_argument(std::string(what) + "[" + std::to_string(k) + "] is " + std::to_string(value));
    }
    values[k] = static_cast<int>(value);
  }
  return values;
}

/// Checked as far as `transposed` relies on it.
inline Compressed compressed(nanobind::handle data, nanobind::handle indices, nanobind::handle begin, int rows) {
  const Eigen::VectorXd x = ArrayLike{nanobind::borrow(data)}.vector("data of G");
  Compressed lines{{x.data(), x.data() + x.size()}, integers(indices, "indices of G"), integers(begin, "indptr of G")};
  if (lines.lines() != rows) {
    throw std::invalid_argument("indptr of G has " + std::to_string(lines.begin.size()) + " entries, expected " +
                                std::to_string(rows + 1) + ": one more than g");
  }
  if (lines.values.size() != lines.indices.size() || lines.begin.front() != 0 ||
      lines.begin.back() != static_cast<int>(lines.indices.size()) ||
      !std::is_sorted(lines.begin.begin(), lines.begin.end())) {
    throw std::invalid_argument("indptr of G does not fit its " + std::to_string(lines.indices.size()) +
                                " indices and " + std::to_string(lines.values.size()) + " data");
  }
  for (const int index : lines.indices) {
    if (index >= rows) {
      throw std::invalid_argument("indices of G hold " + std::to_string(index) + ", outside 0 … " +
                                  std::to_string(rows - 1));
    }
  }
  return lines;
}

/// The entries of G that are not zero, by columns.
inline Compressed columns_of(const Problem& problem) {
  Compressed columns{{}, {}, {0}};
  for (int i = 0; i < problem.size(); ++i) {
    const Panel panel = problem.panel(i);
    for (int c = 0; c < problem.blocks[i].size; ++c) {
      for (const Run& run : panel.runs) {
        for (int r = 0; r < run.size; ++r) {
          const double value = panel.data[c * panel.stride + run.row + r];
          if (value == 0.0) continue;
          columns.values.push_back(value);
          columns.indices.push_back(run.start + r);
        }
      }
      columns.begin.push_back(static_cast<int>(columns.indices.size()));
    }
  }
  return columns;
}

/// As numpy arrays.
inline std::tuple<Eigen::VectorXd, Eigen::VectorXi, Eigen::VectorXi> arrays_of(const Compressed& lines) {
  const auto integers_of = [](const std::vector<int>& x) {
    return Eigen::VectorXi(Eigen::Map<const Eigen::VectorXi>(x.data(), static_cast<Eigen::Index>(x.size())));
  };
  const auto size = static_cast<Eigen::Index>(lines.values.size());
  return {Eigen::Map<const Eigen::VectorXd>(lines.values.data(), size), integers_of(lines.indices),
          integers_of(lines.begin)};
}

}  // namespace taut::python
