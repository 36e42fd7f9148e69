#include "taut/problem/problem.hpp"

#include "taut/math/dense.hpp"

namespace taut {

void velocity_of(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity) {
  velocity = problem.g;
  multiply_add(problem, lambda.data(), velocity.data());
}

void multiply_add(const Problem& problem, const double* x, double* y) {
  const int rows = problem.rows();
  const double* R = problem.R.data();
  for (int r = 0; r < rows; ++r) y[r] += R[r] * x[r];
  if (!problem.G.is_sparse()) {
    const auto G = problem.G.dense();
    multiply_add(rows, rows, G.data(), G.outerStride(), x, y);
    return;
  }
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Panel panel = problem.panel(i);
    for (const Run& run : panel.runs) {
      multiply_add(run.size, block.size, panel.data + run.row, panel.stride, x + block.start, y + run.start);
    }
  }
}

void multiply_add_block(const Problem& problem, int i, const double* x_i, double* y) {
  const Block& block = problem.blocks[i];
  const Panel panel = problem.panel(i);
  for (int r = 0; r < block.size; ++r) y[block.start + r] += problem.R[block.start + r] * x_i[r];
  for (const Run& run : panel.runs) {
    multiply_add(run.size, block.size, panel.data + run.row, panel.stride, x_i, y + run.start);
  }
}

}  // namespace taut
