#pragma once

#include "taut/solvers/gauss_seidel.hpp"

namespace taut {

/// Nonlinear block Gauss-Seidel: sweeps in which every contact, the others frozen, is solved exactly.
///
///   find λ such that  K_μ ∋ λ ⊥ c + Γ(c, μ) ∈ K_μ*,   c = (G + R) λ + g          [CB, eq. (15)]
///
/// The scheme of [KL, Alg. 5] with the law itself in the local solve (`solve_exact_contact`) where [KL, Alg. 4] takes
/// RaiSim's. Where normal and tangential motion of a contact are coupled it needs fewer sweeps than `Pgs`, each a few
/// times dearer; what couples contacts among themselves hurts both alike.
class Nbgs {
 public:
  explicit Nbgs(SweepOptions options = {});  ///< throws std::invalid_argument if ω is outside (0, 2)

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const SweepOptions& options() const { return options_; }

 private:
  SweepOptions options_;
};

}  // namespace taut
