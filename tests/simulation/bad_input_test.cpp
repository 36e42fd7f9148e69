// Misuse throws std::invalid_argument naming the value, before anything changes.
#include <gtest/gtest.h>

#include <limits>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"
#include "taut/simulation/structure.hpp"

namespace taut::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool says(const std::string& what, const std::string& part) { return what.find(part) != std::string::npos; }

template <typename Call>
std::string complaint(Call&& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string complaint_about(const Scene& scene, const SimulatorOptions& options = {}) {
  return complaint([&] { Simulator(std::make_shared<const Scene>(scene), options); });
}

bool same(const State& a, const State& b) {
  const auto touches = [](const State& s) {
    std::vector<double> all;
    for (const auto& t : s.collision.touches) all.insert(all.end(), {double(t.slot), t.local.x(), t.local.y()});
    for (const auto& i : s.impulses.contacts) all.insert(all.end(), {double(i.slot), i.world.x(), i.world.z()});
    return all;
  };
  return a.q == b.q && a.v == b.v && a.impulses.joints == b.impulses.joints && touches(a) == touches(b);
}

class BadStep : public ::testing::Test {
 protected:
  BadStep() : sim(std::make_shared<const Scene>(cube_on_plane(0.5))) {
    q = sim.scene().q0, v = VectorXd::Zero(6);
    v[0] = 0.1;
    for (int k = 0; k < 5; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
  }

  // The complaint of a bad step; the simulator must go on as if nothing had been asked.
  template <typename Call>
  std::string refused(Call&& call) {
    const State before = sim.state();
    const VectorXd q_record = sim.record().q;
    const std::string what = complaint(call);
    EXPECT_TRUE(same(before, sim.state())) << what;
    EXPECT_EQ(sim.record().q, q_record) << what;
    Simulator other(sim.shared_scene());
    other.restore(before);
    const VectorXd expected = other.step(q, v).q_next;
    EXPECT_EQ(sim.step(q, v).q_next, expected) << what;
    sim.restore(before);
    return what;
  }

  Simulator sim;
  VectorXd q, v;
};

TEST_F(BadStep, WrongSizesAreNamed) {
  EXPECT_PRED2(says, refused([&] { sim.step(VectorXd::Zero(6), v); }), "q has 6 entries, expected 7");
  EXPECT_PRED2(says, refused([&] { sim.step(q, VectorXd::Zero(7)); }), "v has 7 entries, expected 6");
  EXPECT_PRED2(says, refused([&] { sim.step(q, v, VectorXd::Zero(3)); }), "tau has 3 entries, expected 6");
  const std::vector<pinocchio::Force> forces(1, pinocchio::Force::Zero());
  EXPECT_PRED2(says, refused([&] { sim.step(q, v, VectorXd(), forces); }), "fext has 1 entries, expected 2");
  EXPECT_PRED2(says, refused([&] { sim.step(q, v, VectorXd(), {}, VectorXd::Zero(2)); }),
               "control has 2 entries, expected 0");
}

TEST_F(BadStep, WhatIsNotFiniteIsNamed) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    VectorXd x = q;
    x[2] = bad;
    EXPECT_PRED2(says, refused([&] { sim.step(x, v); }), "q[2]");
    x = v;
    x[5] = bad;
    EXPECT_PRED2(says, refused([&] { sim.step(q, x); }), "v[5]");
    EXPECT_PRED2(says, refused([&] { sim.step(q, v, x); }), "tau[5]");
    std::vector<pinocchio::Force> forces(2, pinocchio::Force::Zero());
    forces[1].linear().x() = bad;
    EXPECT_PRED2(says, refused([&] { sim.step(q, v, VectorXd(), forces); }), "fext");
  }
}

TEST_F(BadStep, AQuaternionThatIsNotUnitIsNamed) {
  VectorXd x = q;
  x.tail<4>() *= 1.01;
  EXPECT_PRED2(says, refused([&] { sim.step(x, v); }), "'cube' has norm 1.01");
  x.tail<4>().setZero();
  EXPECT_PRED2(says, refused([&] { sim.step(x, v); }), "norm 0.0");
}

TEST_F(BadStep, AnOverflowIsReportedAndForgotten) {
  // Finite but absurd: a numerical outcome, hence a status; and the simulator goes on.
  const State before = sim.state();
  const VectorXd expected = sim.step(q, v).q_next;
  sim.restore(before);
  VectorXd fast = v;
  fast[0] = 1e200, fast[4] = 1e200;
  EXPECT_EQ(sim.step(q, fast).report.status, Status::not_finite);
  sim.restore(before);
  EXPECT_EQ(sim.step(q, v).q_next, expected);
  sim.step(q, fast);
  EXPECT_EQ(sim.step(q, v).report.status, Status::converged);  // without restoring as well
}

TEST(BadOptions, AreNamed) {
  const Scene scene = cube_on_plane(0.5);
  for (const double dt : {0.0, -1e-3, kNan, kInfinity}) {
    EXPECT_PRED2(says, complaint_about(scene, {.dt = dt}), "dt") << dt;
  }
  EXPECT_PRED2(says, complaint_about(scene, {.solver = "magic"}), "magic");
  EXPECT_PRED2(says, complaint_about(scene, {.solving = {.tolerance = -1.0}}), "tolerance");
  EXPECT_PRED2(says, complaint_about(scene, {.solving = {.tolerance = kNan}}), "tolerance");
  EXPECT_PRED2(says, complaint_about(scene, {.solving = {.max_iterations = -1}}), "-1");
  EXPECT_PRED2(says, complaint_about(scene, {.stabilization = {.margin = -1.0}}), "margin");
  EXPECT_PRED2(says, complaint_about(scene, {.stabilization = {.limit_margin = kNan}}), "limit_margin");
  EXPECT_PRED2(says, complaint_about(scene, {.stabilization = {.correction = 1.5}}), "correction");
  EXPECT_PRED2(says, complaint_about(scene, {.stabilization = {.correction_speed = kNan}}), "correction_speed");
  EXPECT_PRED2(says, complaint([] { Simulator sim(nullptr); }), "no scene");
}

TEST(BadScene, MassesAreNamed) {
  Scene scene;
  for (const double mass : {0.0, -1.0, kNan, kInfinity}) {
    const Inertia inertia(mass, Vector3d::Zero(), pinocchio::Symmetric3::Identity());
    EXPECT_PRED2(says, complaint([&] { add_free_body(scene, "stone", inertia, SE3::Identity()); }), "stone");
  }
  EXPECT_EQ(scene.model.njoints, 1);  // nothing was added
  for (const double mass : {0.0, -1.0, kNan, kInfinity}) {
    Scene cube = cube_on_plane(0.5);
    cube.model.inertias[1].mass() = mass;
    EXPECT_PRED2(says, complaint_about(cube), "'cube'") << mass;
  }
}

TEST(BadScene, InertiasAreNamed) {
  for (const double bad : {-1.0, kNan}) {
    Scene cube = cube_on_plane(0.5);
    cube.model.inertias[1].inertia() = pinocchio::Symmetric3(bad, 0.0, 1.0, 0.0, 0.0, 1.0);
    EXPECT_PRED2(says, complaint_about(cube), "inertia of 'cube'") << bad;
  }
}

TEST(BadScene, FrictionIsNamed) {
  for (const double mu : {-0.1, kNan, kInfinity}) {
    Scene cube = cube_on_plane(0.5);
    const auto add = [&] { add_shape(cube, 1, "knob", box(0.1, 0.1, 0.1), SE3::Identity(), {.friction = mu}); };
    EXPECT_PRED2(says, complaint(add), "friction of 'knob'");
    cube.surfaces[1].friction = mu;
    EXPECT_PRED2(says, complaint_about(cube), "friction of 'cube'");
    cube.surfaces[1].friction = 0.5;
    cube.pair_friction[{"cube", "floor"}] = mu;
    EXPECT_PRED2(says, complaint_about(cube), "'cube' with 'floor'");
  }
}

TEST(BadScene, JointTermsAreNamed) {
  for (const double bad : {-1.0, kNan}) {
    const auto with = [&](auto&& change) {
      Scene scene = slider(1.0);
      change(scene);
      return complaint_about(scene);
    };
    EXPECT_PRED2(says, with([&](Scene& s) { s.model.armature[0] = 0.5 * bad; }), "armature");
    EXPECT_PRED2(says, with([&](Scene& s) { s.model.damping[0] = bad; }), "damping");
    EXPECT_PRED2(says, with([&](Scene& s) { s.stiffness[0] = bad; }), "stiffness");
    EXPECT_PRED2(says, with([&](Scene& s) { s.model.upperDryFrictionLimit[0] = bad; }), "dry friction");
  }
}

TEST(BadScene, ActuatorsAndNamesAreNamed) {
  Scene scene = cube_on_plane(0.5);
  EXPECT_PRED2(says, complaint([&] { add_box(scene, "cube", 1.0, Vector3d::Ones(), SE3::Identity()); }), "'cube'");
  EXPECT_PRED2(says, complaint([&] { add_shape(scene, 0, "floor", box(1, 1, 1), SE3::Identity()); }), "'floor'");
  EXPECT_PRED2(says, complaint([&] { add_shape(scene, 9, "far", box(1, 1, 1), SE3::Identity()); }), "joint 9");
  EXPECT_PRED2(says, complaint([&] { add_shape(scene, 0, "air", nullptr, SE3::Identity()); }), "'air'");
  scene.actuators.push_back({.name = "ghost", .dof = 6});
  EXPECT_PRED2(says, complaint_about(scene), "'ghost'");
}

TEST(BadScene, AStructureThatChangedIsRefused) {
  auto scene = std::make_shared<Scene>(cube_on_plane(0.5));
  Simulator sim(scene);
  add_box(*scene, "late", 1.0, Vector3d::Ones(), at(5.0, 0.0, 5.0));
  EXPECT_PRED2(says, complaint([&] { sim.step(scene->q0, VectorXd::Zero(12)); }), "changed");
}

TEST(BadScene, LiveArraysThatDoNotFitAreNamed) {
  const auto step_after = [](auto&& change) {
    auto scene = std::make_shared<Scene>(cube_on_plane(0.5));
    Simulator sim(scene);
    sim.step(scene->q0, VectorXd::Zero(6));
    change(*scene);
    const std::string at_step = complaint([&] { sim.step(scene->q0, VectorXd::Zero(6)); });
    EXPECT_EQ(at_step, complaint([&] { check_live(*scene); }));
    return at_step;
  };
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.damping.resize(0); }), "damping has 0 entries, expected 6");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.armature.resize(9); }), "armature has 9");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.inertias.pop_back(); }), "inertias has 1");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.inertias[1].mass() = kNan; }), "mass of 'cube' is nan");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.gravity.linear()[0] = kNan; }), "gravity");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.parents[1] = 7; }), "parents has 7");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.model.idx_vs[1] = 40; }), "'cube'");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.geometry.geometryObjects[0].parentJoint = 12345; }), "12345");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.geometry.geometryObjects[0].geometry.reset(); }), "no geometry");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.geometry.geometryObjects[1].placement.translation()[0] = kNan; }),
               "placement of shape 'cube'");
  EXPECT_PRED2(says, step_after([](Scene& s) { s.surfaces.pop_back(); }), "surfaces has 1");
}

TEST(BadScene, StructureIsNamedWhereSomethingIsMade) {
  const auto after = [](auto&& change) {
    Scene scene = cube_on_plane(0.5);
    change(scene);
    const std::string said = complaint_about(scene);
    EXPECT_EQ(said, complaint([&] { add_floor(scene); }));
    EXPECT_EQ(said, complaint([&] {
                Scene world;
                append(world, scene, "its_", SE3::Identity());
              }));
    return said;
  };
  EXPECT_PRED2(says, after([](Scene& s) { s.geometry.collisionPairs[0].second = 99; }), "99");
  EXPECT_PRED2(says, after([](Scene& s) { s.model.supports[1].push_back(99); }), "joint 99");
  EXPECT_PRED2(says, after([](Scene& s) { s.model.frames[1].parentJoint = 99; }), "joint 99");
  EXPECT_PRED2(says, after([](Scene& s) { s.model.rotorInertia.resize(1); }), "rotorInertia has 1");
  EXPECT_PRED2(says, after([](Scene& s) { s.geometry.geometryObjects[0].placement.rotation().row(0).setZero(); }),
               "placement of shape");
}

}  // namespace
}  // namespace taut::testing
