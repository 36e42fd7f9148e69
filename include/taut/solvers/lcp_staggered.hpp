#pragma once

#include <vector>

#include "taut/problem/lcp_residuals.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// Staggered projections on the pyramid [CB, Alg. 7].
///
/// Alternates two convex problems until neither changes the other's answer: the normal impulses that close the contacts
/// with friction frozen,  min ½ λ_Nᵀ G_N λ_N + (g_N + G_NT λ_T)ᵀ λ_N  over λ_N ≥ 0,  and the friction that dissipates
/// most within the polygons of these normal impulses. (Line 2 of Alg. 7 prints g_T for g_N.) Other blocks have sets
/// that nobody moves and take part in both. Convergence is usual, not guaranteed: a heavy body that slides on a light
/// one can take thousands of rounds.
///
/// Both are solved by accelerated projected gradients with restarts: products with G only, so that a sparse G stays
/// sparse, and indifferent to its rank. The rounds themselves carry momentum, too.
struct LcpStaggeredOptions {
  double tolerance = 1e-6;  ///< on the worst of `lcp_residuals`
  int sides = 4;            ///< of the pyramid
  int max_iterations = 2'000;
  int max_inner = 5'000;  ///< steps for each of the two problems
  int patience = 200;     ///< iterations without gaining 1 % before the solve counts as stalled
};

/// Buffers of `LcpStaggered`.
struct LcpStaggeredWorkspace {
  void reserve(int rows);

  std::vector<double> step;  ///< per row: 1/(G + R)_rr, the larger of the two for tangential rows; 0: moves nothing
  std::vector<double> y, y_velocity;        ///< where momentum leads
  std::vector<double> next, next_velocity;  ///< the iterate after
  std::vector<double> change, start, last, best;
};

class LcpStaggered {
 public:
  explicit LcpStaggered(
      LcpStaggeredOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, LcpStaggeredWorkspace& workspace, VectorRef lambda,
                    VectorRef velocity) const;

  const LcpStaggeredOptions& options() const { return options_; }
  const Pyramid& pyramid() const { return pyramid_; }

 private:
  LcpStaggeredOptions options_;
  Pyramid pyramid_;
};

}  // namespace taut
