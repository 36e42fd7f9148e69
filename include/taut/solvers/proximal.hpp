#pragma once

#include "taut/solvers/regularized_newton.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// Proximal points of the exact law, each a convex problem solved by Newton's method.
///
///   λ⁺ = argmin over K of ½ λᵀ (G + R) λ + (g + Γ(c))ᵀ λ + ½ σ (λ − λ_old)ᵀ D (λ − λ_old)
///
/// D holds the mean diagonals of the blocks, Γ(c) is De Saxcé's correction of the last velocity: where λ rests, the
/// exact law holds. The proximal term makes each problem strictly convex, so that redundant contacts do no harm and
/// Newton's method with an exact line search always ends; the fixed point is indifferent to it. What `Admm` does in
/// thousands of cheap iterations this does in tens of dear ones, which pays where G is sparse and large: a pile.
struct ProximalOptions {
  double tolerance = 1e-6;                       ///< on `Residuals::worst()`
  int max_iterations = 2'000;                    ///< Newton steps
  int max_newton_steps = 30;                     ///< for one proximal point
  double sigma = 1e-3;                           ///< weight of the proximal term to start with
  double least_sigma = 1e-5, most_sigma = 1e-1;  ///< where it may go, smaller while points improve
  int patience = 150;  ///< Newton steps without gaining 1 % before the solve counts as stalled
};

class Proximal {
 public:
  explicit Proximal(ProximalOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, ProximalWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const ProximalOptions& options() const { return options_; }

 private:
  ProximalOptions options_;
};

}  // namespace taut
