// A scene that is edited between two steps: what the next one sees, what it refuses, what states belong to.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/derivatives/step_derivatives.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

template <typename Call>
std::string complaint(Call&& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(LiveScene, LoopsAndCouplingsAreFollowed) {
  const auto scene = std::make_shared<Scene>(hinged_chain(3, true, false));
  const VectorXd v = VectorXd::Zero(scene->model.nv);
  Simulator sim(scene);
  StepDerivatives derivatives(sim);
  const VectorXd before = sim.step(scene->q0, v).v_next;
  derivatives.jacobian(sim);
  scene->loops[1].placement_1.translation().y() += 1e-3;
  EXPECT_PRED2(says, complaint([&] { derivatives.jacobian(sim); }), scene->loops[1].name);
  sim.reset();
  const VectorXd after = sim.step(scene->q0, v).v_next;
  EXPECT_GT((after - before).norm(), 1e-3);
  EXPECT_EQ(after, Simulator(scene).step(scene->q0, v).v_next);
  derivatives.jacobian(sim);
}

TEST(LiveScene, AStructureThatWasEditedInPlaceIsRefusedUntilItIsPutBack) {
  const auto scene = std::make_shared<Scene>(hinged_chain(3, true, true));
  scene->actuators.push_back({.name = "engine", .dof = 2});
  const VectorXd v = VectorXd::Zero(scene->model.nv);
  Simulator sim(scene);
  const VectorXd first = sim.step(scene->q0, v).v_next;
  const auto refused = [&](auto& value, auto other, const char* name) {
    const auto before = value;
    value = other;
    EXPECT_PRED2(says, complaint([&] { sim.step(scene->q0, v); }), name);
    value = before;
    sim.reset();
    EXPECT_EQ(sim.step(scene->q0, v).v_next, first) << name;
  };
  refused(scene->loops[0].kind, Loop::Kind::point, "kind or the bodies");
  refused(scene->loops[1].joint_2, 0, "kind or the bodies");
  refused(scene->actuators[0].dof, 3, "'engine'");
  refused(scene->actuators[0].kind, Actuator::Kind::position, "'engine'");
  auto& pairs = scene->geometry.collisionPairs;
  refused(pairs.back(), pairs.front(), "collision pairs");
  refused(scene->geometry.geometryObjects.back().parentJoint, pinocchio::JointIndex{1}, "the joint of");
}

TEST(LiveScene, AnEditOfEveryStepCostsNoContact) {
  // The shape sweeps up and down on its body, far out of the ball that was first drawn around it.
  const auto scene = std::make_shared<Scene>(cube_on_plane(0.5, 1.0));
  Simulator sim(scene);
  const VectorXd v = VectorXd::Zero(6);
  for (int k = 0; k <= 20; ++k) {
    scene->geometry.geometryObjects.back().placement = at(0.0, 0.0, -0.1 * k);
    const double height = 1.0 - 0.1 * k;
    EXPECT_EQ(sim.step(scene->q0, v).contacts.empty(), height > 0.06) << height;
  }
}

TEST(LiveScene, LimitsAndFrictionThatComeAndGoKeepTheImpulsesOfOthers) {
  Scene robot = quadruped();
  robot.model.upperDryFrictionLimit.tail(8).setConstant(0.3);
  const auto scene = std::make_shared<Scene>(robot);
  Simulator sim(scene);
  const VectorXd v = VectorXd::Zero(robot.model.nv);
  sim.step(robot.q0, v);
  const State state = sim.state();
  VectorXd& friction = scene->model.upperDryFrictionLimit;
  friction[6] = 0.0;
  scene->model.lowerPositionLimit[7] = robot.q0[7];  // at once
  sim.step(robot.q0, v);
  friction[6] = 0.3;
  scene->model.lowerPositionLimit[7] = robot.model.lowerPositionLimit[7];
  sim.restore(state);
  const VectorXd again = sim.step(state.q, state.v).v_next;
  Simulator other(std::make_shared<const Scene>(robot));
  other.restore(state);
  EXPECT_EQ(again, other.step(state.q, state.v).v_next);
  EXPECT_EQ(sim.state().impulses.joints, other.state().impulses.joints);
  EXPECT_GT(sim.state().impulses.joints.norm(), 0.0);
}

TEST(LiveScene, AStateOfASceneOfEqualSizesIsRefused) {
  const auto make = [](const char* name) {
    Scene scene;
    add_floor(scene);
    add_box(scene, name, 1.0, Vector3d::Constant(0.1), at(0.0, 0.0, 0.05));
    return std::make_shared<const Scene>(std::move(scene));
  };
  Simulator one(make("one")), other(make("other")), twin(make("one"));
  one.step(one.scene().q0, VectorXd::Zero(6));
  const State state = one.state();
  EXPECT_PRED2(says, complaint([&] { other.restore(state); }), "another scene");
  EXPECT_PRED2(says, complaint([&] { one.restore(State{}); }), "another scene");
  twin.restore(state);
  EXPECT_EQ(twin.state().q, state.q);
}

TEST(LiveScene, WhatIsRestoredIsNotOfTheRecord) {
  Simulator sim(std::make_shared<const Scene>(cube_on_plane(0.5)));
  const State begin = sim.state();
  VectorXd v = VectorXd::Zero(6);
  v[0] = 1.0;
  const VectorXd q = sim.step(begin.q, v).q_next;
  sim.restore(begin);
  EXPECT_EQ(sim.record().q_next, q);
  EXPECT_EQ(sim.state().q, begin.q);
  EXPECT_EQ(sim.state().v, begin.v);
  sim.step(begin.q, v);
  EXPECT_EQ(sim.state().q, q);
}

TEST(LiveScene, ParametersArePulledAfterTheAdjointOfTheirStepAlone) {
  const auto scene = std::make_shared<const Scene>(cube_on_plane(0.5));
  Simulator sim(scene);
  StepDerivatives derivatives(sim);
  const VectorXd zero = VectorXd::Zero(6), one = VectorXd::Ones(6);
  const Parameter gravity = find_parameter(*scene, "gravity");
  sim.step(scene->q0, zero);
  EXPECT_PRED2(says, complaint([&] { derivatives.vjp_parameter(sim, gravity); }), "vjp");
  derivatives.vjp(sim, one, one);
  const VectorXd pulled = derivatives.vjp_parameter(sim, gravity);
  EXPECT_EQ(pulled, derivatives.vjp_parameter(sim, gravity));
  derivatives.jacobian(sim);
  EXPECT_PRED2(says, complaint([&] { derivatives.vjp_parameter(sim, gravity); }), "vjp");
  derivatives.vjp(sim, one, one);
  sim.step(scene->q0, zero);
  EXPECT_PRED2(says, complaint([&] { derivatives.vjp_parameter(sim, gravity); }), "vjp");
}

}  // namespace
}  // namespace taut::testing
