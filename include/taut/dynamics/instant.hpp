#pragma once

namespace taut {

/// Where in a step its forces and constraints are evaluated. Semi-implicit Euler looks at q and then goes dt ahead;
/// Moreau's midpoint goes half a step with the old velocity, looks, and goes the other half with the new one.
struct Instant {
  double dt = 0.0;
  double ahead = 0.0;  ///< from the configuration looked at to the end of the step
};

}  // namespace taut
