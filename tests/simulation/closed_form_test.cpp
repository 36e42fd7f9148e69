// The step against closed forms of the *discrete* equations, v⁺ = v + dt a and q⁺ = q + dt v⁺, hence the tight bounds.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

std::shared_ptr<const Scene> share(Scene scene) { return std::make_shared<const Scene>(std::move(scene)); }

struct Moving {
  VectorXd q, v;
  void step(Simulator& sim) {
    const Record& record = sim.step(q, v);
    ASSERT_EQ(record.report.status, Status::converged);
    q = record.q_next;
    v = record.v_next;
  }
};

Moving at_rest(const Simulator& sim) { return {sim.scene().q0, VectorXd::Zero(sim.scene().model.nv)}; }

TEST(Step, FreeFallIsTheDiscreteParabola) {
  Simulator sim(share(lonely_body(Inertia::FromSphere(2.0, 0.1), kGravity)), {.dt = 1e-2});
  Moving body = at_rest(sim);
  for (int k = 1; k <= 100; ++k) {
    body.step(sim);
    EXPECT_NEAR(body.v[2], -kGravity * 1e-2 * k, 1e-12);
    EXPECT_NEAR(body.q[2], -kGravity * 1e-4 * k * (k + 1) / 2, 1e-12);
    EXPECT_EQ(sim.record().rows.rows(), 0);
  }
}

TEST(Step, ARestingCubeStaysAtRest) {
  for (const char* solver : {"pgs", "admm", "newton", "auto"}) {
    Simulator sim(share(cube_on_plane(0.5)), {.solver = solver, .solving = {.tolerance = 1e-10}});
    Moving cube = at_rest(sim);
    for (int k = 0; k < 500; ++k) {
      cube.step(sim);
      ASSERT_LT(cube.v.head<3>().norm(), 1e-9) << solver << " at step " << k;
      ASSERT_LT(0.05 * cube.v.tail<3>().norm(), 1e-9) << solver << " at step " << k;  // of a corner
    }
    EXPECT_NEAR(cube.q[2], 0.05, 1e-9) << solver;  // 500 steps of at most 1e-9 m/s move by 5e-10 m
    EXPECT_EQ(sim.record().contacts.size(), 4u);
    // 1 kg times the tolerance at each of the four corners.
    EXPECT_NEAR(sim.record().contact_impulses().row(2).sum(), 1.0 * kGravity * 1e-3, 4e-10) << solver;
  }
}

TEST(Step, ASlidingCubeStopsAtTheDiscreteSumInAnyDirection) {
  const double mu = 0.4, dt = 1e-3, v0 = 1.0, brake = mu * kGravity * dt;
  double way = 0.0;
  int steps = 0;
  for (double v = v0 - brake; v > 0.0; v -= brake, ++steps) way += dt * v;
  for (int turn = 0; turn < 12; ++turn) {
    const double angle = 0.1 + turn * M_PI / 6.0;
    const Vector3d direction(std::cos(angle), std::sin(angle), 0.0);
    Simulator sim(share(cube_on_plane(mu)), {.dt = dt, .solving = {.tolerance = 1e-11}});
    Moving cube = at_rest(sim);
    cube.v.head<3>() = v0 * direction;
    for (int k = 1; k <= steps; ++k) {
      cube.step(sim);
      // Each of the 255 steps may add the tolerance.
      ASSERT_LT((cube.v.head<3>() - (v0 - k * brake) * direction).norm(), 1e-8) << "step " << k << " turn " << turn;
    }
    for (int k = 0; k < 10; ++k) cube.step(sim);
    EXPECT_LT(cube.v.norm(), 1e-9);
    EXPECT_LT((cube.q.head<2>() - way * direction.head<2>()).norm(), 1e-8) << "turn " << turn;
    EXPECT_NEAR(std::abs(cube.q[6]), 1.0, 1e-12);  // and it did not turn
  }
  // v0²/(2 μ g) is the limit of that sum: they differ by half a step's way.
  EXPECT_NEAR(way, v0 * v0 / (2.0 * mu * kGravity), 0.5 * v0 * dt);
}

TEST(Step, AnInclineHoldsBelowTheFrictionAngleAndSlipsAbove) {
  const double alpha = 0.4, dt = 1e-3;
  for (const double excess : {1e-4, -1e-4}) {
    for (const double heading : {0.0, 0.3, M_PI / 4}) {  // the cube's edges need not follow the slope
      const double mu = std::tan(alpha) + excess;
      const Matrix3d tilt = Eigen::AngleAxisd(alpha, Vector3d::UnitY()).toRotationMatrix();
      const Matrix3d turn = Eigen::AngleAxisd(heading, Vector3d::UnitZ()).toRotationMatrix();
      Scene scene;
      add_shape(scene, 0, "slope", std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0),
                SE3(tilt, Vector3d::Zero()), {.friction = mu});
      add_box(scene, "cube", 1.0, Vector3d::Constant(0.1), SE3(tilt * turn, 0.05 * tilt.col(2)), mu);
      Simulator sim(share(std::move(scene)), {.dt = dt, .solving = {.tolerance = 1e-11}});
      Moving cube = at_rest(sim);
      for (int k = 1; k <= 200; ++k) cube.step(sim);
      const Vector3d downhill = tilt.col(0);
      const double slip = excess > 0 ? 0.0 : 200 * dt * kGravity * (std::sin(alpha) - mu * std::cos(alpha));
      const Vector3d velocity = tilt * turn * cube.v.head<3>();
      EXPECT_LT((velocity - slip * downhill).norm(), 1e-8) << "μ − tan α = " << excess << ", heading " << heading;
      EXPECT_LT(cube.v.tail<3>().norm(), 1e-7);
    }
  }
}

TEST(Step, ADroppedBallLandsAtTheRightStepWithoutBounceOrPenetration) {
  const double r = 0.05, dt = 1e-3;
  for (const double height : {0.1, 0.5, 0.5017}) {
    Scene scene;
    add_floor(scene);
    add_ball(scene, "ball", 0.3, r, at(0.0, 0.0, r + height));
    Simulator sim(share(std::move(scene)), {.dt = dt, .solving = {.tolerance = 1e-12}});
    Moving ball = at_rest(sim);
    double gap = height;
    int k = 0;
    for (; gap - kGravity * dt * dt * (k + 1) >= 0.0; ++k) {
      gap -= kGravity * dt * dt * (k + 1);
      ball.step(sim);
      ASSERT_NEAR(ball.q[2], r + gap, 1e-10) << "step " << k;  // no contact holds it before
    }
    ball.step(sim);  // closes exactly what is left
    EXPECT_NEAR(ball.q[2], r, 1e-12);
    EXPECT_NEAR(ball.v[2], -gap / dt, 1e-9);
    for (int more = 0; more < 50; ++more) {
      ball.step(sim);
      ASSERT_NEAR(ball.v[2], 0.0, 1e-9);  // an error of q near 1e-12 over dt
      ASSERT_NEAR(ball.q[2], r, 1e-11);
    }
  }
}

TEST(Step, ABallThatSlidesEndsRollingAtFiveSeventhsOfItsSpeed) {
  // Angular momentum about the floor is kept by friction: v = 5/7 v0, whatever μ; exact in the discrete step too.
  const double r = 0.1, v0 = 1.0;
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.3});
  add_ball(scene, "ball", 1.0, r, at(0.0, 0.0, r), 0.3);
  Simulator sim(share(std::move(scene)), {.solving = {.tolerance = 1e-12}});
  Moving ball = at_rest(sim);
  ball.v[0] = v0;
  for (int k = 0; k < 500; ++k) ball.step(sim);
  const Eigen::Quaterniond turn(ball.q.segment<4>(3).data());
  const Vector3d v = turn * Vector3d(ball.v.head<3>()), w = turn * Vector3d(ball.v.tail<3>());
  EXPECT_NEAR(v.x(), 5.0 / 7.0 * v0, 1e-9);
  EXPECT_NEAR(w.y(), v.x() / r, 1e-8);
  EXPECT_NEAR(ball.q[2], r, 1e-9);  // a rolling ball neither sinks nor climbs
}

TEST(Step, AFastBallIsSeenBeforeItArrives) {
  // 100 m/s is 0.1 m a step, twice the wall's thickness: without speculation it would pass.
  Scene scene;
  add_shape(scene, 0, "wall", box(0.05, 1.0, 1.0), at(1.0, 0.0, 0.0));
  add_ball(scene, "ball", 0.1, 0.02, SE3::Identity());
  scene.model.gravity.setZero();
  Simulator sim(share(std::move(scene)));
  Moving ball = at_rest(sim);
  ball.v[0] = 100.0;
  for (int k = 0; k < 20; ++k) ball.step(sim);
  EXPECT_NEAR(ball.q[0], 1.0 - 0.025 - 0.02, 1e-7);  // it lies against the wall; GJK finds a gap to 1e-9
  EXPECT_NEAR(ball.v[0], 0.0, 1e-5);
}

}  // namespace
}  // namespace taut::testing
