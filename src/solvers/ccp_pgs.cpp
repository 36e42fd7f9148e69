#include "taut/solvers/ccp_pgs.hpp"

#include <cmath>

#include "taut/problem/ccp_residuals.hpp"

namespace taut {
namespace {

// λ_i ← P_K(λ_i − s c_i) [CB, Alg. 2, l. 3-4].
struct CcpRule {
  double omega = 1.0;

  Eigen::Vector3d operator()(const Block& block, const SweepWorkspace::Step& step,
                             const Eigen::Map<const Eigen::Vector3d>& lambda,
                             const Eigen::Map<const Eigen::Vector3d>& c) const {
    return project_onto_cone(lambda - length(step.G) * c, block.mu) - lambda;
  }

  // CB takes s = 1/m with m the mean of the eigenvalues, which overshoots, and may diverge, where one of the three
  // carries most of the trace: a gradient step goes down only if s < 2/λ_max. λ_max ≤ m + √(2/3) |G − m I| (Wolkowicz
  // and Styan), with equality for one, two or three equal eigenvalues beside zeros.
  double length(const Eigen::Matrix3d& G) const {
    const double mean = G.trace() / 3.0;
    if (!(mean > 0.0)) return 0.0;
    const double largest = mean + std::sqrt(2.0 / 3.0 * (G - mean * Eigen::Matrix3d::Identity()).squaredNorm());
    return std::min(omega / mean, std::max(omega, 1.5) / largest);
  }
};

}  // namespace

CcpPgs::CcpPgs(SweepOptions options) : options_(options) { check(options, "CcpPgs"); }

SolveReport CcpPgs::solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda,
                          VectorRef velocity) const {
  project(problem, lambda);
  return solve_by_sweeps(
      problem, options_, workspace, lambda, velocity, [](double omega) { return CcpRule{omega}; },
      [&](const VectorRef& x, VectorRef c) { return ccp_residuals(problem, x, c); });
}

}  // namespace taut
