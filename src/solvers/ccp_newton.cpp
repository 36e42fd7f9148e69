#include "taut/solvers/ccp_newton.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "taut/problem/ccp_residuals.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {

void CcpNewtonWorkspace::reserve(int rows) {
  newton.reserve(rows);
  const auto n = static_cast<std::size_t>(rows);
  if (x.size() >= n) return;
  for (auto* buffer : {&compliance, &x, &best}) buffer->resize(n);
}

CcpNewton::CcpNewton(CcpNewtonOptions options) : options_(options) {
  const auto require_positive = [](const char* name, double value) {
    if (value > 0.0 && std::isfinite(value)) return;
    throw std::invalid_argument(std::string("CcpNewton: ") + name + " is " + std::to_string(value) + ", not positive");
  };
  require_positive("alpha", options.alpha);
  require_positive("beta", options.beta);
  require_positive("sigma", options.sigma);
}

void CcpNewton::compliance(const Problem& problem, VectorRef R) const {
  const double beta = options_.beta, near_rigid = beta * beta / (4.0 * std::numbers::pi * std::numbers::pi);
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Tile G = problem.diagonal(i);
    const double mean = mean_diagonal(problem, i);
    double norm2 = 0.0;
    for (int c = 0; c < block.size; ++c) {
      for (int r = 0; r < block.size; ++r) norm2 += G(r, c) * G(r, c);
    }
    const double w = norm2 > 0.0 ? std::sqrt(norm2) / block.size : mean;
    for (int r = 0; r < block.size; ++r) {
      const bool pair = block.kind == SetKind::cone && r < 2;
      double own = problem.R[block.start + r], wanted = 0.0;
      if (pair) own = std::max(problem.R[block.start], problem.R[block.start + 1]);
      if (options_.regularization == Regularization::mujoco) {
        const double entry = pair ? 0.5 * (G(0, 0) + G(1, 1)) : G(r, r);
        wanted = options_.alpha * (entry > 0.0 ? entry : mean);
      } else {
        wanted = w * (pair || block.kind == SetKind::interval ? options_.sigma : near_rigid);
      }
      R[block.start + r] = std::max(own, wanted);
    }
  }
}

SolveReport CcpNewton::solve(const Problem& problem, CcpNewtonWorkspace& workspace, VectorRef lambda,
                             VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  workspace.newton.start(problem);
  VectorView R(workspace.compliance.data(), rows), x(workspace.x.data(), rows);
  compliance(problem, R);
  const Problem model{.G = problem.G, .g = problem.g, .R = R, .blocks = problem.blocks};
  project(problem, lambda);
  SolveReport report{.residuals = ccp_residuals(model, lambda, velocity)};
  if (report.residuals.worst() > options_.tolerance) {
    Progress progress(options_.tolerance, 0.1, options_.patience, report.residuals, lambda,
                      VectorView(workspace.best.data(), rows));
    const auto answer = [&](int i, const double* c, double* gamma, Response& response) {
      respond_in_norm(problem.blocks[i], R.data() + problem.blocks[i].start, c, gamma, response);
    };
    x = lambda;
    bool over = false;
    while (!over && report.iterations < options_.max_iterations) {
      if (newton_step(model, answer, 0.0, workspace.newton, x) != NewtonStep::taken) {
        progress.stall();
        break;
      }
      ++report.iterations;
      // x, not γ: the same at the solution, but γ = −c/R̃ carries the rounding of c, which a small R̃ magnifies.
      lambda = x;
      project(problem, lambda);
      over = progress.note(report.iterations, ccp_residuals(model, lambda, velocity), lambda);
    }
    report.status = progress.status();
    report.residuals = progress.residuals();
    lambda = progress.best();
  }
  velocity_of(problem, lambda, velocity);
  return report;
}

}  // namespace taut
