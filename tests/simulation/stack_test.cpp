// Piles, mass ratios and states no motion leads to.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

struct Rollout {
  VectorXd q, v;
  double deepest = 0.0;  ///< smallest gap seen
  double worst = 0.0;    ///< largest residual
};

Rollout run(const Scene& scene, const SimulatorOptions& options, int steps) {
  Simulator sim(std::make_shared<const Scene>(scene), options);
  Rollout done{scene.q0, VectorXd::Zero(scene.model.nv)};
  sim.rollout(done.q, done.v, MatrixXd(), steps, [&](int, const Record& record) {
    for (const Contact& contact : record.contacts) done.deepest = std::min(done.deepest, contact.gap);
    done.worst = std::max(done.worst, record.report.residuals.worst());
    done.q = record.q_next, done.v = record.v_next;
  });
  return done;
}

TEST(Stack, ATonOnAKilogramPenetratesLessThanATenthOfAMillimetre) {
  const Rollout end = run(stack({1.0, 1000.0}), {}, 1000);
  EXPECT_LE(end.worst, 1e-6);
  EXPECT_GT(end.deepest, -1e-4);
  EXPECT_NEAR(end.q[9], 0.15, 1e-4);
}

TEST(Stack, FiveCubesStandForTwoSeconds) {
  const Scene scene = stack(std::vector<double>(5, 1.0));
  const Rollout end = run(scene, {}, 2000);
  EXPECT_LE(end.worst, 1e-6);
  // Every step may err by the tolerance, 1e-6 m/s, each cube relative to the one below and, 5 cm from its centre, by
  // 20 times that in rad/s: over 2 s a drift of 10 µm at the top.
  EXPECT_LT((end.q - scene.q0).lpNorm<Eigen::Infinity>(), 1e-5);
  EXPECT_LT(end.v.lpNorm<Eigen::Infinity>(), 1e-4);
}

TEST(Stack, AMeshPrismRestsOnTheFloorWithoutDrift) {
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.6});
  const auto joint = add_free_body(scene, "prism", box_inertia(1.0, Vector3d::Constant(0.1)), at(0.0, 0.0, 0.1));
  add_shape(scene, joint, "prism", prism(3, 0.1, 0.1), SE3::Identity(), {.friction = 0.6});
  const Rollout end = run(scene, {}, 1000);
  EXPECT_LT((end.q - scene.q0).lpNorm<Eigen::Infinity>(), 1e-5);
}

TEST(Stack, AStackOfCylindersStands) {
  Scene scene;
  add_floor(scene);
  for (int i = 0; i < 3; ++i) {
    const std::string name = "can" + std::to_string(i);
    const auto joint =
        add_free_body(scene, name, Inertia::FromCylinder(0.4, 0.05, 0.12), at(0.0, 0.0, 0.06 + 0.12 * i));
    add_shape(scene, joint, name, std::make_shared<coal::Cylinder>(0.05, 0.12), SE3::Identity());
  }
  const Rollout end = run(scene, {}, 1000);
  EXPECT_LE(end.worst, 1e-6);
  EXPECT_LT((end.q - scene.q0).lpNorm<Eigen::Infinity>(), 1e-5);
}

TEST(Stack, ADeepStartComesOutAtABoundedSpeed) {
  // A cube half under the floor and one inside another. The correction asks for at most correction_speed at each point.
  for (const char* solver : {"pgs", "admm", "auto"}) {
    Scene scene = cube_on_plane(0.5, 0.0);
    add_box(scene, "outer", 2.0, Vector3d::Constant(0.2), at(1.0, 0.0, 0.1), 0.5);
    add_box(scene, "inner", 1.0, Vector3d::Constant(0.1), at(1.03, 0.01, 0.13), 0.5);
    const SimulatorOptions options{.solver = solver};
    Simulator sim(std::make_shared<const Scene>(scene), options);
    VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv);
    double fastest = 0.0;
    for (int k = 0; k < 1500; ++k) {
      const Record& record = sim.step(q, v);
      ASSERT_NE(record.report.status, Status::not_finite);
      ASSERT_TRUE(std::isfinite(record.report.residuals.worst()));
      q = record.q_next, v = record.v_next;
      for (int body = 0; body < 3; ++body) fastest = std::max(fastest, v.segment<3>(6 * body).norm());
    }
    // A point of each of two bodies may leave at 1 m/s from the other: a few m/s, not the 50 that depth / dt asks for.
    EXPECT_LT(fastest, 5.0 * options.stabilization.correction_speed) << solver;
    EXPECT_NEAR(q[2], 0.05, 1e-4) << solver;
    EXPECT_LT(v.lpNorm<Eigen::Infinity>(), 1e-3) << solver;
    double deepest = 0.0;
    for (const Contact& contact : sim.record().contacts) deepest = std::min(deepest, contact.gap);
    EXPECT_GT(deepest, -1e-4) << solver;
  }
}

TEST(Stack, FrictionOfAPairGoesByNameThenPriorityThenRule) {
  // Friction of a pair: by name first, then by priority, then by the rule.
  Scene scene;
  const auto a = add_floor(scene, 0.0, {.friction = 0.2});
  add_box(scene, "cube", 1.0, Vector3d::Constant(0.1), at(0.0, 0.0, 0.05), 0.9);
  const std::size_t b = 1;
  EXPECT_DOUBLE_EQ(scene.friction(a, b), 0.9);
  scene.friction_rule = FrictionRule::minimum;
  EXPECT_DOUBLE_EQ(scene.friction(b, a), 0.2);
  scene.friction_rule = FrictionRule::average;
  EXPECT_DOUBLE_EQ(scene.friction(a, b), 0.55);
  scene.friction_rule = FrictionRule::geometric_mean;
  EXPECT_DOUBLE_EQ(scene.friction(a, b), std::sqrt(0.18));
  scene.friction_rule = FrictionRule::product;
  EXPECT_DOUBLE_EQ(scene.friction(a, b), 0.2 * 0.9);
  scene.surfaces[a].priority = 1;
  EXPECT_DOUBLE_EQ(scene.friction(a, b), 0.2);
  scene.pair_friction[{"cube", "floor"}] = 0.35;
  EXPECT_DOUBLE_EQ(scene.friction(b, a), 0.35);
  Simulator sim(std::make_shared<const Scene>(scene));
  const Record& record = sim.step(scene.q0, VectorXd::Zero(6));
  ASSERT_EQ(record.contacts.size(), 4u);
  EXPECT_DOUBLE_EQ(record.contacts[0].mu, 0.35);
}

}  // namespace
}  // namespace taut::testing
