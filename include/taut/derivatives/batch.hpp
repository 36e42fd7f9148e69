#pragma once

#include <functional>

#include "taut/derivatives/step_derivatives.hpp"

namespace taut {

/// Steps from many states, each from a cold start, on `threads` threads (0: all cores), and calls
/// visit(index, simulator, derivatives) after each step. Every thread has a simulator of its own, so that results are
/// the same bit by bit however many there are; visits of different indices may be at the same time.
///
/// `q`, `v`, `tau`: a state per column; no column of tau: zero. Throws what a step or a visit throws, that of the
/// lowest index.
void for_each_state(const Simulator& simulator, const Eigen::Ref<const Eigen::MatrixXd>& q,
                    const Eigen::Ref<const Eigen::MatrixXd>& v, const Eigen::Ref<const Eigen::MatrixXd>& tau,
                    int threads, const std::function<void(int, const Simulator&, StepDerivatives&)>& visit);

}  // namespace taut
