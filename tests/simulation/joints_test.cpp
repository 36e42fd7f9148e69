// One degree of freedom: springs, servos, limits and dry friction have closed forms.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

std::shared_ptr<const Scene> share(Scene scene) { return std::make_shared<const Scene>(std::move(scene)); }
VectorXd one(double x) { return VectorXd::Constant(1, x); }

TEST(Joints, SpringAndDamperAreTakenAtTheEndOfTheStep) {
  // m (v⁺ − v)/dt = −m g − k (q + dt v⁺ − q_s) − d v⁺.
  const double m = 2.0, q = 0.3, v = -0.7, rest = 0.1;
  for (const double k : {0.0, 50.0, 1e9}) {
    for (const double d : {0.0, 3.0, 1e7}) {
      for (const double dt : {1e-3, 0.1}) {
        Scene scene = slider(m);
        scene.stiffness[0] = k;
        scene.spring_reference[0] = rest;
        scene.model.damping[0] = d;
        Simulator sim(share(std::move(scene)), {.dt = dt});
        const Record& record = sim.step(one(q), one(v));
        const double expected = (m * v + dt * (-m * kGravity - k * (q - rest))) / (m + dt * d + dt * dt * k);
        EXPECT_NEAR(record.v_next[0], expected, 1e-9 * std::max(1.0, std::abs(expected))) << k << " " << d << " " << dt;
        EXPECT_NEAR(record.q_next[0], q + dt * record.v_next[0], 1e-14);
      }
    }
  }
}

TEST(Joints, AServoOfAnyGainReachesItsOneStepSolution) {
  const double m = 2.0, q = 0.3, v = -0.7, target = 1.0, tau = 4.0, dt = 1e-3;
  for (const double kp : {0.0, 100.0, 1e6, 1e12}) {
    for (const double kd : {0.0, 10.0, 1e8}) {
      Simulator sim(share(slider(m)), {.dt = dt});
      sim.servo().kp[0] = kp;
      sim.servo().kd[0] = kd;
      sim.servo().target[0] = target;
      const Record& record = sim.step(one(q), one(v), one(tau));
      const double expected = (m * v + dt * (tau - m * kGravity + kp * (target - q))) / (m + dt * kd + dt * dt * kp);
      // kp (q* − q) and m + dt kd + dt² kp are sums of numbers as large as kp: relative 1e-12.
      EXPECT_NEAR(record.v_next[0], expected, 1e-11 * std::max(1.0, std::abs(expected))) << kp << " " << kd;
    }
  }
}

TEST(Joints, AStiffServoOnAChainIsStableAndArrives) {
  Scene scene;
  pinocchio::JointIndex parent = 0;
  for (int i = 0; i < 4; ++i) {
    parent = scene.model.addJoint(parent, pinocchio::JointModelRY(), at(0.0, 0.0, i ? -0.3 : 0.0),
                                  "joint" + std::to_string(i));
    scene.model.appendBodyToJoint(parent, box_inertia(1.0, {0.05, 0.05, 0.3}), at(0.0, 0.0, -0.15));
  }
  scene.fit_arrays();
  Simulator sim(share(std::move(scene)), {.dt = 1e-3});
  sim.servo().kp.setConstant(1e7);
  sim.servo().kd.setConstant(1e4);
  sim.servo().target << 0.5, -1.0, 0.3, 2.0;
  VectorXd q = VectorXd::Zero(4), v = VectorXd::Zero(4);
  for (int k = 0; k < 100; ++k) {
    const Record& record = sim.step(q, v);
    q = record.q_next, v = record.v_next;
    ASSERT_LT(q.lpNorm<Eigen::Infinity>(), 2.1);  // it never overshoots: the servo is critically over-damped
  }
  // Gravity's torque, at most 4 kg · 9.81 · 1.2 m, over kp; and e^{−100} of the way left at kp/kd = 1000/s.
  EXPECT_LT((q - sim.servo().target).lpNorm<Eigen::Infinity>(), 1e-5);
}

TEST(Joints, AServoNeverExceedsItsRange) {
  Simulator sim(share(slider(1.0)), {.dt = 1e-3});
  sim.servo().kp[0] = 1e6;
  sim.servo().target[0] = 1.0;
  sim.servo().lower[0] = -20.0;
  sim.servo().upper[0] = 20.0;
  const Record& record = sim.step(one(0.0), one(0.0));
  EXPECT_NEAR(record.v_next[0], 1e-3 * (20.0 - kGravity), 1e-14);
}

TEST(Joints, ALimitCarriesTheTorqueOfGravity) {
  const double m = 1.5, l = 0.4, dt = 1e-3;
  for (const double stop : {0.0, 0.6, -0.9}) {
    Scene scene = pendulum(m, l);
    scene.model.upperPositionLimit[0] = stop;
    Simulator sim(share(std::move(scene)), {.dt = dt, .solving = {.tolerance = 1e-12}});
    VectorXd q = one(stop - 0.3), v = one(0.0);
    for (int k = 0; k < 1000; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
      ASSERT_LE(q[0], stop + 1e-10) << "step " << k;
    }
    EXPECT_NEAR(q[0], stop, 1e-9);
    EXPECT_NEAR(v[0], 0.0, 1e-9);
    ASSERT_EQ(sim.record().joint_rows.size(), 1u);
    EXPECT_EQ(sim.joint_rows()[static_cast<std::size_t>(sim.record().joint_rows[0])].kind, JointRow::Kind::upper_limit);
    EXPECT_NEAR(sim.record().impulse[0] / dt, m * kGravity * l * std::cos(stop), 1e-6);
  }
}

TEST(Joints, ALimitIsIgnoredWhenAskedTo) {
  Scene scene = slider(1.0);
  scene.model.lowerPositionLimit[0] = 0.0;
  Simulator sim(share(std::move(scene)), {.joint_limits = false});
  EXPECT_NEAR(sim.step(one(0.0), one(0.0)).v_next[0], -kGravity * 1e-3, 1e-14);
}

TEST(Joints, DryFrictionHoldsUpToItsBoundAndBrakesByIt) {
  const double m = 2.0, weight = m * kGravity, dt = 1e-3;
  for (const double bound : {1.001 * weight, 0.999 * weight, 0.5 * weight}) {
    Scene scene = slider(m);
    scene.model.upperDryFrictionLimit[0] = bound;
    scene.model.lowerDryFrictionLimit[0] = -bound;
    Simulator sim(share(std::move(scene)), {.dt = dt, .solving = {.tolerance = 1e-12}});
    VectorXd q = one(0.0), v = one(0.0);
    for (int k = 0; k < 100; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
    EXPECT_NEAR(v[0], -std::max(0.0, weight - bound) / m * 100 * dt, 1e-10) << bound;
    EXPECT_NEAR(std::abs(sim.record().impulse[0]), std::min(bound, weight) * dt, 1e-10) << bound;
  }
}

TEST(Joints, ActuatorsActAsMotorsAndServosWithGear) {
  Scene scene = slider(2.0);
  scene.model.gravity.setZero();
  scene.actuators.push_back({.name = "motor", .gear = 3.0, .control_range = {-1.0, 1.0}});
  scene.actuators.push_back({.name = "servo", .kind = Actuator::Kind::position, .gear = 2.0, .kp = 50.0, .kv = 4.0});
  Simulator sim(share(std::move(scene)), {.dt = 1e-2});
  const double q = 0.3, v = -0.2, dt = 1e-2;
  VectorXd control(2);
  control << 5.0, 1.4;  // the motor's is cut to 1
  // Force kp (u − gear q⁺) − kv gear v⁺, torque gear times that.
  const double kp = 2.0 * 2.0 * 50.0, kd = 2.0 * 2.0 * 4.0;
  const double expected = (2.0 * v + dt * (3.0 + 2.0 * 50.0 * 1.4 - kp * q)) / (2.0 + dt * kd + dt * dt * kp);
  EXPECT_NEAR(sim.step(one(q), one(v), VectorXd(), {}, control).v_next[0], expected, 1e-13);
}

}  // namespace
}  // namespace taut::testing
