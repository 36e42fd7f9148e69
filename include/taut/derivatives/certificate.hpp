#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "taut/derivatives/row_conditions.hpp"

namespace taut {

/// What says how far a derivative of a step is to be trusted, in a few numbers: what a run keeps of each step.
struct CertificateSummary {
  double nearest = HUGE_VAL;    ///< the least distance of a block to a switch of its mode, see `Certificate::distance`
  int unknowns = 0, rank = 0;   ///< of the system of impulses; less than full: redundant, and impulses are not unique
  double conditioning = 1.0;    ///< what is left of the constraint that the others repeat most nearly, as a share
  double residual = 0.0;        ///< m/s: the worst of the exact law's residuals, whatever the solver's own law
  bool unique = true;           ///< false: redundant contacts slide while they turn, and several velocities are right
  bool solved = true;           ///< the residual is within the simulator's tolerance: what is differentiated holds
  bool loops_put_back = false;  ///< after an impact loops were put back by hand, which is not differentiated
  bool scaled_restitution = false;  ///< bounces were lowered to keep energy, by a factor that is taken as constant
};

/// The same with what it says of each block of the problem: contacts, limits and dry friction, loops.
struct Certificate : CertificateSummary {
  std::vector<Mode> modes;
  std::vector<double> distance;  ///< m/s or rad/s: about how much of a block's free velocity changes its mode
};

/// The worst of many steps, entry by entry; unknowns and rank are those of the step that lacks most.
CertificateSummary worst_of(std::span<const CertificateSummary> steps);

/// Whether the last step solves the exact law to the simulator's tolerance: the judge's word, not the solver's.
bool solves_exact_law(const Simulator& simulator);

/// Of the last step of a simulator. Keeps the memory of `certificate`.
void certify(const Simulator& simulator, const ImpulseResponse& response, const RowConditions& conditions,
             Certificate& certificate);

}  // namespace taut
