#include "taut/solvers/pgs.hpp"

namespace taut {

Pgs::Pgs(SweepOptions options) : options_(options) { check(options, "Pgs"); }

SolveReport Pgs::solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const {
  project(problem, lambda);
  return solve_by_sweeps(
      problem, options_, workspace, lambda, velocity, [](double omega) { return PgsRule{omega}; },
      [&](const VectorRef& x, VectorRef c) { return residuals(problem, x, c); });
}

}  // namespace taut
