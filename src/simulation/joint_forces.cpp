#include "taut/simulation/joint_forces.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace taut {

using Eigen::VectorXd;

Servo::Servo(int nv)
    : kp(VectorXd::Zero(nv)),
      kd(VectorXd::Zero(nv)),
      target(VectorXd::Zero(nv)),
      lower(VectorXd::Constant(nv, -HUGE_VAL)),
      upper(VectorXd::Constant(nv, HUGE_VAL)) {}

void Servo::clear() { *this = Servo(static_cast<int>(kp.size())); }

JointForces::JointForces(const Scene& scene)
    : torque(VectorXd::Zero(scene.model.nv)),
      implicit(VectorXd::Zero(scene.model.nv)),
      stiffness(VectorXd::Zero(scene.model.nv)) {
  const auto& model = scene.model;
  dof_to_q_.assign(static_cast<std::size_t>(model.nv), -1);
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (model.nqs[joint] == 1 && model.nvs[joint] == 1) dof_to_q_[model.idx_vs[joint]] = model.idx_qs[joint];
  }
  check(scene);
  loop_servos.reserve(scene.actuators.size());
}

void JointForces::check(const Scene& scene) const {
  const auto& model = scene.model;
  for (const Actuator& actuator : scene.actuators) {
    const auto fail = [&](const std::string& what) {
      throw std::invalid_argument("simulator: actuator '" + actuator.name + "' " + what);
    };
    const std::string number = std::to_string(actuator.dof);
    if (actuator.loop >= 0) {
      if (actuator.loop >= static_cast<int>(scene.loops.size()) || actuator.dof < 0 ||
          actuator.dof >= drives_of(scene.loops[static_cast<std::size_t>(actuator.loop)].kind)) {
        fail("is on direction " + number + " of loop " + std::to_string(actuator.loop) + ", which it cannot drive");
      }
    } else if (actuator.dof < 0 || actuator.dof >= model.nv ||
               (actuator.kind == Actuator::Kind::position && dof_to_q_[actuator.dof] < 0)) {
      fail("is on degree of freedom " + number + ", which it cannot drive");
    }
    if (actuator.gear == 0.0 || !std::isfinite(actuator.gear)) fail("has gear " + std::to_string(actuator.gear));
    for (const double gain : {actuator.kp, actuator.kv}) {
      if (!(gain >= 0.0) || !std::isfinite(gain))
        fail("has gain " + std::to_string(gain) + ", it must not be negative");
    }
    for (const auto& [lower, upper] : {actuator.control_range, actuator.force_range}) {
      if (!(lower <= upper)) fail("has the range " + std::to_string(lower) + " to " + std::to_string(upper));
    }
  }
}

void JointForces::collect(const Scene& scene, const Servo& servo, const Dynamics& dynamics, const ConstVectorRef& q,
                          const ConstVectorRef& v, const ConstVectorRef& control, const Instant& instant,
                          VectorRef tau) {
  const auto& model = scene.model;
  const auto [dt, ahead] = instant;
  torque = -model.damping.cwiseProduct(v);
  implicit = dt * model.damping;
  stiffness.setZero();
  loop_servos.clear();
  pushes_loops = false;
  control_slope.setZero(control.size());
  for (int dof = 0; dof < model.nv; ++dof) {
    const double k = scene.stiffness[dof];
    if (k > 0.0 && dof_to_q_[dof] >= 0) {
      torque[dof] -= k * (q[dof_to_q_[dof]] + ahead * v[dof] - scene.spring_reference[dof]);
      implicit[dof] += dt * ahead * k;
      stiffness[dof] += k;
    }
    if (servo.kp[dof] > 0.0 || servo.kd[dof] > 0.0) {
      apply_servo(servo.kp[dof], servo.kd[dof], servo.target[dof], {servo.lower[dof], servo.upper[dof]}, dof, q, v,
                  instant, tau);
    }
  }
  for (Eigen::Index i = 0; i < control.size(); ++i) {
    const Actuator& a = scene.actuators[static_cast<std::size_t>(i)];
    const double u = std::clamp(control[i], a.control_range.first, a.control_range.second);
    if (a.loop >= 0) {
      drive_loop(scene, static_cast<int>(i), u, dynamics, v, instant, tau);
    } else if (a.kind == Actuator::Kind::motor) {
      const double force = std::clamp(u, a.force_range.first, a.force_range.second);
      tau[a.dof] += a.gear * force;
      if (force == control[i]) control_slope[i] = a.gear;
    } else {
      const auto [lower, upper] = std::minmax({a.gear * a.force_range.first, a.gear * a.force_range.second});
      const bool pulls = apply_servo(a.gear * a.gear * a.kp, a.gear * a.gear * a.kv, u / a.gear, {lower, upper}, a.dof,
                                     q, v, instant, tau);
      if (pulls && u == control[i]) control_slope[i] = a.gear * a.kp;
    }
  }
}

// False where it is saturated.
bool JointForces::apply_servo(double kp, double kd, double target, Range range, int dof, const ConstVectorRef& q,
                              const ConstVectorRef& v, const Instant& instant, VectorRef tau) {
  const auto [dt, ahead] = instant;
  const double here = dof_to_q_[dof] >= 0 ? q[dof_to_q_[dof]] : target;  // a free joint: velocity only
  const double push = kp * (target - here - ahead * v[dof]) - kd * v[dof];
  if (push < range.lower || push > range.upper) {  // saturated: a constant torque has no gains
    tau[dof] += std::clamp(push, range.lower, range.upper);
    return false;
  }
  torque[dof] += push;
  implicit[dof] += dt * (kd + ahead * kp);
  if (dof_to_q_[dof] >= 0) stiffness[dof] += kp;
  return true;
}

// A motor on a loop's coordinate θ pushes its two bodies; a servo holds, λ = −dt (kp (θ + ahead c − target) + kd c).
void JointForces::drive_loop(const Scene& scene, int actuator, double control, const Dynamics& dynamics,
                             const ConstVectorRef& v, const Instant& instant, VectorRef tau) {
  const auto [dt, ahead] = instant;
  const Actuator& a = scene.actuators[static_cast<std::size_t>(actuator)];
  const Loop& loop = scene.loops[static_cast<std::size_t>(a.loop)];
  const auto& oM1 = dynamics.placements()[loop.joint_1];
  const auto& oM2 = dynamics.placements()[loop.joint_2];
  const WrenchRow wrench = loop_drive(loop, a.dof, oM1, oM2);
  const auto for_each_dof = [&](const auto& visit) {
    for (const int dof : dynamics.chain(loop.joint_2)) visit(dof, wrench.dot(dynamics.columns().col(dof)));
    for (const int dof : dynamics.chain(loop.joint_1)) visit(dof, -wrench.dot(dynamics.columns().col(dof)));
  };
  const auto push = [&](double force) {
    pushes_loops = true;
    for_each_dof([&](int dof, double arm) { tau[dof] += force * arm; });
  };
  if (a.kind == Actuator::Kind::motor) {
    push(a.gear * std::clamp(control, a.force_range.first, a.force_range.second));
    return;
  }
  double rate = 0.0;
  for_each_dof([&](int dof, double arm) { rate += arm * v[dof]; });
  double error = loop_coordinate(loop, a.dof, oM1, oM2) - control / a.gear;
  const bool slides = loop.kind == Loop::Kind::slider || (loop.kind == Loop::Kind::cylindrical && a.dof == 0);
  if (!slides) error = std::remainder(error, 2.0 * EIGEN_PI);  // the short way round
  const double kp = a.gear * a.gear * a.kp, kd = a.gear * a.gear * a.kv;
  const auto [lower, upper] = std::minmax({a.gear * a.force_range.first, a.gear * a.force_range.second});
  const double force = -kp * (error + ahead * rate) - kd * rate;
  if (force < lower || force > upper) {
    push(std::clamp(force, lower, upper));
  } else if (const double gain = dt * (kd + ahead * kp); gain > 0.0) {
    loop_servos.push_back({actuator, gain, dt * kp * error / gain});
  }
}

}  // namespace taut
