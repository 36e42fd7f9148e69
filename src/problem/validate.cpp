#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/problem/residuals.hpp"

namespace taut {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("taut::Problem: " + what); }

std::string of_block(int i, const char* name, double value) {
  return std::string(name) + " of block " + std::to_string(i) + " is " + std::to_string(value);
}

std::string of_entry(const Problem& problem, int r, int c) {
  return "G(" + std::to_string(r) + ", " + std::to_string(c) + ") is " + std::to_string(problem.G(r, c));
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
  for (int r = 0; r < rows; ++r) {
    if (!std::isfinite(problem.g[r])) refuse("g[" + std::to_string(r) + "] is " + std::to_string(problem.g[r]));
    if (!(problem.R[r] >= 0.0) || !std::isfinite(problem.R[r])) {
      refuse("R[" + std::to_string(r) + "] is " + std::to_string(problem.R[r]));
    }
    for (int c = 0; c < rows; ++c) {
      if (!std::isfinite(problem.G(r, c))) refuse(of_entry(problem, r, c));
    }
    if (problem.G(r, r) < 0.0) refuse(of_entry(problem, r, r) + ", negative");
  }
  // What rounding leaves of a product J M⁻¹ Jᵀ is far below this.
  const double tolerance = 1e-9 * (rows > 0 ? problem.G.cwiseAbs().maxCoeff() : 0.0);
  for (int c = 0; c < rows; ++c) {
    for (int r = c + 1; r < rows; ++r) {
      if (std::abs(problem.G(r, c) - problem.G(c, r)) > tolerance) {
        refuse("G is not symmetric: " + of_entry(problem, r, c) + ", " + of_entry(problem, c, r));
      }
    }
  }
  int row = 0;
  for (int i = 0; i < problem.size(); ++i) {
    validate_block(problem.blocks[i], i, row);
    row += problem.blocks[i].size;
  }
  if (row != rows) refuse("blocks cover " + std::to_string(row) + " of " + std::to_string(rows) + " rows");
}

}  // namespace taut
