#include "taut/solvers/pgs.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/math/dense.hpp"
#include "taut/problem/sets.hpp"

namespace taut {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

double inverse_or_zero(double x) { return x > 0.0 ? 1.0 / x : 0.0; }

// The rows that block i moves, as few runs as possible.
void find_runs(const Problem& problem, const Block& block, std::vector<PgsWorkspace::Run>& runs) {
  const auto first = runs.size();
  for (const Block& other : problem.blocks) {
    const auto G_ij = problem.G.block(other.start, block.start, other.size, block.size);
    if (&other != &block && (G_ij.array() == 0.0).all()) continue;
    if (runs.size() > first && runs.back().start + runs.back().size == other.start) {
      runs.back().size += other.size;
    } else {
      runs.push_back({other.start, other.size});
    }
  }
}

// (G + R)_ii of a bilateral block, factored. Redundant rows make it singular: the shift turns the solve into a
// proximal step, which repeated sweeps carry to a solution, and is small enough to be exact in one when there is none.
void factor_free(const Problem& problem, const Block& block, double stiffness, double* storage) {
  MatrixView factor(storage, block.size, block.size, Eigen::OuterStride<>(block.size));
  for (double shift = 1e-10 * stiffness;; shift *= 1e3) {
    factor = problem.G.block(block.start, block.start, block.size, block.size);
    factor.diagonal() += problem.R.segment(block.start, block.size);
    factor.diagonal().array() += shift;
    if (cholesky(factor)) return;
    if (!(shift < stiffness)) break;
  }
  factor.setIdentity();  // indefinite by more than rounding: not a Delassus matrix, take gradient steps
  factor *= std::sqrt(stiffness * block.size);
}

// Corrects contact i with the others frozen [CB, Alg. 6, l. 3-6]; writes λ⁺ − λ.
void update_contact(const Problem& problem, const Block& block, const PgsWorkspace::Step& step, double omega,
                    const double* lambda, const double* velocity, double* change) {
  const int i = block.start;
  const Eigen::Map<const Vector3d> lambda_i(lambda + i), c(velocity + i);
  const double lambda_n = std::max(0.0, lambda_i[2] - omega * step.normal * c[2]);
  change[2] = lambda_n - lambda_i[2];

  // Friction must see the new normal impulse. CB divides by min(G_xx, G_yy), which can overshoot; 1/max never exceeds
  // 2/λ_max(G_TT) [RS, eq. (18)].
  const double *G_x = &problem.G.coeffRef(i, i), *G_n = G_x + 2 * problem.G.outerStride();
  const double shrink = omega * step.tangential;
  const Vector2d target(lambda_i[0] - shrink * (c[0] + G_n[0] * change[2]),
                        lambda_i[1] - shrink * (c[1] + G_n[1] * change[2]));
  const Vector2d lambda_t = project_onto_disk(target, block.mu * lambda_n);
  change[0] = lambda_t[0] - lambda_i[0];
  change[1] = lambda_t[1] - lambda_i[1];
}

}  // namespace

void PgsWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (best.size() >= n) return;
  steps.reserve(n);
  run_end.reserve(n);
  runs.reserve(n * (n + 1) / 2);
  factors.resize(n * n);
  change.resize(n);
  best.resize(n);
}

void prepare_sweeps(const Problem& problem, PgsWorkspace& workspace) {
  const bool dense = problem.rows() <= kDenseRows;
  workspace.steps.clear();
  workspace.runs.clear();
  workspace.run_end.clear();
  double* factor = workspace.factors.data();
  for (const Block& block : problem.blocks) {
    const auto diagonal = [&](int r) {
      return problem.G(block.start + r, block.start + r) + problem.R[block.start + r];
    };
    PgsWorkspace::Step step{.stiffness = mean_diagonal(problem, block)};
    if (block.kind == SetKind::cone) {
      step.normal = inverse_or_zero(diagonal(2));
      step.tangential = inverse_or_zero(std::max(diagonal(0), diagonal(1)));
    } else if (block.kind == SetKind::free) {
      factor_free(problem, block, step.stiffness, factor);
      factor += block.size * block.size;
    } else {
      step.normal = inverse_or_zero(diagonal(0));
    }
    workspace.steps.push_back(step);
    if (!dense) find_runs(problem, block, workspace.runs);
    workspace.run_end.push_back(static_cast<int>(workspace.runs.size()));
  }
}

double sweep(const Problem& problem, PgsWorkspace& workspace, double relaxation, VectorRef lambda, VectorRef velocity) {
  const int rows = problem.rows();
  const bool dense = workspace.runs.empty();
  const std::ptrdiff_t stride = problem.G.outerStride();
  double *change = workspace.change.data(), *x = lambda.data(), *c = velocity.data();
  const double* factor = workspace.factors.data();
  double largest = 0.0;

  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const PgsWorkspace::Step& step = workspace.steps[i];
    const int start = block.start;
    if (block.kind == SetKind::cone) {
      update_contact(problem, block, step, relaxation, x, c, change);
    } else if (block.kind == SetKind::free) {
      for (int r = 0; r < block.size; ++r) change[r] = -relaxation * c[start + r];
      const MatrixView L(const_cast<double*>(factor), block.size, block.size, Eigen::OuterStride<>(block.size));
      cholesky_solve(L, change);
      factor += block.size * block.size;
    } else {
      change[0] = x[start] - relaxation * step.normal * c[start];
      project(block, change);
      change[0] -= x[start];
    }

    double moved = 0.0;
    for (int r = 0; r < block.size; ++r) moved = std::max(moved, std::abs(change[r]));
    if (moved == 0.0) continue;
    largest = std::max(largest, moved * step.stiffness);
    for (int r = 0; r < block.size; ++r) {
      x[start + r] += change[r];
      c[start + r] += problem.R[start + r] * change[r];
    }
    const double* G_i = problem.G.data() + start * stride;
    if (dense) {
      multiply_add(rows, block.size, G_i, stride, change, c);
    } else {
      for (int k = i > 0 ? workspace.run_end[i - 1] : 0; k < workspace.run_end[i]; ++k) {
        const auto [first, size] = workspace.runs[k];
        multiply_add(size, block.size, G_i + first, stride, change, c + first);
      }
    }
  }
  return largest;
}

Pgs::Pgs(PgsOptions options) : options_(options) {
  if (!(options.relaxation > 0.0 && options.relaxation < 2.0)) {
    throw std::invalid_argument("Pgs: relaxation is " + std::to_string(options.relaxation) + ", outside (0, 2)");
  }
}

SolveReport Pgs::solve(const Problem& problem, PgsWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  workspace.reserve(problem.rows());
  project(problem, lambda);
  SolveReport report{.residuals = residuals(problem, lambda, velocity)};  // a good warm start costs no sweep
  if (report.residuals.worst() <= options_.tolerance) return report;

  prepare_sweeps(problem, workspace);
  VectorView best(workspace.best.data(), problem.rows());
  best = lambda;
  // The judge costs as much as a sweep: it is asked when the sweep says it is time, and now and then to see a stall.
  constexpr int kCadence = 25;
  double ask_below = options_.tolerance;
  double reference = report.residuals.worst();
  int reference_sweep = 0;
  report.status = Status::iteration_limit;
  while (report.iterations < options_.max_sweeps) {
    const double moved = sweep(problem, workspace, options_.relaxation, lambda, velocity);
    ++report.iterations;
    const bool last = report.iterations == options_.max_sweeps;
    if (moved > ask_below && report.iterations % kCadence != 0 && !last) continue;

    const Residuals judged = residuals(problem, lambda, velocity);  // also washes rounding out of the velocity
    if (moved <= ask_below) ask_below = 0.5 * moved;
    if (judged.worst() < report.residuals.worst()) {
      report.residuals = judged;
      best = lambda;
    }
    if (judged.worst() <= options_.tolerance) {
      report.status = Status::converged;
      return report;
    }
    if (report.residuals.worst() < 0.99 * reference) {
      reference = report.residuals.worst();
      reference_sweep = report.iterations;
    } else if (moved == 0.0 || report.iterations - reference_sweep >= options_.patience) {
      report.status = Status::stalled;
      break;
    }
  }
  lambda = best;
  report.residuals = residuals(problem, lambda, velocity);
  return report;
}

}  // namespace taut
