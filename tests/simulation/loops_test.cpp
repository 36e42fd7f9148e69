// Loops in the step: what repeats itself, what contradicts itself, what is kept of a state.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/assembly.hpp"
#include "taut/simulation/energy.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

double worst_gap(const Scene& scene, const VectorXd& q) {
  double worst = 0.0;
  for (const LoopGap& gap : loop_gaps(scene, q)) worst = std::max({worst, gap.linear, gap.angular});
  return worst;
}

TEST(StepWithLoops, EverySolverThatSolvesItHoldsAPendulumOnAClosure) {
  const Scene scene = hinged_chain(2, false, false);
  for (const SolverInfo& info : solvers()) {
    // The first soften the closure, the second has a penalty that suits other problems, the last stops early.
    if (info.name.starts_with("ccp_newton") || info.name == "admm_fp" || info.name == "raisim_ds_es") continue;
    Simulator sim(std::make_shared<const Scene>(scene), {.solver = std::string(info.name)});
    VectorXd q = scene.q0, v = VectorXd::Zero(12);
    for (int k = 0; k < 300; ++k) {
      const Record& record = sim.step(q, v);
      ASSERT_EQ(record.report.status, Status::converged) << info.name << " in step " << k;
      q = record.q_next, v = record.v_next;
    }
    EXPECT_LT(worst_gap(scene, q), 1e-5) << info.name;
    EXPECT_GT(v.norm(), 0.5) << info.name;  // it does swing
  }
}

TEST(StepWithLoops, RedundantRowsNeedNoHelp) {
  // Two out-of-plane rows and the tilts of the last hinge repeat the others'.
  for (const int bars : {4, 20}) {
    const Scene scene = hinged_chain(bars, true, false);
    ASSERT_LT(worst_gap(scene, scene.q0), 1e-12);
    Simulator sim(std::make_shared<const Scene>(scene));
    VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv);
    double highest = -HUGE_VAL;
    Kinematics kinematics(scene.model);
    const double start = mechanical_energy(scene, q, v, kinematics);
    for (int k = 0; k < 1000; ++k) {
      const Record& record = sim.step(q, v);
      ASSERT_EQ(record.report.status, Status::converged) << bars << " bars, step " << k;
      q = record.q_next, v = record.v_next;
      ASSERT_LT(worst_gap(scene, q), 1e-5) << bars << " bars, step " << k;
      highest = std::max(highest, mechanical_energy(scene, q, v, kinematics));
    }
    EXPECT_LT(highest - start, 1e-2 * (bars * 0.5 * kGravity * 0.3)) << bars;  // of what falling by 0.3 m would give
  }
}

TEST(StepWithLoops, AStateIsTheWholeState) {
  const Scene scene = hinged_chain(4, false, true);
  Simulator sim(std::make_shared<const Scene>(scene));
  VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv);
  const auto advance = [&](int count) {
    for (int k = 0; k < count; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
  };
  advance(300);
  const State state = sim.state();
  advance(100);
  const VectorXd end = q;
  sim.restore(state);
  q = state.q, v = state.v;
  advance(100);
  EXPECT_EQ(q, end);
}

TEST(StepWithLoops, ContradictionsAreReportedAndStayBounded) {
  // One bar, hinged to the world at a second place 1 cm from where it could be.
  Scene scene = hinged_chain(4, true, false);
  scene.loops.back().placement_1.translation() += Vector3d(0.0, 0.01, 0.0);  // out of the plane: nothing can follow
  for (const char* solver : {"auto", "pgs", "admm"}) {
    Simulator sim(std::make_shared<const Scene>(scene), {.solver = solver, .solving = {.max_iterations = 500}});
    VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv);
    int reported = 0;
    for (int k = 0; k < 300; ++k) {
      const Record& record = sim.step(q, v);
      reported += record.report.status != Status::converged;
      q = record.q_next, v = record.v_next;
      ASSERT_TRUE(v.allFinite()) << solver;
      // m/s and rad/s of bars that weigh 0.5 kg, whose closure asks for 10 m/s at once.
      ASSERT_LT(v.lpNorm<Eigen::Infinity>(), 300.0) << solver << " in step " << k;
    }
    EXPECT_GT(reported, 290) << solver;
  }
}

TEST(StepWithLoops, ALoopAddedLaterNeedsANewSimulator) {
  auto scene = std::make_shared<Scene>(hinged_chain(2, false, false));
  Simulator sim(scene);
  sim.step(scene->q0, VectorXd::Zero(12));
  scene->loops.push_back(scene->loops.back());
  EXPECT_THROW(sim.step(scene->q0, VectorXd::Zero(12)), std::invalid_argument);
}

TEST(StepWithLoops, ACompliantLoopIsASpring) {
  // A body hung on a compliant point sinks by m g e.
  for (const Integrator integrator : {Integrator::euler, Integrator::moreau}) {
    Scene scene;
    add_box(scene, "weight", 2.0, Vector3d::Constant(0.1), at(0.0, 0.0, 0.0));
    add_loop(scene, {.name = "spring", .kind = Loop::Kind::point, .joint_2 = 1, .compliance = 1e-3});
    scene.model.damping.setConstant(20.0);
    Simulator sim(std::make_shared<const Scene>(scene), {.integrator = integrator, .solving = {.tolerance = 1e-12}});
    VectorXd q = scene.q0, v = VectorXd::Zero(6);
    for (int k = 0; k < 4000; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
    EXPECT_NEAR(q[2], -2.0 * kGravity * 1e-3, 1e-8);
  }
}

}  // namespace
}  // namespace taut::testing
