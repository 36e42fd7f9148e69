#include "taut/solvers/lcp_pgs.hpp"

namespace taut {
namespace {

using Eigen::Map;
using Eigen::Vector2d;
using Eigen::Vector3d;

// The rule of a contact [CB, Alg. 1, l. 3-6].
struct LcpRule {
  const Pyramid& pyramid;
  double omega;

  Vector3d operator()(const Block& block, const SweepWorkspace::Step& step, const Map<const Vector3d>& lambda,
                      const Map<const Vector3d>& c) const {
    const double normal = std::max(0.0, lambda[2] - omega * step.normal * c[2]), pushed = normal - lambda[2];
    // Friction sees the new normal impulse. CB divides by min(G_xx, G_yy), which can overshoot; 1/max never exceeds
    // 2/λ_max(G_TT) [RS, eq. (18)].
    const Vector2d c_t = c.head<2>() + pushed * step.G.col(2).head<2>();
    const Vector2d target = lambda.head<2>() - omega * step.tangential * c_t;
    const Vector2d tangential = pyramid.project_onto_polygon(target, block.mu * normal);
    return {tangential[0] - lambda[0], tangential[1] - lambda[1], pushed};
  }
};

}  // namespace

LcpPgs::LcpPgs(SweepOptions options, int sides) : options_(options), pyramid_(sides) { check(options, "LcpPgs"); }

SolveReport LcpPgs::solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda,
                          VectorRef velocity) const {
  project_onto_pyramids(problem, pyramid_, lambda);
  return solve_by_sweeps(
      problem, options_, workspace, lambda, velocity, [&](double omega) { return LcpRule{pyramid_, omega}; },
      [&](const VectorRef& x, VectorRef c) { return lcp_residuals(problem, pyramid_, x, c); });
}

}  // namespace taut
