#include "taut/solvers/lcp_staggered.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {
namespace {

using Eigen::Vector2d;

enum class Half { normal, friction };

double inverse_or_zero(double x) { return x > 0.0 ? 1.0 / x : 0.0; }

void prepare_steps(const Problem& problem, double* step) {
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Tile G = problem.diagonal(i);
    const auto diagonal = [&](int r) { return G(r, r) + problem.R[block.start + r]; };
    for (int r = 0; r < block.size; ++r) step[block.start + r] = inverse_or_zero(diagonal(r));
    if (block.kind == SetKind::cone) {  // one length for both, or the nearest point would not be the polygon's
      step[block.start] = step[block.start + 1] = inverse_or_zero(std::max(diagonal(0), diagonal(1)));
    }
  }
}

// x ← the nearest point that one half of the problem allows to x − step · c / L. Frozen rows keep their value.
void gradient_step(const Problem& problem, const Pyramid& pyramid, Half half, double L, const double* step,
                   const double* x, const double* c, double* out) {
  const auto target = [&](int r) { return x[r] - step[r] / L * c[r]; };
  for (const Block& block : problem.blocks) {
    const int s = block.start;
    if (block.kind != SetKind::cone) {
      for (int r = s; r < s + block.size; ++r) out[r] = target(r);
      project(block, out + s);
    } else if (half == Half::normal) {
      out[s] = x[s];
      out[s + 1] = x[s + 1];
      out[s + 2] = std::max(0.0, target(s + 2));
    } else {
      const Vector2d tangential = pyramid.project_onto_polygon({target(s), target(s + 1)}, block.mu * x[s + 2]);
      out[s] = tangential[0];
      out[s + 1] = tangential[1];
      out[s + 2] = x[s + 2];
    }
  }
}

// Nesterov's share of the last change to add to the iterate; none after a restart.
double take_momentum(bool restart, double& momentum) {
  const double before = momentum;
  momentum = restart ? 1.0 : 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * before * before));
  return restart ? 0.0 : (before - 1.0) / momentum;
}

// One half, to a natural map of `tolerance`. `L` bounds the eigenvalues of √step (G + R) √step and is raised where it
// turns out not to.
void solve_half(const Problem& problem, const Pyramid& pyramid, Half half, double tolerance, int max_steps,
                LcpStaggeredWorkspace& workspace, double& L, VectorRef lambda, VectorRef velocity) {
  const int rows = problem.rows();
  const double* step = workspace.step.data();
  double *x = lambda.data(), *c = velocity.data(), *y = workspace.y.data(), *y_c = workspace.y_velocity.data(),
         *next = workspace.next.data(), *next_c = workspace.next_velocity.data(), *d = workspace.change.data();
  std::copy_n(x, rows, y);
  std::copy_n(c, rows, y_c);
  double momentum = 1.0;
  for (int k = 0; k < max_steps; ++k) {
    may_interrupt(rows);
    gradient_step(problem, pyramid, half, L, step, y, y_c, next);
    double length = 0.0, moved = 0.0, turn = 0.0;
    for (int r = 0; r < rows; ++r) {
      d[r] = next[r] - y[r];
      if (d[r] == 0.0) continue;
      length += d[r] * d[r] / step[r];
      turn -= d[r] * (next[r] - x[r]) / step[r];
      moved = std::max(moved, std::abs(L * d[r] / step[r]));
    }
    std::copy_n(y_c, rows, next_c);
    multiply_add(problem, d, next_c);
    double energy = 0.0;
    for (int r = 0; r < rows; ++r) energy += d[r] * (next_c[r] - y_c[r]);
    if (energy > L * length * (1.0 + 1e-12)) {
      L = 1.1 * energy / length;
      continue;
    }
    const double ahead = take_momentum(turn > 0.0, momentum);
    for (int r = 0; r < rows; ++r) {
      y[r] = next[r] + ahead * (next[r] - x[r]);
      y_c[r] = next_c[r] + ahead * (next_c[r] - c[r]);
      x[r] = next[r];
      c[r] = next_c[r];
    }
    if (!(moved > tolerance)) return;
  }
}

}  // namespace

void LcpStaggeredWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (best.size() >= n) return;
  for (auto* buffer : {&step, &y, &y_velocity, &next, &next_velocity, &change, &start, &last, &best}) buffer->resize(n);
}

LcpStaggered::LcpStaggered(LcpStaggeredOptions options) : options_(options), pyramid_(options.sides) {
  if (options.max_inner < 1) {
    throw std::invalid_argument("LcpStaggered: max_inner is " + std::to_string(options.max_inner));
  }
}

SolveReport LcpStaggered::solve(const Problem& problem, LcpStaggeredWorkspace& workspace, VectorRef lambda,
                                VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  project_onto_pyramids(problem, pyramid_, lambda);
  SolveReport report{.residuals = lcp_residuals(problem, pyramid_, lambda, velocity)};
  if (report.residuals.worst() <= options_.tolerance) return report;

  prepare_steps(problem, workspace.step.data());
  Progress progress(options_.tolerance, 0.01, options_.patience, report.residuals, lambda,
                    VectorView(workspace.best.data(), rows));
  VectorView start(workspace.start.data(), rows), last(workspace.last.data(), rows);
  start = last = lambda;
  double L_normal = 1.0, L_friction = 1.0, worst = report.residuals.worst(), momentum = 1.0;
  while (report.iterations < options_.max_iterations) {
    ++report.iterations;
    // Neither half needs to be much better than the whole.
    const double inner = std::clamp(0.05 * worst, 0.1 * options_.tolerance, 1e3 * options_.tolerance);
    solve_half(problem, pyramid_, Half::normal, inner, options_.max_inner, workspace, L_normal, lambda, velocity);
    solve_half(problem, pyramid_, Half::friction, inner, options_.max_inner, workspace, L_friction, lambda, velocity);
    const Residuals judged = lcp_residuals(problem, pyramid_, lambda, velocity);
    worst = judged.worst();
    if (progress.note(report.iterations, judged, lambda)) break;

    // Away from the bounds the alternation is block descent on the energy, and slow where blocks are tightly coupled:
    // momentum helps it as it helps gradients. It is dropped as soon as it points back.
    double turn = 0.0;
    for (int r = 0; r < rows; ++r) {
      if (workspace.step[r] > 0.0) turn += (start[r] - lambda[r]) * (lambda[r] - last[r]) / workspace.step[r];
    }
    const double ahead = take_momentum(turn > 0.0, momentum);
    start = lambda + ahead * (lambda - last);
    last = lambda;
    project_onto_pyramids(problem, pyramid_, start);
    lambda = start;
    velocity_of(problem, lambda, velocity);
  }
  report.status = progress.status();
  report.residuals = progress.residuals();
  if (report.status != Status::converged) {
    lambda = progress.best();
    report.residuals = lcp_residuals(problem, pyramid_, lambda, velocity);
  }
  return report;
}

}  // namespace taut
