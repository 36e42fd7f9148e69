// How a model falls into trees.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut::testing {
namespace {

struct Builder {
  int add(int parent, const pinocchio::JointModel& kind) {
    const auto joint = model.addJoint(parent, kind, SE3::Identity(), "joint" + std::to_string(model.njoints));
    model.appendBodyToJoint(joint, Inertia::FromSphere(1.0, 0.1), SE3::Identity());
    return static_cast<int>(joint);
  }
  pinocchio::Model model;
};

TEST(Forest, ATreeIsWhatHangsOnTheWorldByOneJoint) {
  Builder b;
  const int ball = b.add(0, pinocchio::JointModelFreeFlyer());
  const int base = b.add(0, pinocchio::JointModelFreeFlyer());
  const int left = b.add(base, pinocchio::JointModelRX());
  const int foot = b.add(left, pinocchio::JointModelRY());
  const int right = b.add(base, pinocchio::JointModelRX());
  const int door = b.add(0, pinocchio::JointModelRZ());
  const Forest forest(b.model);
  ASSERT_EQ(forest.trees().size(), 3u);
  EXPECT_EQ(forest.tree_of(0), -1);
  EXPECT_EQ(forest.tree_of(ball), 0);
  for (const int joint : {base, left, foot, right}) EXPECT_EQ(forest.tree_of(joint), 1);
  EXPECT_EQ(forest.tree_of(door), 2);
  const Forest::Tree& robot = forest.trees()[1];
  EXPECT_EQ(robot.first_joint, base);
  EXPECT_EQ(robot.joints, 4);
  EXPECT_EQ(robot.first_q, 7);
  EXPECT_EQ(robot.nq, 10);
  EXPECT_EQ(robot.first_dof, 6);
  EXPECT_EQ(robot.nv, 9);

  EXPECT_EQ(forest.shared_with(foot)(right), 6);  // the base
  EXPECT_EQ(forest.shared_with(foot)(left), 7);
  EXPECT_EQ(forest.shared_with(left)(foot), 7);
  EXPECT_EQ(forest.shared_with(foot)(foot), 8);
  EXPECT_EQ(forest.shared_with(ball)(base), 0);
  EXPECT_EQ(forest.shared_with(door)(foot), 0);
  EXPECT_EQ(forest.shared_with(0)(0), 0);
  EXPECT_EQ(forest.shared_with(0)(foot), 0);
  EXPECT_EQ(forest.chain(0).size(), 0u);
  EXPECT_EQ(std::vector<int>(forest.chain(right).begin(), forest.chain(right).end()),
            (std::vector<int>{6, 7, 8, 9, 10, 11, 14}));
}

TEST(Forest, TreesWhoseJointsInterleaveAreOne) {
  Builder b;
  const int one = b.add(0, pinocchio::JointModelRX());
  b.add(0, pinocchio::JointModelRX());
  b.add(one, pinocchio::JointModelRY());
  b.add(0, pinocchio::JointModelRZ());
  const Forest forest(b.model);
  ASSERT_EQ(forest.trees().size(), 2u);
  EXPECT_EQ(forest.trees()[0].joints, 3);
  EXPECT_EQ(forest.shared_with(1)(2), 0);
  EXPECT_EQ(forest.shared_with(1)(3), 1);
}

TEST(Forest, ThereIsNoneInAnEmptyWorld) {
  const pinocchio::Model model;
  EXPECT_EQ(Forest(model).trees().size(), 0u);
  Dynamics dynamics(model);
  dynamics.update(model, VectorXd(), VectorXd());
  dynamics.factorize(model, VectorXd());
  EXPECT_EQ(dynamics.placements().size(), 1u);
}

}  // namespace
}  // namespace taut::testing
