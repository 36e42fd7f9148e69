// Once warm a step allocates nothing. Every malloc of the process counts, Pinocchio's and Coal's included.
#include <coal/hfield.h>
#include <gtest/gtest.h>

#include "malloc_counter.hpp"
#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

#ifdef TAUT_COUNTS_MALLOC

namespace taut::testing {
namespace {

// Allocations of `steps` steps after `warm` ones; `before(sim)` may set it up.
template <typename SetUp>
long allocations(const Scene& scene, const SimulatorOptions& options, VectorXd v, int warm, int steps, SetUp&& set_up) {
  Simulator sim(std::make_shared<const Scene>(scene), options);
  set_up(sim);
  VectorXd q = scene.q0;
  const auto advance = [&](int count) {
    for (int k = 0; k < count; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next;
      v = record.v_next;
    }
  };
  advance(warm);
  const long before = g_allocations;
  advance(steps);
  return g_allocations - before;
}

constexpr auto kNothing = [](Simulator&) {};

TEST(StepAllocation, TheCounterSeesASimulatorBeingMade) {
  const auto scene = std::make_shared<const Scene>(cube_on_plane(0.5));
  const long before = g_allocations;
  const Simulator sim(scene);
  EXPECT_GT(g_allocations - before, 10);
}

TEST(StepAllocation, AStackOfBoxesAllocatesNothing) {
  const Scene scene = stack(std::vector<double>(4, 1.0));
  for (const char* solver : {"pgs", "admm", "newton", "auto"}) {
    const int steps = solver == std::string("auto") ? 1000 : 500;
    EXPECT_EQ(allocations(scene, {.solver = solver}, VectorXd::Zero(scene.model.nv), 20, steps, kNothing), 0) << solver;
  }
}

TEST(StepAllocation, ASparseProblemAllocatesNothing) {
  const Scene scene = stack(std::vector<double>(12, 1.0));  // 144 rows
  EXPECT_EQ(allocations(scene, {}, VectorXd::Zero(scene.model.nv), 20, 500, kNothing), 0);
}

TEST(StepAllocation, AFieldOfManyBodiesAllocatesNothing) {
  Scene scene;  // 2415 couples of bodies: collision sweeps
  add_floor(scene);
  for (int i = 0; i < 70; ++i) {
    add_box(scene, "cube" + std::to_string(i), 1.0, Vector3d::Constant(0.1),
            at(0.11 * (i / 2), 0.0, 0.05 + 0.1 * (i % 2)));
  }
  VectorXd v = VectorXd::Zero(scene.model.nv);
  v[0] = 0.5;  // one column runs into the next
  EXPECT_EQ(allocations(scene, {.solver = "pgs", .solving = {.max_iterations = 50}}, v, 50, 50, kNothing), 0);
}

TEST(StepAllocation, BodiesOnAHeightFieldAllocateNothing) {
  Scene scene;
  Eigen::MatrixXd heights(9, 9);
  for (Eigen::Index i = 0; i < heights.size(); ++i) heights(i) = 0.02 * static_cast<double>((7 * i) % 5);
  const auto field = std::make_shared<coal::HeightField<coal::OBBRSS>>(2.0, 2.0, heights, -1.0);
  field->computeLocalAABB();
  add_shape(scene, 0, "field", field, SE3::Identity(), {.friction = 0.5});
  for (int i = 0; i < 3; ++i) {
    add_box(scene, "cube" + std::to_string(i), 1.0, Vector3d::Constant(0.1), at(0.3 * (i - 1), 0.1, 0.15));
  }
  EXPECT_EQ(allocations(scene, {}, VectorXd::Zero(scene.model.nv), 300, 300, kNothing), 0);
}

TEST(StepAllocation, AStandingRobotAllocatesNothing) {
  const Scene scene = quadruped();
  const auto stand = [&](Simulator& sim) {
    sim.servo().kp.tail(8).setConstant(200.0);
    sim.servo().kd.tail(8).setConstant(5.0);
    sim.servo().target.tail(8) = scene.q0.tail(8);
  };
  VectorXd v = VectorXd::Zero(scene.model.nv);
  v[0] = 0.2;  // a push, so that feet slip and stick
  EXPECT_EQ(allocations(scene, {}, v, 50, 1000, stand), 0);
}

TEST(StepAllocation, TumblingShapesOfEveryKindAllocateNothing) {
  // Contacts come and go; the warm part sees the densest heap.
  std::mt19937 rng(11);
  Scene scene;
  add_floor(scene);
  const std::vector<std::shared_ptr<coal::CollisionGeometry>> shapes{
      std::make_shared<coal::Sphere>(0.06),
      std::make_shared<coal::Capsule>(0.04, 0.1),
      std::make_shared<coal::Cylinder>(0.05, 0.1),
      box(0.1, 0.08, 0.12),
      std::make_shared<coal::Ellipsoid>(0.05, 0.06, 0.08),
      prism(6, 0.06, 0.05)};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = "body" + std::to_string(i);
    const SE3 place(random_rotation(rng), Vector3d(0.0, 0.0, 0.15 * static_cast<double>(i) + 0.1));
    const auto joint = add_free_body(scene, name, Inertia::FromSphere(0.5, 0.06), place);
    add_shape(scene, joint, name, shapes[i], SE3::Identity());
  }
  EXPECT_EQ(allocations(scene, {}, VectorXd::Zero(scene.model.nv), 600, 1000, kNothing), 0);
  for (const GjkVariant variant : {GjkVariant::vanilla, GjkVariant::polyak, GjkVariant::nesterov}) {
    for (const GjkStart start :
         {GjkStart::none, GjkStart::boxes, GjkStart::previous, GjkStart::turned, GjkStart::transported}) {
      const SimulatorOptions options{.narrow_phase = {variant, start}};
      // Each falls in its own way, and the densest heap may come late.
      EXPECT_EQ(allocations(scene, options, VectorXd::Zero(scene.model.nv), 2000, 500, kNothing), 0)
          << name_of(variant) << " from " << name_of(start);
    }
  }
}

TEST(StepAllocation, LoopsAllocateNothing) {
  for (const bool closed : {false, true}) {
    for (const int bars : {3, 20}) {  // dense and sparse
      const Scene scene = hinged_chain(bars, closed, false);
      VectorXd v = VectorXd::Zero(scene.model.nv);
      EXPECT_EQ(allocations(scene, {}, v, 20, 300, kNothing), 0) << bars << " bars" << (closed ? ", closed" : "");
    }
  }
}

TEST(StepAllocation, AFallAllocatesNothingFromItsFirstContactOn) {
  // The room a simulator reserves covers a robot's feet: even the first touch is free.
  const Scene scene = cube_on_plane(0.5, 0.06);
  EXPECT_EQ(allocations(scene, {}, VectorXd::Zero(6), 2, 500, kNothing), 0);
}

}  // namespace
}  // namespace taut::testing

#endif
