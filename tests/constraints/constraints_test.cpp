#include <gtest/gtest.h>

#include <limits>

#include "scenes.hpp"
#include "taut/constraints/contact.hpp"
#include "taut/constraints/joint.hpp"

namespace taut::testing {
namespace {

VectorXd one(double x) { return VectorXd::Constant(1, x); }

struct LimitRows {
  Rows rows;
  std::vector<int> active;
  std::vector<JointRow> candidates;
};

LimitRows rows_of(const Scene& scene, double q, double v, double dt, const Stabilization& stabilization = {}) {
  LimitRows found;
  Dynamics dynamics(scene.model);
  dynamics.update(scene.model, one(q), one(v));
  found.candidates = joint_rows(scene.model);
  const Instant instant{dt, dt};
  add_joint_rows(scene.model, found.candidates, scene.limits, dynamics, one(q), one(v), instant, stabilization,
                 found.rows, found.active);
  bias_joint_rows(scene.model, found.candidates, found.active, 0, one(q), VectorXd(), instant, stabilization,
                  found.rows);
  return found;
}

TEST(GapBias, AnOpenGapMayCloseExactly) {
  // c ≥ 0 with c = v + bias: the fastest allowed approach is −gap/dt, which ends at the surface.
  EXPECT_DOUBLE_EQ(gap_bias(0.002, 0.0, 0.2, {1e-3, 1e-3}, {}), 2.0);
  EXPECT_DOUBLE_EQ(gap_bias(0.5, 0.0, 0.2, {1e-2, 1e-2}, {}),
                   50.0);  // never capped: a cap would stop a body in the air
  EXPECT_EQ(gap_bias(0.0, 0.0, 0.2, {1e-3, 1e-3}, {}), 0.0);
}

TEST(GapBias, APenetrationComesBackByItsShareButNotFasterThanAllowed) {
  const Stabilization stabilization{.correction_speed = 1.0};
  const Instant step{1e-3, 1e-3};
  EXPECT_DOUBLE_EQ(gap_bias(-0.001, 0.0, 0.2, step, stabilization), -0.2);  // c ≥ 0: it leaves at 0.2 mm a step
  EXPECT_DOUBLE_EQ(gap_bias(-0.5, 0.0, 0.2, step, stabilization), -1.0);
  EXPECT_DOUBLE_EQ(gap_bias(-0.001, 0.0, 0.0, step, {}), 0.0);
  EXPECT_DOUBLE_EQ(gap_bias(-0.001, 0.0, 1.0, step, {.correction_speed = 5.0}), -1.0);  // all of it at once
}

TEST(ContactRows, CarryTheirGapFrictionAndSet) {
  const Scene scene = cube_on_plane(0.5);
  Dynamics dynamics(scene.model);
  dynamics.update(scene.model, scene.q0, VectorXd::Zero(6));
  const std::vector<Contact> contacts{{.joint_1 = 1, .gap = 1e-4, .mu = 0.3}, {.joint_1 = 1, .gap = -1e-4, .mu = 0.7}};
  Rows rows;
  add_contacts(contacts, dynamics, {1e-3, 1e-3}, {}, rows);
  bias_contacts(contacts, VectorXd(), {1e-3, 1e-3}, {}, rows);
  ASSERT_EQ(rows.rows(), 6);
  VectorXd bias(6);
  bias << 0.0, 0.0, 0.1, 0.0, 0.0, -0.02;
  EXPECT_LT((VectorXd(rows.bias()) - bias).norm(), 1e-15);
  EXPECT_EQ(VectorXd(rows.compliance()), VectorXd::Zero(6));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rows.blocks()[i].kind, SetKind::cone);
    EXPECT_EQ(rows.blocks()[i].mu, contacts[i].mu);
    EXPECT_EQ(rows.blocks()[i].start, static_cast<int>(3 * i));
  }
}

TEST(JointRows, OnlyFiniteLimitsAndPositiveFrictionAreCandidates) {
  Scene scene = slider(1.0);
  EXPECT_TRUE(joint_rows(scene.model).empty());
  scene.model.lowerPositionLimit[0] = -std::numeric_limits<double>::infinity();
  scene.model.upperPositionLimit[0] = std::numeric_limits<double>::max();
  EXPECT_TRUE(joint_rows(scene.model).empty());
  scene.model.upperPositionLimit[0] = 2.0;
  scene.model.upperDryFrictionLimit[0] = 0.5;
  const auto rows = joint_rows(scene.model);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].kind, JointRow::Kind::upper_limit);
  EXPECT_EQ(rows[1].kind, JointRow::Kind::dry_friction);
}

TEST(JointRows, ALimitRowIsTheRateOfItsGap) {
  Scene scene = pendulum(1.0, 0.3);
  scene.model.lowerPositionLimit[0] = -0.5;
  scene.model.upperPositionLimit[0] = 0.7;
  const double dt = 1e-3, v = 0.8;
  const Stabilization wide{.limit_margin = 10.0};
  for (const double q : {-0.4, 0.1, 0.65}) {
    const LimitRows found = rows_of(scene, q, v, dt, wide);
    ASSERT_EQ(found.rows.rows(), 2);
    for (int i = 0; i < 2; ++i) {
      const auto gap = [&](double at) { return i == 0 ? at + 0.5 : 0.7 - at; };
      const double rate = (gap(q + 1e-6 * v) - gap(q - 1e-6 * v)) / 2e-6;  // linear: only rounding
      EXPECT_NEAR(found.rows.jacobian(found.rows.arms()[static_cast<std::size_t>(i)])(0, 0) * v, rate, 1e-9);
      // A velocity that makes the row zero reaches the limit at the end of the step.
      const double c = found.rows.jacobian(found.rows.arms()[static_cast<std::size_t>(i)])(0, 0);
      const double v_zero = -found.rows.bias()[i] / c;
      EXPECT_NEAR(gap(q + dt * v_zero), 0.0, 1e-12);
      EXPECT_EQ(found.rows.blocks()[static_cast<std::size_t>(i)].kind, SetKind::positive);
    }
  }
}

TEST(JointRows, ALimitIsSeenBeforeAFastJointReachesIt) {
  Scene scene = pendulum(1.0, 0.3);
  scene.model.upperPositionLimit[0] = 1.0;
  EXPECT_TRUE(rows_of(scene, 0.9, 0.0, 1e-3).active.empty());
  EXPECT_TRUE(rows_of(scene, 0.9, 80.0, 1e-3).active.empty());  // 0.08 rad of way and 0.01 of margin: not yet
  EXPECT_EQ(rows_of(scene, 0.9, 95.0, 1e-3).active.size(), 1u);
  EXPECT_EQ(rows_of(scene, 0.995, 0.0, 1e-3).active.size(), 1u);
  const LimitRows beyond = rows_of(scene, 1.001, 0.0, 1e-3);
  ASSERT_EQ(beyond.active.size(), 1u);
  EXPECT_NEAR(beyond.rows.bias()[0], -0.2, 1e-12);  // 20 % of 1 mrad in 1 ms
}

TEST(JointRows, DryFrictionIsAnImpulseBound) {
  Scene scene = slider(1.0);
  scene.model.upperDryFrictionLimit[0] = 3.0;
  for (const double dt : {1e-3, 1e-2}) {
    const LimitRows found = rows_of(scene, 0.0, 0.0, dt);
    ASSERT_EQ(found.rows.rows(), 1);
    EXPECT_EQ(found.rows.blocks()[0].kind, SetKind::interval);
    EXPECT_DOUBLE_EQ(found.rows.blocks()[0].bound, 3.0 * dt);
    EXPECT_EQ(found.rows.bias()[0], 0.0);
    EXPECT_EQ(found.rows.jacobian(found.rows.arms()[0])(0, 0), 1.0);
  }
}

}  // namespace
}  // namespace taut::testing
