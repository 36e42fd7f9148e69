#pragma once

#include "taut/solvers/regularized_newton.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// Staggered projections [CB, Alg. 7] for the exact law [CB, eq. (15)].
///
/// The law is two convex problems that share their data: with friction frozen, normal impulses minimize the energy of
/// the bodies over λ_n ≥ 0; with normal impulses frozen, friction minimizes it over the disks |λ_t| ≤ μ λ_n. They are
/// solved in turn until neither changes the other's answer. (Line 2 of Alg. 7 must read g̃_N = g_N + G_NT λ_T.) Limits
/// belong to the first problem, joint friction to the second, bilateral blocks to both.
///
/// Each problem is solved by Newton's method with a proximal term ½ ‖λ − λ_old‖², so that redundant contacts and mass
/// ratios trouble neither of the two. The alternation has no guarantee: where friction and normal impulses feed each
/// other it converges slowly or not at all, and says so.
struct StaggeredOptions {
  double tolerance = 1e-6;     ///< on `Residuals::worst()`
  int max_iterations = 1'000;  ///< alternations
  int max_newton_steps = 50;   ///< in each of the two problems
  /// Weight of the proximal term, relative to the block's mean diagonal. 1e-3 is 2.5 times as fast on a stack of twelve
  /// equal cubes, but forgets its last answer too slowly for a cube on one a million times lighter.
  double proximal = 1e-6;
  int patience = 100;  ///< alternations without gaining 1 % before the solve counts as stalled
};

class Staggered {
 public:
  explicit Staggered(StaggeredOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, ProximalWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const StaggeredOptions& options() const { return options_; }

 private:
  StaggeredOptions options_;
};

}  // namespace taut
