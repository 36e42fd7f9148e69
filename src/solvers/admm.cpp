#include "taut/solvers/admm.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/math/conjugate_gradient.hpp"
#include "taut/math/interruption.hpp"
#include "taut/problem/ccp_residuals.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/factored.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {
namespace {

using Eigen::Map;

// Onto the block's set in the scaled problem: cones and half lines do not notice a scale, an interval does.
void project_scaled(Block block, double scale, double* x) {
  block.bound /= scale;
  project(block, x);
}

void scale_rows(const Problem& problem, AdmmWorkspace& workspace) {
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Tile G = problem.diagonal(i);
    const double scale = 1.0 / std::sqrt(mean_diagonal(problem, i));
    for (int r = 0; r < block.size; ++r) {
      workspace.scale[block.start + r] = scale;
      workspace.diagonal[block.start + r] = scale * scale * (G(r, r) + problem.R[block.start + r]);
    }
  }
}

// y = S (G + R) S x + shift x; `scaled` is scratch.
void apply_scaled(const Problem& problem, const AdmmWorkspace& workspace, double shift, const double* x, double* scaled,
                  double* y) {
  const int rows = problem.rows();
  const double* scale = workspace.scale.data();
  for (int r = 0; r < rows; ++r) {
    scaled[r] = scale[r] * x[r];
    y[r] = 0.0;
  }
  multiply_add(problem, scaled, y);
  for (int r = 0; r < rows; ++r) y[r] = scale[r] * y[r] + shift * x[r];
}

// Largest eigenvalue of the scaled G + R by power iteration [CB, Sec. III-E]. Ten products give it within a tenth,
// and ρ needs no more than its order of magnitude.
double largest_eigenvalue(const Problem& problem, AdmmWorkspace& workspace) {
  const int rows = problem.rows();
  VectorView v(workspace.x.data(), rows), w(workspace.work.data(), rows);
  for (int r = 0; r < rows; ++r) v[r] = 1.0 + 0.1 * (r % 7);  // fixed, and orthogonal to nothing likely
  double value = 1.0;
  for (int k = 0; k < 10; ++k) {
    v *= 1.0 / v.norm();
    apply_scaled(problem, workspace, 0.0, v.data(), workspace.y.data(), w.data());
    v = w;
    value = v.norm();
    if (!(value > 0.0)) return 1.0;
  }
  return value;
}

// Scaled G + R + (η + ρ) I, factored densely. False if it is not positive definite.
bool factor_dense(const Problem& problem, double eta, AdmmWorkspace& workspace) {
  const int rows = problem.rows();
  const auto needed = static_cast<std::size_t>(rows) * rows;
  if (workspace.matrix.size() < needed) workspace.matrix.resize(needed);
  MatrixView L = workspace.factor(rows);
  const auto G = problem.G.dense();
  for (int j = 0; j < rows; ++j) {
    const double scale_j = workspace.scale[j];
    const double* G_j = G.data() + j * G.outerStride();
    double* L_j = L.data() + static_cast<std::ptrdiff_t>(j) * rows;
    for (int r = j; r < rows; ++r) L_j[r] = scale_j * workspace.scale[r] * G_j[r];
    L_j[j] += scale_j * scale_j * problem.R[j] + eta + workspace.rho;
  }
  return cholesky(L);
}

bool factor_sparse(const Problem& problem, double eta, AdmmWorkspace& workspace) {
  SparseSystem& system = workspace.system;
  const double* scale = workspace.scale.data();
  system.start([&](int i) { return problem.blocks[i].start; }, [&](int i) { return problem.blocks[i].size; });
  for (int j = 0; j < problem.size(); ++j) {
    const Block& block = problem.blocks[j];
    const std::ptrdiff_t stride = problem.panel(j).stride;
    for (int k = 0; k < block.size; ++k) {
      const int column = block.start + k;
      SparseLu::Room room = system.lu().add_column(static_cast<int>(stride));
      system.for_each_touched(problem, j, [&](int i, const double* tile) {
        for (int r = 0; r < problem.blocks[i].size; ++r) {
          const int row = problem.blocks[i].start + r;
          *room.rows++ = row;
          *room.values = scale[column] * scale[row] * tile[k * stride + r];
          if (row == column) *room.values += scale[row] * scale[row] * problem.R[row] + eta + workspace.rho;
          ++room.values;
        }
      });
    }
  }
  return system.lu().factor();
}

// A G that rounding made slightly indefinite is met with a larger ρ.
void factor(const Problem& problem, double eta, AdmmWorkspace& workspace) {
  const auto done = [&] {
    return problem.G.is_sparse() ? factor_sparse(problem, eta, workspace) : factor_dense(problem, eta, workspace);
  };
  while (!workspace.iterative && !done()) {
    workspace.rho *= 10.0;
    if (!std::isfinite(workspace.rho)) break;
  }
  workspace.rho_factored = workspace.rho;
}

// x ← (scaled G + R + (η + ρ) I)⁻¹ x.
void solve_shifted(const Problem& problem, double eta, double accuracy, AdmmWorkspace& workspace, VectorView x) {
  const int rows = problem.rows();
  if (!problem.G.is_sparse()) {
    cholesky_solve(workspace.factor(rows), x.data());
    return;
  }
  if (!workspace.iterative) {
    workspace.system.lu().solve(x.data());
    return;
  }
  constexpr int kMostProducts = 200;
  const double shift = eta + workspace.rho;
  VectorView guess(workspace.solved.data(), rows);
  double* scaled = workspace.krylov.data();
  conjugate_gradient(
      rows, [&](const double* in, double* out) { apply_scaled(problem, workspace, shift, in, scaled, out); },
      [&](const double* r, double* z) {
        for (int k = 0; k < rows; ++k) z[k] = r[k] / (workspace.diagonal[k] + shift);
      },
      x.data(), guess.data(), accuracy, kMostProducts, scaled + rows);
  x = guess;
}

}  // namespace

void AdmmWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (scale.size() >= n) return;
  const auto side = static_cast<std::size_t>(std::min(rows, kFactoredRows));
  matrix.resize(side * side);
  for (auto* buffer : {&scale, &x, &x_old, &y, &y_old, &z, &work, &best, &solved, &diagonal}) buffer->resize(n);
  krylov.resize(5 * n);
}

Admm::Admm(AdmmOptions options) : options_(options) {
  if (!(options.over_relaxation > 0.0 && options.over_relaxation < 2.0)) {
    throw std::invalid_argument("Admm: over_relaxation is " + std::to_string(options.over_relaxation) +
                                ", outside (0, 2)");
  }
  if (!(options.eta > 0.0)) throw std::invalid_argument("Admm: eta is " + std::to_string(options.eta));
  if (!(options.rho >= 0.0)) throw std::invalid_argument("Admm: rho is " + std::to_string(options.rho));
}

SolveReport Admm::solve(const Problem& problem, AdmmWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  project(problem, lambda);
  const auto judge = [&] {
    return options_.de_saxce ? residuals(problem, lambda, velocity) : ccp_residuals(problem, lambda, velocity);
  };
  SolveReport report{.residuals = judge()};
  if (report.residuals.worst() <= options_.tolerance) return report;

  const bool spectral = options_.penalty == PenaltyRule::spectral;
  // A cold start owes nothing to the solves before it.
  if (options_.penalty == PenaltyRule::fixed || (lambda.array() == 0.0).all()) workspace.rho = 0.0;
  scale_rows(problem, workspace);
  workspace.iterative = problem.G.is_sparse() && !workspace.system.order(problem);
  if (!(workspace.rho > 0.0)) workspace.rho = options_.rho;
  if (spectral) {
    const double lambda_max = largest_eigenvalue(problem, workspace);
    workspace.condition = std::max(10.0, lambda_max / options_.eta);
    // Between λ_max and η, nearer to the first: √(λ_max η) κ^0.25. [CB, Sec. III-E] leaves the start open, [KL, (172a)]
    // has κ^0.2.
    if (!(workspace.rho > 0.0))
      workspace.rho = std::sqrt(lambda_max * options_.eta) * std::pow(workspace.condition, 0.25);
  } else if (!(workspace.rho > 0.0)) {
    workspace.rho = 1.0;  // [KL, Sec. VI], and the mean diagonal entry of the scaled problem
  }
  factor(problem, options_.eta, workspace);

  VectorView x(workspace.x.data(), rows), x_old(workspace.x_old.data(), rows), y(workspace.y.data(), rows),
      y_old(workspace.y_old.data(), rows), z(workspace.z.data(), rows), w(workspace.work.data(), rows);
  const Map<const Eigen::VectorXd> scale(workspace.scale.data(), rows);
  Progress progress(options_.tolerance, 0.01, options_.patience, report.residuals, lambda,
                    VectorView(workspace.best.data(), rows));
  x = y = lambda.cwiseQuotient(scale);
  VectorView(workspace.solved.data(), rows) = x;
  z = velocity.cwiseProduct(scale);
  for (const Block& block : problem.blocks) {
    if (block.kind == SetKind::cone && options_.de_saxce) {
      z.segment<3>(block.start) += de_saxce(z.segment<3>(block.start), block.mu);
    } else if (block.kind == SetKind::positive) {
      z[block.start] = std::max(0.0, z[block.start]);
    }
  }

  const double step = spectral ? std::pow(workspace.condition, options_.spectral_power) : options_.linear_factor;
  const double omega = options_.over_relaxation;
  // The judge costs about half an iteration.
  constexpr int kCadence = 5;
  // Between two moves of ρ the iterates need time to settle, and a factorization costs about n/6 iterations.
  const int rho_cadence = problem.G.is_sparse() ? 10 : std::max(10, rows / 12);
  int rho_iteration = 0;
  double accuracy = 1e-4;  // of conjugate gradients, relative: a tenth of what is left to gain
  while (report.iterations < options_.max_iterations) {
    may_interrupt(rows);
    const double rho = workspace.rho;
    ++report.iterations;
    x_old = x;
    y_old = y;
    // Primal update [KL, Alg. 6, l. 4-7].
    w = options_.eta * x + rho * y + z - problem.g.cwiseProduct(scale);
    if (options_.de_saxce) {
      for (const Block& block : problem.blocks) {
        if (block.kind == SetKind::cone) w.segment<3>(block.start) -= de_saxce(z.segment<3>(block.start), block.mu);
      }
    }
    const double size = w.norm();
    solve_shifted(problem, options_.eta, accuracy, workspace, w);
    x = (1.0 - omega) * y_old + omega * w;
    // Slack and dual updates [KL, Alg. 6, l. 8-9].
    y = x - z / rho;
    for (const Block& block : problem.blocks) project_scaled(block, scale[block.start], y.data() + block.start);
    z -= rho * (x - y);

    if (report.iterations % kCadence == 0 || report.iterations == options_.max_iterations) {
      lambda = y.cwiseProduct(scale);
      project(problem, lambda);  // the scale may have rounded it out of the set
      if (progress.note(report.iterations, judge(), lambda)) break;
    }
    const double primal = (x - y).lpNorm<Eigen::Infinity>();
    const double dual = (options_.eta * (x - x_old) + rho * (y - y_old)).lpNorm<Eigen::Infinity>();
    if (size > 0.0) accuracy = std::clamp(0.1 * std::max(rho * primal, dual) / size, 1e-14, 1e-4);
    if (options_.penalty == PenaltyRule::fixed || report.iterations - rho_iteration < rho_cadence) continue;
    if (primal > options_.ratio * dual) workspace.rho *= step;
    if (dual > options_.ratio * primal) workspace.rho /= step;
    if (workspace.rho != workspace.rho_factored) {
      factor(problem, options_.eta, workspace);
      rho_iteration = report.iterations;
    }
  }
  report.status = progress.status();
  if (report.status == Status::converged) {
    report.residuals = progress.residuals();
  } else {
    lambda = progress.best();
    report.residuals = judge();
  }
  return report;
}

}  // namespace taut
