#pragma once

#include "taut/solvers/gauss_seidel.hpp"

namespace taut {

/// Projected Gauss-Seidel.
///
///   find λ such that  K_μ ∋ λ ⊥ c + Γ(c, μ) ∈ K_μ*,   c = (G + R) λ + g          [CB, eq. (15)]
///
/// A sweep visits the blocks in order and, the others frozen, corrects the block's impulse: exactly for bilateral
/// blocks, limits and joint friction; for a contact the normal impulse, then the tangential one [CB, Alg. 6]. Cheap
/// and easy to warm start; slow when masses in contact differ by orders of magnitude or contacts are redundant, where
/// `Newton` and `Admm` do better.
class Pgs {
 public:
  explicit Pgs(SweepOptions options = {});  ///< throws std::invalid_argument if ω is outside (0, 2)

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const SweepOptions& options() const { return options_; }

 private:
  SweepOptions options_;
};

/// The rule of a contact: the normal impulse, then the tangential one [CB, Alg. 6, l. 3-6].
struct PgsRule {
  double omega = 1.0;

  Eigen::Vector3d operator()(const Block& block, const SweepWorkspace::Step& step,
                             const Eigen::Map<const Eigen::Vector3d>& lambda,
                             const Eigen::Map<const Eigen::Vector3d>& c) const {
    const double normal = std::max(0.0, lambda[2] - omega * step.normal * c[2]), pushed = normal - lambda[2];
    // Friction must see the new normal impulse. CB divides by min(G_xx, G_yy), which can overshoot; 1/max never exceeds
    // 2/λ_max(G_TT) [RS, eq. (18)].
    const double shrink = omega * step.tangential;
    const Eigen::Vector2d target(lambda[0] - shrink * (c[0] + step.G(0, 2) * pushed),
                                 lambda[1] - shrink * (c[1] + step.G(1, 2) * pushed));
    const Eigen::Vector2d tangential = project_onto_disk(target, block.mu * normal);
    return {tangential[0] - lambda[0], tangential[1] - lambda[1], pushed};
  }
};

}  // namespace taut
