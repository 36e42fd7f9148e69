#include "taut/solvers/nbgs.hpp"

#include "taut/solvers/local_contact.hpp"

namespace taut {
namespace {

struct NbgsRule {
  double omega = 1.0;

  Eigen::Vector3d operator()(const Block& block, const SweepWorkspace::Step& step,
                             const Eigen::Map<const Eigen::Vector3d>& lambda,
                             const Eigen::Map<const Eigen::Vector3d>& c) const {
    Eigen::Vector3d answer = lambda;
    solve_exact_contact({step.G, c - step.G * lambda, block.mu}, answer);
    return omega * (answer - lambda);
  }
};

}  // namespace

Nbgs::Nbgs(SweepOptions options) : options_(options) { check(options, "Nbgs"); }

SolveReport Nbgs::solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  project(problem, lambda);
  return solve_by_sweeps(
      problem, options_, workspace, lambda, velocity, [](double omega) { return NbgsRule{omega}; },
      [&](const VectorRef& x, VectorRef c) { return residuals(problem, x, c); });
}

}  // namespace taut
