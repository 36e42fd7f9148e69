#pragma once

#include "taut/solvers/gauss_seidel.hpp"
#include "taut/solvers/local_contact.hpp"

namespace taut {

struct RaisimOptions {
  SweepOptions sweeps = {.least_relaxation = 0.7, .relaxation_decay = 0.99};  ///< [RS, Sec. V-C]
  SlidingSearch search = SlidingSearch::bisection;
  /// Adds De Saxcé's correction, from the velocity at hand, to each local solve [KL, RAISIM-DS]. What sweeps then
  /// settle on is the exact law, and `residuals` its judge, as long as μ |G_nt| < G_nn in every contact; beyond, they
  /// may settle on nothing.
  bool de_saxce = false;
  /// Also stop when a sweep improves the objective by less than this per unit of inertia, m²/s² [KL, eq. (160)]; 0
  /// never. KL divides by the inertia of the whole mechanism; here each contact counts with its apparent one, against
  /// which a correction that moves it by δ improves ½ δ². Such a solve is `converged` only if the judge agrees.
  double early_stopping = 0.0;
};

/// The method of RaiSim: sweeps in which every contact, the others frozen, obeys RaiSim's law [RS, Alg. 2].
///
/// A contact that leaves or sticks obeys the exact law. One that slides keeps Signorini's condition but takes the
/// impulse of its cone that stops it best (`solve_raisim_contact`), with which it slides along
///
///   c_t ∝ −λ_t − μ² λ_n G_nt / G_nn          [CB, eq. (24)]
///
/// and not against its friction: maximum dissipation is lost wherever G_nt ≠ 0.
class Raisim {
 public:
  /// Throws std::invalid_argument if ω is outside (0, 2) or `early_stopping` negative.
  explicit Raisim(RaisimOptions options = {});

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. The report's residuals are
  /// those of RaiSim's law, or of the exact one with `de_saxce`. Does not allocate once `workspace` has the rows.
  SolveReport solve(const Problem& problem, SweepWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const RaisimOptions& options() const { return options_; }

 private:
  RaisimOptions options_;
};

/// The judge of RaiSim's law: for each contact, `natural` is how far its velocity is from that of its local answer
/// (m/s), `dual` the penetration velocity, `complementarity` |λ_n c_n|. `velocity` receives c = (G + R) λ + g.
Residuals raisim_residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity);

}  // namespace taut
