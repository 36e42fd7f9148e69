#pragma once

#include <vector>

#include "taut/dynamics/dynamics.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/servo.hpp"

namespace taut {

/// Springs, dampers, servos and motors. What is linear in q⁺ and v⁺ is taken at the end of the step: its value at the
/// old velocity goes to `torque`, its slope beside the mass matrix. What is constant (motors, saturated servos) goes to
/// the torques of the step.
class JointForces {
 public:
  /// Throws as `check` does.
  explicit JointForces(const Scene& scene);

  /// Throws std::invalid_argument naming an actuator that drives nothing, or whose gear, gains or ranges make no sense.
  void check(const Scene& scene) const;

  /// From a state that `dynamics` was updated to. Constant torques are added to `tau`.
  void collect(const Scene& scene, const Servo& servo, const Dynamics& dynamics, const ConstVectorRef& q,
               const ConstVectorRef& v, const ConstVectorRef& control, const Instant& instant, VectorRef tau);

  Eigen::VectorXd torque;     ///< of the implicit terms, at the old velocity
  Eigen::VectorXd implicit;   ///< dt D + dt² K, what they add to the mass matrix
  Eigen::VectorXd stiffness;  ///< K: minus the slope of `torque` in q
  /// Of each actuator that was given a control: torque on its degree of freedom by control, zero where one is clamped.
  Eigen::VectorXd control_slope;

  /// A servo on a loop's coordinate is a spring and damper between two bodies, which no diagonal can hold: it becomes
  /// a row with compliance, λ = −gain (c + bias).
  struct LoopServo {
    int actuator;
    double gain, bias;
  };
  std::vector<LoopServo> loop_servos;
  bool pushes_loops = false;  ///< a motor or a saturated servo pushes along a loop's coordinate

 private:
  struct Range {
    double lower, upper;
  };
  bool apply_servo(double kp, double kd, double target, Range range, int dof, const ConstVectorRef& q,
                   const ConstVectorRef& v, const Instant& instant, VectorRef tau);
  void drive_loop(const Scene& scene, int actuator, double control, const Dynamics& dynamics, const ConstVectorRef& v,
                  const Instant& instant, VectorRef tau);

  std::vector<int> dof_to_q_;  ///< where a single-dof joint's coordinate stands in q; −1 for others
};

}  // namespace taut
