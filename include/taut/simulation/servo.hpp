#pragma once

#include <Eigen/Core>

#include "taut/problem/problem.hpp"

namespace taut {

/// Proportional-derivative control of single degrees of freedom, integrated implicitly so that any gain is stable:
/// torque = kp (target − q⁺) − kd v⁺. Where the torque at the start of the step is outside [lower, upper] the bound
/// acts instead, as a constant. Gains are zero where a joint is free; kp needs a joint with one coordinate.
struct Servo {
  Eigen::VectorXd kp, kd, target, lower, upper;  ///< one entry per degree of freedom

  explicit Servo(int nv);
  void clear();
};

}  // namespace taut
