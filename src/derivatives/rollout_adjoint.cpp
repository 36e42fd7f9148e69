#include "taut/derivatives/rollout_adjoint.hpp"

#include <algorithm>
#include <stdexcept>

namespace taut {

namespace {

void check(const char* name, const Eigen::Ref<const Eigen::MatrixXd>& bars, int nv, int steps) {
  if (bars.rows() != nv || bars.cols() != steps + 1) {
    throw std::invalid_argument(std::string("adjoint: ") + name + " has shape (" + std::to_string(bars.cols()) + ", " +
                                std::to_string(bars.rows()) + "), expected (" + std::to_string(steps + 1) + ", " +
                                std::to_string(nv) + ")");
  }
  if (!bars.allFinite()) throw std::invalid_argument(std::string("adjoint: ") + name + " is not finite");
}

}  // namespace

Simulator twin_of(const Simulator& simulator) {
  Simulator twin(simulator.shared_scene(), simulator.options());
  twin.servo() = simulator.servo();
  return twin;
}

RolloutAdjoint pull_back(Simulator& twin, const Rollout& run, const Eigen::Ref<const Eigen::MatrixXd>& q_bar,
                         const Eigen::Ref<const Eigen::MatrixXd>& v_bar, std::span<const Parameter> parameters,
                         const StepDerivativeOptions& options) {
  const int steps = run.steps(), nv = twin.scene().model.nv;
  check("q_bar", q_bar, nv, steps);
  check("v_bar", v_bar, nv, steps);
  if (!run.q.allFinite()) throw std::invalid_argument("adjoint: the run has steps that are not finite");

  StepDerivatives derivatives(twin);
  RolloutAdjoint out{.q = q_bar.col(steps), .v = v_bar.col(steps), .taus = Eigen::MatrixXd::Zero(nv, steps)};
  out.controls.setZero(static_cast<Eigen::Index>(twin.scene().actuators.size()), run.controls.cols() > 0 ? steps : 0);
  out.certificates.resize(static_cast<std::size_t>(steps));
  for (const Parameter& parameter : parameters) out.theta.push_back(Eigen::VectorXd::Zero(parameter.size));

  std::vector<State> memory(static_cast<std::size_t>(std::min(run.every, std::max(1, steps))));
  Eigen::VectorXd tau, control;
  const auto make_step = [&](int k) {
    if (run.taus.cols() > 0) tau = run.taus.col(k);
    if (run.controls.cols() > 0) control = run.controls.col(run.controls.cols() == 1 ? 0 : k);
    const Record& done = twin.step(run.q.col(k), run.v.col(k), tau, {}, control);
    if (done.q_next != run.q.col(k + 1) || done.v_next != run.v.col(k + 1)) {
      throw std::invalid_argument("adjoint: step " + std::to_string(k) +
                                  " of the run does not repeat itself: the scene, or what holds it, has changed");
    }
  };
  const auto pull = [&](int k) -> const StepAdjoint& {
    try {
      return derivatives.vjp(twin, out.q, out.v, options);
    } catch (const std::invalid_argument& refused) {
      throw std::invalid_argument("adjoint: step " + std::to_string(k) + ": " + refused.what());
    }
  };
  for (int segment = static_cast<int>(run.checkpoints.size()) - 1; segment >= 0; --segment) {
    const int first = segment * run.every, last = std::min(steps, first + run.every);
    twin.restore(run.checkpoints[static_cast<std::size_t>(segment)]);
    for (int k = first; k < last; ++k) {
      memory[static_cast<std::size_t>(k - first)] =
          k == first ? run.checkpoints[static_cast<std::size_t>(segment)] : twin.state();
      make_step(k);
    }
    for (int k = last - 1; k >= first; --k) {
      if (k < last - 1) {  // the last one has just been made
        twin.restore(memory[static_cast<std::size_t>(k - first)]);
        make_step(k);
      }
      const StepAdjoint& bars = pull(k);
      out.certificates[static_cast<std::size_t>(k)] = bars.certificate;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        out.theta[i] += derivatives.vjp_parameter(twin, parameters[i]);
      }
      out.taus.col(k) = bars.tau;
      if (out.controls.cols() > 0) out.controls.col(k) = bars.control;
      out.q = bars.q + q_bar.col(k);
      out.v = bars.v + v_bar.col(k);
    }
  }
  return out;
}

}  // namespace taut
