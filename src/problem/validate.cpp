#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "taut/math/dense.hpp"
#include "taut/problem/residuals.hpp"

namespace taut {
namespace {

// Up to this many rows a factorization is cheap enough to be part of a check.
constexpr int kFactoredRows = 1000;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("taut::Problem: " + what); }

std::string of_block(int i, const char* name, double value) {
  return std::string(name) + " of block " + std::to_string(i) + " is " + std::to_string(value);
}

std::string entry(int r, int c, double value) {
  return "G(" + std::to_string(r) + ", " + std::to_string(c) + ") is " + std::to_string(value);
}

void validate_block(const Block& block, int i, int row) {
  if (block.start != row) {
    refuse("block " + std::to_string(i) + " starts at row " + std::to_string(block.start) + ", expected " +
           std::to_string(row));
  }
  if (block.size < 1) refuse("block " + std::to_string(i) + " has size " + std::to_string(block.size));
  if (block.kind == SetKind::cone) {
    if (block.size != 3) refuse("block " + std::to_string(i) + " is a cone of " + std::to_string(block.size) + " rows");
    if (!(block.mu >= 0.0) || !std::isfinite(block.mu)) refuse(of_block(i, "mu", block.mu));
  }
  if ((block.kind == SetKind::positive || block.kind == SetKind::interval) && block.size != 1) {
    refuse("block " + std::to_string(i) + " is a limit or joint friction of " + std::to_string(block.size) + " rows");
  }
  if (block.kind == SetKind::interval && (!(block.bound >= 0.0) || !std::isfinite(block.bound))) {
    refuse(of_block(i, "bound", block.bound));
  }
}

// Every stored entry (r, c, value), by columns.
template <class Visit>
void for_each_entry(const Problem& problem, const Visit& visit) {
  for (int i = 0; i < problem.size(); ++i) {
    const Panel panel = problem.panel(i);
    for (int c = 0; c < problem.blocks[i].size; ++c) {
      for (const Run& run : panel.runs) {
        for (int r = 0; r < run.size; ++r) {
          visit(run.start + r, problem.blocks[i].start + c, panel.data[c * panel.stride + run.row + r]);
        }
      }
    }
  }
}

// G(row, col), by a search through the runs of its column.
double at(const Problem& problem, std::span<const int> block_of, int row, int col) {
  const int i = block_of[static_cast<std::size_t>(col)];
  const Panel panel = problem.panel(i);
  for (const Run& run : panel.runs) {
    if (row >= run.start && row < run.start + run.size) {
      return panel.data[(col - problem.blocks[i].start) * panel.stride + run.row + row - run.start];
    }
  }
  return 0.0;
}

}  // namespace

void validate(const Problem& problem) {
  const int rows = problem.rows();
  if (problem.G.rows() != rows || problem.G.cols() != rows) {
    refuse("G is " + std::to_string(problem.G.rows()) + " x " + std::to_string(problem.G.cols()) + " but g has " +
           std::to_string(rows) + " rows");
  }
  if (problem.R.size() != rows) {
    refuse("R has " + std::to_string(problem.R.size()) + " rows but g has " + std::to_string(rows));
  }
  int row = 0;
  std::vector<int> block_of;
  for (int i = 0; i < problem.size(); ++i) {
    validate_block(problem.blocks[i], i, row);
    row += problem.blocks[i].size;
    block_of.resize(static_cast<std::size_t>(row), i);
  }
  if (row != rows) refuse("blocks cover " + std::to_string(row) + " of " + std::to_string(rows) + " rows");
  if (problem.G.is_sparse() && problem.G.sparse().size() != problem.size()) {
    refuse("G has the columns of " + std::to_string(problem.G.sparse().size()) + " blocks, not of " +
           std::to_string(problem.size()));
  }
  for (int r = 0; r < rows; ++r) {
    if (!std::isfinite(problem.g[r])) refuse("g[" + std::to_string(r) + "] is " + std::to_string(problem.g[r]));
    if (!(problem.R[r] >= 0.0) || !std::isfinite(problem.R[r])) {
      refuse("R[" + std::to_string(r) + "] is " + std::to_string(problem.R[r]));
    }
  }
  double largest = 0.0;
  for_each_entry(problem, [&](int r, int c, double value) {
    if (!std::isfinite(value)) refuse(entry(r, c, value));
    if (r == c && value < 0.0) refuse(entry(r, c, value) + ", negative");
    largest = std::max(largest, std::abs(value));
  });
  // What rounding leaves of a product J M⁻¹ Jᵀ is far below this.
  const double tolerance = 1e-9 * largest;
  for_each_entry(problem, [&](int r, int c, double value) {
    const double mirrored = at(problem, block_of, c, r);
    if (std::abs(value - mirrored) > tolerance) {
      refuse("G is not symmetric: " + entry(r, c, value) + ", " + entry(c, r, mirrored));
    }
    // A principal minor of order two: the cheapest sign of an indefinite matrix.
    const double bound = at(problem, block_of, r, r) * at(problem, block_of, c, c);
    if (value * value > bound + 1e-9 * largest * largest) {
      refuse("G is not positive semi-definite: " + entry(r, c, value) + ", larger than the geometric mean of " +
             entry(r, r, at(problem, block_of, r, r)) + " and " + entry(c, c, at(problem, block_of, c, c)));
    }
  });
  if (!problem.G.is_sparse() && rows <= kFactoredRows) {
    Eigen::MatrixXd shifted = problem.G.dense();
    shifted.diagonal().array() += tolerance * rows;
    if (largest > 0.0 && !cholesky({shifted.data(), rows, rows, Eigen::OuterStride<>(rows)})) {
      refuse("G is not positive semi-definite: it has an eigenvalue below -" + std::to_string(tolerance * rows));
    }
  }
}

}  // namespace taut
