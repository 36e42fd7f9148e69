// The same start gives the same bits: again, from a saved state, on any thread.
#include <gtest/gtest.h>

#include <thread>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

// Shapes that go through GJK fall on each other and on the floor.
Scene heap() {
  std::mt19937 rng(3);
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.6});
  const std::vector<std::shared_ptr<coal::CollisionGeometry>> shapes{
      box(0.1, 0.1, 0.1), std::make_shared<coal::Ellipsoid>(0.05, 0.06, 0.08), prism(5, 0.06, 0.05),
      std::make_shared<coal::Capsule>(0.04, 0.1), box(0.12, 0.08, 0.1)};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = "body" + std::to_string(i);
    const SE3 place(random_rotation(rng), Vector3d(0.0, 0.0, 0.1 + 0.13 * static_cast<double>(i)));
    const auto joint = add_free_body(scene, name, Inertia::FromBox(0.5, 0.1, 0.1, 0.1), place);
    add_shape(scene, joint, name, shapes[i], SE3::Identity(), {.friction = 0.6});
  }
  return scene;
}

struct Path {
  std::vector<double> bits;  ///< q and v of every step, one after the other
  int contacts = 0;
  bool operator==(const Path& other) const { return bits == other.bits && contacts == other.contacts; }
};

// Goes on from the simulator's own state.
Path follow(Simulator& sim, int steps) {
  Path path;
  State start = sim.state();
  sim.rollout(start.q, start.v, MatrixXd(), steps, [&](int, const Record& record) {
    path.bits.insert(path.bits.end(), record.q_next.begin(), record.q_next.end());
    path.bits.insert(path.bits.end(), record.v_next.begin(), record.v_next.end());
    path.contacts += static_cast<int>(record.contacts.size());
  });
  return path;
}

TEST(Reproducibility, TwoSimulatorsGiveTheSameBits) {
  const auto scene = std::make_shared<const Scene>(heap());
  for (const char* solver : {"pgs", "admm", "newton", "auto"}) {
    Simulator one(scene, {.solver = solver}), two(scene, {.solver = solver});
    const Path path = follow(one, 400);
    EXPECT_GT(path.contacts, 1000) << solver;
    EXPECT_EQ(path, follow(two, 400)) << solver;
  }
}

TEST(Reproducibility, ARestoredStateHasTheSameFuture) {
  const auto scene = std::make_shared<const Scene>(heap());
  for (const char* solver : {"pgs", "admm", "newton", "auto"}) {
    Simulator sim(scene, {.solver = solver});
    follow(sim, 250);  // in the middle of the fall, with contacts
    ASSERT_FALSE(sim.record().contacts.empty());
    const State saved = sim.state();
    const Path future = follow(sim, 200);
    sim.restore(saved);
    EXPECT_EQ(future, follow(sim, 200)) << solver << ", the same simulator";
    Simulator other(scene, {.solver = solver});
    other.restore(saved);
    EXPECT_EQ(future, follow(other, 200)) << solver << ", another simulator";
  }
}

TEST(Reproducibility, ARestoredRobotWithLimitsAndFrictionHasTheSameFuture) {
  Scene robot = quadruped();
  for (int k = 0; k < 8; ++k) {
    robot.model.lowerPositionLimit[7 + k] = robot.q0[7 + k] - 0.01;
    robot.model.upperPositionLimit[7 + k] = robot.q0[7 + k] + 0.01;
    robot.model.upperDryFrictionLimit[6 + k] = 0.2;
  }
  const auto scene = std::make_shared<const Scene>(std::move(robot));
  Simulator sim(scene);
  follow(sim, 100);
  ASSERT_FALSE(sim.record().joint_rows.empty());
  const State saved = sim.state();
  const Path future = follow(sim, 200);
  Simulator other(scene);
  other.restore(saved);
  EXPECT_EQ(future, follow(other, 200));
}

TEST(Reproducibility, ResetForgetsThePast) {
  const auto scene = std::make_shared<const Scene>(heap());
  Simulator used(scene), fresh(scene);
  follow(used, 300);
  used.reset();
  const VectorXd v = VectorXd::Zero(scene->model.nv);
  used.step(scene->q0, v);
  fresh.step(scene->q0, v);
  EXPECT_EQ(follow(used, 300), follow(fresh, 300));
}

TEST(Reproducibility, FourThreadsOnOneSceneGiveTheBitsOfOne) {
  const auto scene = std::make_shared<const Scene>(heap());
  Simulator alone(scene);
  const Path expected = follow(alone, 400);
  std::vector<Path> paths(4);
  {
    std::vector<std::jthread> threads;
    for (Path& path : paths) {
      threads.emplace_back([&path, &scene] {
        Simulator sim(scene);
        path = follow(sim, 400);
      });
    }
  }
  for (const Path& path : paths) EXPECT_EQ(path, expected);
}

TEST(Reproducibility, AStateOfAnotherSceneIsRefused) {
  Simulator heap_sim(std::make_shared<const Scene>(heap())), cube(std::make_shared<const Scene>(cube_on_plane(0.5)));
  const State before = heap_sim.state();
  EXPECT_THROW(heap_sim.restore(cube.state()), std::invalid_argument);
  EXPECT_EQ(heap_sim.state().q, before.q);
}

}  // namespace
}  // namespace taut::testing
