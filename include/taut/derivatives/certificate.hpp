#pragma once

#include <vector>

#include "taut/derivatives/response.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut {

/// What says how far a Jacobian is to be trusted.
struct Certificate {
  std::vector<Mode> modes;       ///< of each block of the problem: contacts, limits and dry friction, loops
  std::vector<double> distance;  ///< m/s or rad/s: about how much of a block's free velocity changes its mode
  double nearest = 0.0;          ///< the least of them
  int unknowns = 0, rank = 0;    ///< of the system of impulses; less than full: redundant, and impulses are not unique
  double conditioning = 1.0;     ///< what is left of the constraint that the others repeat most nearly, as a share
  bool unique = true;            ///< false: redundant contacts slide while they turn, and several velocities are right
  bool solved = true;            ///< the step had converged
  bool loops_put_back = false;   ///< after an impact loops were put back by hand, which is not differentiated
  bool scaled_restitution = false;  ///< bounces were lowered to keep energy, by a factor that is taken as constant
};

/// Of the last step of a simulator. Keeps the memory of `certificate`.
void certify(const Simulator& simulator, const ImpulseResponse& response, Certificate& certificate);

}  // namespace taut
