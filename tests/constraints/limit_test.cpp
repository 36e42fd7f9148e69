// Limits of joints with more than one coordinate: rows against differences.
#include <gtest/gtest.h>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "scenes.hpp"
#include "taut/constraints/joint.hpp"

namespace taut::testing {
namespace {

// Every coordinate of a tree with every joint that matters has limits, and its ball joint a largest angle.
Scene limited_tree(std::mt19937& rng) {
  Scene scene;
  scene.model = random_tree(rng);
  scene.fit_arrays();
  scene.model.lowerPositionLimit.setConstant(-1.5);
  scene.model.upperPositionLimit.setConstant(1.5);
  for (int joint = 1; joint < scene.model.njoints; ++joint) {
    if (scene.model.nqs[joint] == 4 && scene.model.nvs[joint] == 3 &&
        scene.model.joints[static_cast<std::size_t>(joint)].shortname() == "JointModelSpherical") {
      scene.ball_limits.push_back({joint, 0.8});
    }
  }
  return scene;
}

TEST(Limits, EveryJointThatHasThemGetsThem) {
  std::mt19937 rng(1);
  const Scene scene = limited_tree(rng);
  int rows = 0;
  for (const JointRow& row : joint_rows(scene.model, scene.ball_limits)) {
    rows += row.kind != JointRow::Kind::dry_friction;
  }
  // Two each: three positions of the base, six hinges and slides, two positions of the planar joint; one of the ball.
  // The wheel (cos, sin) has no coordinate that a limit could mean.
  EXPECT_EQ(rows, 2 * (3 + 6 + 2) + 1);
}

TEST(Limits, RowsAreTheRatesOfTheirGaps) {
  std::mt19937 rng(2);
  const double h = 1e-6;
  for (int trial = 0; trial < 50; ++trial) {
    const Scene scene = limited_tree(rng);
    const auto& model = scene.model;
    const VectorXd q = pinocchio::randomConfiguration(model, VectorXd(VectorXd::Constant(model.nq, -1.0)),
                                                      VectorXd(VectorXd::Ones(model.nq)));
    const VectorXd v = VectorXd::NullaryExpr(model.nv, [&] { return std::normal_distribution<double>()(rng); });
    const auto candidates = joint_rows(model, scene.ball_limits);
    Dynamics dynamics(model);
    dynamics.update(model, q, v);
    Rows rows;
    std::vector<int> active;
    add_joint_rows(model, candidates, scene.limits, dynamics, q, v, {1e-3, 1e-3}, {.limit_margin = 10.0}, rows, active);
    ASSERT_EQ(active.size(), candidates.size());
    VectorXd rate(rows.rows());
    dynamics.apply(rows, v, rate);
    const auto moved = [&](double t) {
      const VectorXd way = t * v;
      VectorXd to(model.nq);
      pinocchio::integrate(model, ConstVectorRef(q), ConstVectorRef(way), VectorRef(to));
      return to;
    };
    const VectorXd ahead = moved(h), behind = moved(-h);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double difference = limit_gap(model, candidates[i], ahead) - limit_gap(model, candidates[i], behind);
      EXPECT_NEAR(rate[static_cast<Eigen::Index>(i)], difference / (2.0 * h), 1e-8) << i;
    }
  }
}

}  // namespace
}  // namespace taut::testing
