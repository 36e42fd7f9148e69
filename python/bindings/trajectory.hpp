#pragma once

#include <vector>

#include "taut/derivatives/rollout_adjoint.hpp"

namespace taut::python {

/// What a rollout returns: the run, and what was reported of each step.
struct Trajectory {
  Rollout run;
  std::vector<SolveReport> reports;
  std::vector<int> contacts;
};

}  // namespace taut::python
