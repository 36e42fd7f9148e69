#pragma once

#include <span>
#include <vector>

#include "taut/derivatives/step_derivatives.hpp"

namespace taut {

/// A run that can be gone back over: states by columns, what was done to them, and the simulator's memory every so many
/// steps.
struct Rollout {
  Eigen::MatrixXd q, v;            ///< nq × (steps + 1), nv × (steps + 1)
  Eigen::MatrixXd taus, controls;  ///< a column per step; none: zero, actuators off; one of controls: in every step
  int every = 1;                   ///< steps between checkpoints
  std::vector<State> checkpoints;  ///< before steps 0, every, 2 every, …
  int steps() const { return static_cast<int>(q.cols()) - 1; }
};

/// The gradient of a cost of the states, by all that the run depends on.
struct RolloutAdjoint {
  Eigen::VectorXd q, v;        ///< of the first state, in its tangent
  Eigen::MatrixXd taus;        ///< nv × steps
  Eigen::MatrixXd controls{};  ///< actuators × steps, or no column without controls
  std::vector<Eigen::VectorXd> theta{};
  std::vector<CertificateSummary> certificates{};  ///< of each step
};

/// `q_bar` and `v_bar`, nv × (steps + 1): the gradient of the cost by each state, in its tangent. `twin` is a simulator
/// of the same scene and options as the one that ran; it steps through the run again, from checkpoint to checkpoint
/// backwards. At most `every` states are held beside the checkpoints, so that memory is least, and grows like the
/// square root of the run, with `every` near that root; a step is made twice more, with `every` = 1 once.
///
/// Throws std::invalid_argument on wrong sizes and values that are not finite, and where the run does not repeat itself
/// bit by bit: the scene has changed.
RolloutAdjoint pull_back(Simulator& twin, const Rollout& run, const Eigen::Ref<const Eigen::MatrixXd>& q_bar,
                         const Eigen::Ref<const Eigen::MatrixXd>& v_bar, std::span<const Parameter> parameters,
                         const StepDerivativeOptions& options = {});

/// A simulator of its own with the same scene, options and servo.
Simulator twin_of(const Simulator& simulator);

}  // namespace taut
