#pragma once

#include <optional>
#include <string>

#include "taut/collision/detector.hpp"
#include "taut/constraints/contact.hpp"
#include "taut/constraints/softening.hpp"
#include "taut/solvers/solver.hpp"

namespace taut {

/// Semi-implicit Euler looks at the start of the step; Moreau's midpoint scheme half a step further, and is second
/// order where nothing touches and no damper, spring or servo, which are implicit in both, holds a joint.
enum class Integrator { euler, moreau };

struct SimulatorOptions {
  double dt = 1e-3;
  Integrator integrator = Integrator::euler;
  std::string solver = "auto";
  SolverOptions solving{};  ///< what the solver is told; its tolerance is in m/s
  Stabilization stabilization{};
  ContactCompliance compliance{};       ///< of every contact, beside that of its surfaces; 0: rigid
  double restitution_threshold = 0.02;  ///< m/s or rad/s: slower impacts do not bounce
  std::optional<Softening> soft_contacts{}, soft_limits{}, soft_loops{};  ///< MuJoCo's, instead of rigid ones
  NarrowPhase narrow_phase{};                                             ///< which GJK, and where it starts
  bool warm_start = true;
  bool joint_limits = true;
  bool joint_friction = true;
  bool profile = false;  ///< fill `Record::seconds`

  Instant instant() const { return {dt, integrator == Integrator::moreau ? 0.5 * dt : dt}; }
};

/// Throws std::invalid_argument naming the value: dt ≤ 0, negative compliance, shares outside [0, 1], ….
void validate(const SimulatorOptions& options);

}  // namespace taut
