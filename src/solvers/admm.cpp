#include "taut/solvers/admm.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/problem/sets.hpp"

namespace taut {
namespace {

using Eigen::Map;
using Eigen::Vector3d;

// Onto the block's set in the scaled problem: cones and half lines do not notice a scale, an interval does.
void project_scaled(Block block, double scale, double* x) {
  block.bound /= scale;
  project(block, x);
}

void scale_rows(const Problem& problem, AdmmWorkspace& workspace) {
  for (const Block& block : problem.blocks) {
    const double scale = 1.0 / std::sqrt(mean_diagonal(problem, block));
    for (int r = block.start; r < block.start + block.size; ++r) workspace.scale[r] = scale;
  }
}

// Largest eigenvalue of the scaled G + R by power iteration [CB, Sec. III-E]. Ten products give it within a tenth,
// and ρ needs no more than its order of magnitude.
double largest_eigenvalue(const Problem& problem, AdmmWorkspace& workspace) {
  const int rows = problem.rows();
  VectorView v(workspace.x.data(), rows), w(workspace.work.data(), rows);
  const Map<const Eigen::VectorXd> scale(workspace.scale.data(), rows);
  for (int r = 0; r < rows; ++r) v[r] = 1.0 + 0.1 * (r % 7);  // fixed, and orthogonal to nothing likely
  double value = 1.0;
  for (int k = 0; k < 10; ++k) {
    v *= 1.0 / v.norm();
    v.array() *= scale.array();
    w = problem.R.cwiseProduct(v);
    multiply_add(rows, rows, problem.G.data(), problem.G.outerStride(), v.data(), w.data());
    v = w.cwiseProduct(scale);
    value = v.norm();
    if (!(value > 0.0)) return 1.0;
  }
  return value;
}

// Scaled G + R + (η + ρ) I, factored. A G that rounding made slightly indefinite is met with a larger ρ.
void factor(const Problem& problem, double eta, AdmmWorkspace& workspace) {
  const int rows = problem.rows();
  MatrixView L = workspace.factor(rows);
  for (;;) {
    for (int j = 0; j < rows; ++j) {
      const double scale_j = workspace.scale[j];
      const double* G_j = problem.G.data() + j * problem.G.outerStride();
      double* L_j = L.data() + static_cast<std::ptrdiff_t>(j) * rows;
      for (int r = j; r < rows; ++r) L_j[r] = scale_j * workspace.scale[r] * G_j[r];
      L_j[j] += scale_j * scale_j * problem.R[j] + eta + workspace.rho;
    }
    if (cholesky(L)) break;
    workspace.rho *= 10.0;
    if (!std::isfinite(workspace.rho)) break;
  }
  workspace.rho_factored = workspace.rho;
}

}  // namespace

void AdmmWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (scale.size() >= n) return;
  matrix.resize(n * n);
  for (auto* buffer : {&scale, &x, &x_old, &y, &y_old, &z, &work, &best}) buffer->resize(n);
}

Admm::Admm(AdmmOptions options) : options_(options) {
  if (!(options.over_relaxation > 0.0 && options.over_relaxation < 2.0)) {
    throw std::invalid_argument("Admm: over_relaxation is " + std::to_string(options.over_relaxation) +
                                ", outside (0, 2)");
  }
  if (!(options.eta > 0.0)) throw std::invalid_argument("Admm: eta is " + std::to_string(options.eta));
}

SolveReport Admm::solve(const Problem& problem, AdmmWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  project(problem, lambda);
  SolveReport report{.residuals = residuals(problem, lambda, velocity)};
  if (report.residuals.worst() <= options_.tolerance) return report;

  if ((lambda.array() == 0.0).all()) workspace.rho = 0.0;  // a cold start owes nothing to the solves before it
  scale_rows(problem, workspace);
  const double lambda_max = largest_eigenvalue(problem, workspace);
  workspace.condition = std::max(10.0, lambda_max / options_.eta);
  // Between λ_max and η, nearer to the first: √(λ_max η) κ^0.25 [CB, Sec. III-E leaves the start open].
  if (!(workspace.rho > 0.0))
    workspace.rho = std::sqrt(lambda_max * options_.eta) * std::pow(workspace.condition, 0.25);
  factor(problem, options_.eta, workspace);

  VectorView x(workspace.x.data(), rows), x_old(workspace.x_old.data(), rows), y(workspace.y.data(), rows),
      y_old(workspace.y_old.data(), rows), z(workspace.z.data(), rows), w(workspace.work.data(), rows),
      best(workspace.best.data(), rows);
  const Map<const Eigen::VectorXd> scale(workspace.scale.data(), rows);
  best = lambda;
  x = y = lambda.cwiseQuotient(scale);
  z = velocity.cwiseProduct(scale);
  for (const Block& block : problem.blocks) {
    if (block.kind == SetKind::cone) {
      z.segment<3>(block.start) += de_saxce(z.segment<3>(block.start), block.mu);
    } else if (block.kind == SetKind::positive) {
      z[block.start] = std::max(0.0, z[block.start]);
    }
  }

  const double step = std::pow(workspace.condition, options_.spectral_power), omega = options_.over_relaxation;
  // The judge costs about half an iteration.
  constexpr int kCadence = 5;
  // Between two moves of ρ the iterates need time to settle, and a factorization costs about n/6 iterations.
  const int rho_cadence = std::max(10, rows / 12);
  double reference = report.residuals.worst();
  int reference_iteration = 0, rho_iteration = 0;
  report.status = Status::iteration_limit;
  while (report.iterations < options_.max_iterations) {
    const double rho = workspace.rho;
    ++report.iterations;
    x_old = x;
    y_old = y;
    // Primal update [KL, Alg. 6, l. 4-7].
    w = options_.eta * x + rho * y + z - problem.g.cwiseProduct(scale);
    for (const Block& block : problem.blocks) {
      if (block.kind == SetKind::cone) w.segment<3>(block.start) -= de_saxce(z.segment<3>(block.start), block.mu);
    }
    cholesky_solve(workspace.factor(rows), w.data());
    x = (1.0 - omega) * y_old + omega * w;
    // Slack and dual updates [KL, Alg. 6, l. 8-9].
    y = x - z / rho;
    for (const Block& block : problem.blocks) project_scaled(block, scale[block.start], y.data() + block.start);
    z -= rho * (x - y);

    if (report.iterations % kCadence == 0 || report.iterations == options_.max_iterations) {
      lambda = y.cwiseProduct(scale);
      project(problem, lambda);  // the scale may have rounded it out of the set
      const Residuals judged = residuals(problem, lambda, velocity);
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
        reference_iteration = report.iterations;
      } else if (report.iterations - reference_iteration >= options_.patience) {
        report.status = Status::stalled;
        break;
      }
    }
    if (report.iterations - rho_iteration >= rho_cadence) {
      const double primal = (x - y).lpNorm<Eigen::Infinity>();
      const double dual = (options_.eta * (x - x_old) + rho * (y - y_old)).lpNorm<Eigen::Infinity>();
      if (primal > options_.ratio * dual) workspace.rho *= step;
      if (dual > options_.ratio * primal) workspace.rho /= step;
      if (workspace.rho != workspace.rho_factored) {
        factor(problem, options_.eta, workspace);
        rho_iteration = report.iterations;
      }
    }
  }
  lambda = best;
  report.residuals = residuals(problem, lambda, velocity);
  return report;
}

}  // namespace taut
