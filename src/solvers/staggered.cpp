#include "taut/solvers/staggered.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/problem/sets.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {
namespace {

enum class Half { normal, friction };

// What one of the two problems lets a block do: γ and L of the rows that are its unknowns, `frozen` for the others.
void respond(Half half, const Block& block, const double* R, const double* frozen, const double* c, double* gamma,
             Response& response) {
  response.count = 0;
  response.diagonal = false;
  if (block.kind == SetKind::cone) {
    for (int r = 0; r < 3; ++r) gamma[r] = frozen[r];
    if (half == Half::normal) {
      gamma[2] = std::max(0.0, -c[2] / R[2]);
      if (gamma[2] > 0.0) {
        response.L.col(0) << 0.0, 0.0, 1.0 / std::sqrt(R[2]);
        response.count = 1;
      }
      return;
    }
    const Eigen::Vector2d y(-c[0] / R[0], -c[1] / R[1]);
    const double radius = block.mu * frozen[2], size = y.norm(), scale = 1.0 / std::sqrt(R[0]);
    const Eigen::Vector2d projected = project_onto_disk(y, radius);
    gamma[0] = projected[0];
    gamma[1] = projected[1];
    if (size <= radius) {
      response.L.col(0) << scale, 0.0, 0.0;
      response.L.col(1) << 0.0, scale, 0.0;
      response.count = 2;
    } else if (radius > 0.0) {  // on the rim the impulse can only turn
      const double around = scale * std::sqrt(radius / size);
      response.L.col(0) << -around * y[1] / size, around * y[0] / size, 0.0;
      response.count = 1;
    }
    return;
  }
  const bool mine = block.kind == SetKind::free || (block.kind == SetKind::positive) == (half == Half::normal);
  for (int r = 0; r < block.size; ++r) gamma[r] = mine ? -c[r] / R[r] : frozen[r];
  if (!mine) return;
  const double wanted = gamma[0];
  project(block, gamma);
  response.diagonal = gamma[0] == wanted;
  response.count = response.diagonal ? block.size : 0;
}

// What Newton's method leaves outside the sets by rounding or by stopping early.
void tidy(Half half, const Block& block, double* lambda) {
  if (block.kind != SetKind::cone) {
    project(block, lambda);
  } else if (half == Half::normal) {
    lambda[2] = std::max(0.0, lambda[2]);
  } else {
    Eigen::Map<Eigen::Vector2d> tangential(lambda);
    tangential = project_onto_disk(tangential, block.mu * lambda[2]);
  }
}

}  // namespace

Staggered::Staggered(StaggeredOptions options) : options_(options) {
  if (!(options.proximal > 0.0) || !std::isfinite(options.proximal)) {
    throw std::invalid_argument("Staggered: proximal is " + std::to_string(options.proximal) + ", not positive");
  }
}

SolveReport Staggered::solve(const Problem& problem, ProximalWorkspace& workspace, VectorRef lambda,
                             VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  project(problem, lambda);
  SolveReport report{.residuals = residuals(problem, lambda, velocity)};
  if (report.residuals.worst() <= options_.tolerance) return report;

  workspace.newton.start(problem);
  VectorView R(workspace.compliance.data(), rows), offset(workspace.offset.data(), rows), x(workspace.x.data(), rows);
  add_proximal_compliance(problem, options_.proximal, R);
  const auto solve_half = [&](Half half, double enough) {
    // ½ λᵀ R λ + ½ (λ − λ_old)ᵀ (R̃ − R) (λ − λ_old) = ½ λᵀ R̃ λ − λᵀ (R̃ − R) λ_old + constant
    offset = problem.g - (R - problem.R).cwiseProduct(lambda);
    const Problem model{.G = problem.G, .g = offset, .R = R, .blocks = problem.blocks};
    x = lambda;
    for (int k = 0; k < options_.max_newton_steps; ++k) {
      const auto answer = [&](int i, const double* c, double* gamma, Response& response) {
        const int start = problem.blocks[i].start;
        respond(half, problem.blocks[i], R.data() + start, lambda.data() + start, c, gamma, response);
      };
      if (newton_step(model, answer, enough, workspace.newton, x) != NewtonStep::taken) break;
    }
    lambda = x;
    for (const Block& block : problem.blocks) tidy(half, block, lambda.data() + block.start);
  };

  Progress progress(options_.tolerance, 0.01, options_.patience, report.residuals, lambda,
                    VectorView(workspace.best.data(), rows));
  bool over = false;
  Residuals judged = report.residuals;
  while (!over && report.iterations < options_.max_iterations) {
    // Early alternations need no better answers than the other half's errors allow.
    const double enough = std::max(0.02 * options_.tolerance, std::min(1e-3 * judged.worst(), 1.0));
    solve_half(Half::normal, enough);
    solve_half(Half::friction, enough);
    ++report.iterations;
    judged = residuals(problem, lambda, velocity);
    over = progress.note(report.iterations, judged, lambda);
  }
  report.status = progress.status();
  lambda = progress.best();
  report.residuals = residuals(problem, lambda, velocity);
  return report;
}

}  // namespace taut
