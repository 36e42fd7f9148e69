#pragma once

#include "taut/problem/lcp_residuals.hpp"
#include "taut/solvers/gauss_seidel.hpp"

namespace taut {

/// Projected Gauss-Seidel for the LCP model [CB, Alg. 1].
///
/// A sweep visits the blocks in order and, the others frozen, corrects the normal impulse of a contact, then the
/// tangential one, which it takes back to the polygon of the new normal impulse: Alg. 1's clamp, for any number of
/// sides. Cheap and easy to warm start; slow for mass ratios and redundant contacts, like every sweep.
class LcpPgs {
 public:
  /// Throws std::invalid_argument if an option is out of range or there are fewer than three sides.
  explicit LcpPgs(SweepOptions options = {}, int sides = 4);

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const SweepOptions& options() const { return options_; }
  const Pyramid& pyramid() const { return pyramid_; }

 private:
  SweepOptions options_;
  Pyramid pyramid_;
};

}  // namespace taut
