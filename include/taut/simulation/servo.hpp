#pragma once

#include <Eigen/Core>

#include "taut/problem/problem.hpp"

namespace taut {

/// Proportional-derivative control of single degrees of freedom, integrated implicitly so that any gain is stable:
/// torque = kp (target − q⁺) − kd v⁺, clamped to [lower, upper]. Gains are zero where a joint is free.
struct Servo {
  Eigen::VectorXd kp, kd, target, lower, upper;  ///< one entry per degree of freedom

  explicit Servo(int nv);
  void clear();
};

}  // namespace taut
