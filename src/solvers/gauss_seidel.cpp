#include "taut/solvers/gauss_seidel.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace taut {
namespace {

// Room for bilateral blocks of up to this many rows is part of a reserve; longer ones allocate once.
constexpr std::size_t kLongestBlock = 64;

double inverse_or_zero(double x) { return x > 0.0 ? 1.0 / x : 0.0; }

// (G + R)_ii of a bilateral block, factored. Redundant rows make it singular: the shift turns the solve into a
// proximal step, which repeated sweeps carry to a solution, and is small enough to be exact in one when there is none.
void factor_free(const Problem& problem, int i, double stiffness, double* storage) {
  const Block& block = problem.blocks[i];
  const Tile G = problem.diagonal(i);
  MatrixView factor(storage, block.size, block.size, Eigen::OuterStride<>(block.size));
  for (double shift = 1e-10 * stiffness;; shift *= 1e3) {
    for (int c = 0; c < block.size; ++c) {
      for (int r = 0; r < block.size; ++r) factor(r, c) = G(r, c);
    }
    factor.diagonal() += problem.R.segment(block.start, block.size);
    factor.diagonal().array() += shift;
    if (cholesky(factor)) return;
    if (!(shift < stiffness)) break;
  }
  factor.setIdentity();  // indefinite by more than rounding: not a Delassus matrix, take gradient steps
  factor *= std::sqrt(stiffness * block.size);
}

}  // namespace

void SweepWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (best.size() >= n) return;
  steps.reserve(n);
  change.resize(n);
  best.resize(n);
  factors.resize(kLongestBlock * n);
}

void prepare_sweeps(const Problem& problem, SweepWorkspace& workspace) {
  std::size_t factors = 0;
  for (const Block& block : problem.blocks) {
    if (block.kind == SetKind::free) factors += static_cast<std::size_t>(block.size) * block.size;
  }
  if (workspace.factors.size() < factors) workspace.factors.resize(factors);
  workspace.steps.resize(problem.blocks.size());
  double* factor = workspace.factors.data();
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Tile G = problem.diagonal(i);
    SweepWorkspace::Step& step = workspace.steps[static_cast<std::size_t>(i)];
    step.stiffness = mean_diagonal(problem, i);
    if (block.kind == SetKind::cone) {
      for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) step.G(r, c) = G(r, c);
        step.G(c, c) += problem.R[block.start + c];
      }
      step.normal = inverse_or_zero(step.G(2, 2));
      step.tangential = inverse_or_zero(std::max(step.G(0, 0), step.G(1, 1)));
    } else if (block.kind == SetKind::free) {
      factor_free(problem, i, step.stiffness, factor);
      factor += block.size * block.size;
    } else {
      step.normal = inverse_or_zero(G(0, 0) + problem.R[block.start]);
    }
  }
}

void correct_simple_block(const Block& block, const SweepWorkspace::Step& step, double relaxation, const double* factor,
                          const double* lambda, const double* velocity, double* change) {
  if (block.kind == SetKind::free) {
    for (int r = 0; r < block.size; ++r) change[r] = -relaxation * velocity[r];
    cholesky_solve({const_cast<double*>(factor), block.size, block.size, Eigen::OuterStride<>(block.size)}, change);
    return;
  }
  change[0] = lambda[0] - relaxation * step.normal * velocity[0];
  project(block, change);
  change[0] -= lambda[0];
}

void check(const SweepOptions& options, const char* method) {
  const auto refuse = [&](const char* name, double value, const char* range) {
    throw std::invalid_argument(std::string(method) + ": " + name + " is " + std::to_string(value) + ", outside " +
                                range);
  };
  if (!(options.relaxation > 0.0 && options.relaxation < 2.0)) refuse("relaxation", options.relaxation, "(0, 2)");
  if (!(options.relaxation_decay > 0.0 && options.relaxation_decay <= 1.0)) {
    refuse("relaxation_decay", options.relaxation_decay, "(0, 1]");
  }
}

}  // namespace taut
