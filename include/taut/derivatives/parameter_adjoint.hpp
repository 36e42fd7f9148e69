#pragma once

#include "taut/derivatives/row_conditions.hpp"
#include "taut/dynamics/inverse_dynamics_adjoint.hpp"
#include "taut/simulation/parameters.hpp"

namespace taut {

/// What the adjoint of a step leaves behind: multipliers of its equations. The step is
///
///   M̃ a = forces (and M̃ w = slow forces, where Coriolis torques are taken ahead),   rows = 0,   λ as its modes have it
///
/// so that the adjoint of a parameter is  force · d(forces) + slow · d(slow forces) + y · d(rows) + λ̄ · dλ.
struct StepMultipliers {
  const ImpulseResponse& response;
  const RowMotion& motion;  ///< after its `pull`
  const RowConditions& conditions;
  const InverseDynamicsAdjoint &adjoint, &adjoint_slow;
  const Eigen::VectorXd &force, &slow;  ///< `slow` is empty where there is none
  const Eigen::VectorXd &acceleration, &slow_acceleration;
  const Eigen::VectorXd &y, &approach_bar, &gap_bar;  ///< of the rows
  const Eigen::VectorXd& lambda_bar;
};

/// The adjoint of a parameter of the last step.
Eigen::VectorXd pull_parameter(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter);

}  // namespace taut
