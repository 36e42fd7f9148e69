#include "taut/solvers/raisim.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/problem/judge.hpp"

namespace taut {
namespace {

struct RaisimRule {
  const RaisimOptions& options;
  double omega = 1.0;

  Eigen::Vector3d operator()(const Block& block, const SweepWorkspace::Step& step,
                             const Eigen::Map<const Eigen::Vector3d>& lambda,
                             const Eigen::Map<const Eigen::Vector3d>& c) const {
    const double shift = options.de_saxce ? de_saxce(c, block.mu)[2] : 0.0;
    Eigen::Vector3d answer = lambda;
    solve_raisim_contact({step.G, c - step.G * lambda, block.mu}, options.search, shift, answer);
    return omega * (answer - lambda);
  }
};

}  // namespace

Raisim::Raisim(RaisimOptions options) : options_(options) {
  check(options.sweeps, "Raisim");
  if (!(options.early_stopping >= 0.0)) {
    throw std::invalid_argument("Raisim: early_stopping is " + std::to_string(options.early_stopping) +
                                ", which is negative");
  }
  if (options.early_stopping > 0.0) options_.sweeps.stop_below_change = std::sqrt(2.0 * options.early_stopping);
}

SolveReport Raisim::solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda,
                          VectorRef velocity) const {
  project(problem, lambda);
  return solve_by_sweeps(
      problem, options_.sweeps, workspace, lambda, velocity, [&](double omega) { return RaisimRule{options_, omega}; },
      [&](const VectorRef& x, VectorRef c) {
        return options_.de_saxce ? residuals(problem, x, c) : raisim_residuals(problem, x, c);
      });
}

Residuals raisim_residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity) {
  return judge_blocks(
      problem, lambda, velocity,
      [&](const Block& block, double stiffness, const Eigen::Vector3d& x, const Eigen::Vector3d& c, Residuals& r) {
        const int i = static_cast<int>(&block - problem.blocks.data());
        const Tile tile = problem.diagonal(i);
        LocalContact contact;
        contact.mu = block.mu;
        for (int col = 0; col < 3; ++col) {
          for (int row = 0; row < 3; ++row) contact.G(row, col) = tile(row, col);
          contact.G(col, col) += problem.R[block.start + col];
        }
        contact.free = c - contact.G * x;

        // Where G_ii is singular impulses are not unique but velocities are, except that a contact which leaves has no
        // impulse at all. Where the law has no answer only rest would do.
        Eigen::Vector3d answer = x;
        const bool answered = solve_raisim_contact(contact, SlidingSearch::quartic, 0.0, answer);
        double apart = c.lpNorm<Eigen::Infinity>();
        if (answered && answer[2] == 0.0) {
          apart = stiffness * x.lpNorm<Eigen::Infinity>();
        } else if (answered) {
          apart = (contact.G * (x - answer)).lpNorm<Eigen::Infinity>();
        }
        r.primal = std::max(r.primal, (x - project_onto_cone(x, block.mu)).norm());
        r.dual = std::max(r.dual, -c[2]);
        r.complementarity = std::max(r.complementarity, std::abs(x[2] * c[2]));
        r.natural = std::max(r.natural, apart);
      });
}

}  // namespace taut
