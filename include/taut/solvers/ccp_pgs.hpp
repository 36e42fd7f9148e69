#pragma once

#include "taut/solvers/gauss_seidel.hpp"

namespace taut {

/// Projected Gauss-Seidel for the convex relaxation [CB, Alg. 2].
///
///   find λ such that  K_μ ∋ λ ⊥ c ∈ K_μ*,   c = (G + R) λ + g          [CB, eq. (16)]
///
/// A sweep visits the blocks in order and, the others frozen, takes one gradient step of a contact's impulse and
/// projects it onto the cone. The problem is convex and every step goes down, so the sweeps converge, if slowly. A
/// sliding contact leaves the plane at c_n = μ |c_t|: that is the model, not an error of the method.
class CcpPgs {
 public:
  explicit CcpPgs(SweepOptions options = {});  ///< throws std::invalid_argument if ω is outside (0, 2)

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const SweepOptions& options() const { return options_; }

 private:
  SweepOptions options_;
};

}  // namespace taut
