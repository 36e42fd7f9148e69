#include "taut/solvers/proximal.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/problem/sets.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {

Proximal::Proximal(ProximalOptions options) : options_(options) {
  if (!(options.sigma > 0.0) || !std::isfinite(options.sigma)) {
    throw std::invalid_argument("Proximal: sigma is " + std::to_string(options.sigma) + ", not positive");
  }
}

SolveReport Proximal::solve(const Problem& problem, ProximalWorkspace& workspace, VectorRef lambda,
                            VectorRef velocity) const {
  const int rows = problem.rows();
  workspace.reserve(rows);
  project(problem, lambda);
  SolveReport report{.residuals = residuals(problem, lambda, velocity)};
  if (report.residuals.worst() <= options_.tolerance) return report;

  workspace.newton.start(problem);
  VectorView R(workspace.compliance.data(), rows), offset(workspace.offset.data(), rows), x(workspace.x.data(), rows);
  double sigma = options_.sigma;
  const Problem model{.G = problem.G, .g = offset, .R = R, .blocks = problem.blocks};
  const auto answer = [&](int i, const double* c, double* gamma, Response& response) {
    respond_in_norm(problem.blocks[i], R.data() + problem.blocks[i].start, c, gamma, response);
  };
  Progress progress(options_.tolerance, 0.01, options_.patience, report.residuals, lambda,
                    VectorView(workspace.best.data(), rows));
  double worst = report.residuals.worst();
  bool over = false;
  while (!over && report.iterations < options_.max_iterations) {
    add_proximal_compliance(problem, sigma, R);
    offset = problem.g - (R - problem.R).cwiseProduct(lambda);
    for (const Block& block : problem.blocks) {
      if (block.kind != SetKind::cone) continue;
      offset.segment<3>(block.start) += de_saxce(velocity.segment<3>(block.start), block.mu);
    }
    // Points on the way need no better answers than the next ones will ask for.
    const double enough = std::max(0.02 * options_.tolerance, 0.02 * worst);
    x = lambda;
    int steps = 0;
    NewtonStep last = NewtonStep::taken;
    while (steps < options_.max_newton_steps && report.iterations < options_.max_iterations) {
      last = newton_step(model, answer, enough, workspace.newton, x);
      if (last != NewtonStep::taken) break;
      ++steps;
      ++report.iterations;
    }
    if (steps == 0 && last == NewtonStep::failed) {
      progress.stall();
      break;
    }
    report.iterations += steps == 0;  // a point that was there already still counts
    lambda = x;
    project(problem, lambda);
    const Residuals judged = residuals(problem, lambda, velocity);
    // Where points crawl they may be further apart; where they jump about, De Saxcé's correction has run away from the
    // velocity it came from, and they must be closer.
    if (judged.worst() > worst) {
      sigma = std::min(options_.most_sigma, 3.0 * sigma);
    } else if (judged.worst() > 0.7 * worst) {
      sigma = std::max(options_.least_sigma, 0.5 * sigma);
    }
    worst = judged.worst();
    over = progress.note(report.iterations, judged, lambda);
  }
  report.status = progress.status();
  if (report.status == Status::converged) {
    report.residuals = progress.residuals();
  } else {
    lambda = progress.best();
    report.residuals = residuals(problem, lambda, velocity);
  }
  return report;
}

}  // namespace taut
