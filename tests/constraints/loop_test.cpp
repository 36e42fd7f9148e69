// Rows of loops and couplings against differences: J is the rate of φ, the bias what φ does along the old velocity.
#include "taut/constraints/loop.hpp"

#include <gtest/gtest.h>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include "scenes.hpp"
#include "taut/constraints/coupling.hpp"
#include "taut/dynamics/free_joints.hpp"
#include "taut/simulation/assembly.hpp"

namespace taut::testing {
namespace {

using Kind = Loop::Kind;
constexpr Kind kKinds[] = {Kind::point,       Kind::hinge,     Kind::weld,    Kind::slider,
                           Kind::cylindrical, Kind::universal, Kind::distance};

// A tree of every joint that matters, in some configuration and motion, with a few loops of one kind between any two
// bodies or a body and the world.
struct Case {
  Case(Kind kind, int seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    scene.model = random_tree(rng);
    scene.fit_arrays();
    const auto& model = scene.model;
    std::uniform_int_distribution<int> joint(0, model.njoints - 1);
    while (scene.loops.size() < 3) {
      Loop loop{.name = "loop" + std::to_string(scene.loops.size()), .kind = kind};
      loop.joint_1 = joint(rng);
      loop.joint_2 = joint(rng);
      if (loop.joint_1 == loop.joint_2) continue;
      loop.placement_1 = SE3(random_rotation(rng), random_vector(rng, 0.2));
      loop.placement_2 = SE3(random_rotation(rng), random_vector(rng, 0.2));
      if (kind == Kind::distance) loop.length = 0.3;
      add_loop(scene, loop);
    }
    q = pinocchio::randomConfiguration(model, VectorXd(VectorXd::Constant(model.nq, -1.0)),
                                       VectorXd(VectorXd::Ones(model.nq)));
    v = VectorXd::NullaryExpr(model.nv, [&] { return std::normal_distribution<double>()(rng); });
  }

  // φ of all loops after moving for a time t along v, bases in a straight line as in a step.
  VectorXd error_after(double t) const {
    VectorXd moved(scene.model.nq), turned = v;
    const VectorXd way = t * v;
    pinocchio::integrate(scene.model, ConstVectorRef(q), ConstVectorRef(way), VectorRef(moved));
    FreeJoints(scene.model).advance(q, t, moved, turned);
    return closure_error(scene, moved);
  }

  VectorXd rate() const {
    Dynamics dynamics(scene.model);
    dynamics.update(scene.model, q, v);
    Rows rows;
    for (const Loop& loop : scene.loops) add_loop(loop, dynamics, {1e-3, 1e-3}, rows);
    VectorXd rate(rows.rows());
    dynamics.apply(rows, v, rate);
    return rate;
  }

  Scene scene;
  VectorXd q, v;
};

TEST(LoopRows, AreTheRateOfTheErrorWhereverTheBodiesAre) {
  const double h = 1e-6;
  for (const Kind kind : kKinds) {
    for (int seed = 0; seed < 60; ++seed) {
      const Case one(kind, seed);
      const VectorXd difference = (one.error_after(h) - one.error_after(-h)) / (2.0 * h);
      const VectorXd rate = one.rate();
      // Rounding over h is 1e-10. Near half a turn a rotation vector bends ever more, and flips beyond.
      for (Eigen::Index i = 0; i < rate.size(); ++i) {
        const auto& loop = one.scene.loops[static_cast<std::size_t>(i / rows_of(kind).size())];
        const auto gaps = loop_gaps(one.scene, one.q);
        if (rows_of(kind).angular == 3 && gaps[static_cast<std::size_t>(i / rows_of(kind).size())].angular > 3.0) {
          continue;
        }
        EXPECT_NEAR(rate[i], difference[i], 1e-7 * (1.0 + std::abs(rate[i]))) << to_string(kind) << " " << loop.name;
      }
    }
  }
}

TEST(LoopRows, HaveTheSizesOfTheirJoints) {
  const int expected[] = {3, 5, 6, 5, 4, 4, 1};
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    const Case one(kKinds[k], 1);
    EXPECT_EQ(rows_of(kKinds[k]).size(), expected[k]);
    EXPECT_EQ(one.rate().size(), 3 * expected[k]);
  }
}

TEST(LoopBias, IsTheErrorThatTheOldVelocityWouldLeaveOverTheStep) {
  // With all of the error corrected, J v + bias = φ(q ⊕ dt v)/dt: a body that need not change its velocity ends
  // closed, however φ bends. A share leaves the rest of the old error.
  for (const Kind kind : kKinds) {
    for (const double dt : {1e-2, 1e-3}) {
      for (const double share : {1.0, 0.3}) {
        const Case one(kind, 5);
        const VectorXd error = one.error_after(0.0), ahead = one.error_after(dt), rate = one.rate();
        const Stabilization stabilization{.loop_correction = share, .correction_speed = 1e9};
        const int size = rows_of(kind).size();
        for (int loop = 0; loop < 3; ++loop) {
          const int row = loop * size;
          VectorXd bias(size);
          loop_bend(error.segment(row, size), ahead.segment(row, size), rate.segment(row, size), {dt, dt}, bias);
          bias += loop_correction(error.segment(row, size), {dt, dt}, stabilization);
          const VectorXd left = ahead.segment(row, size) - (1.0 - share) * error.segment(row, size);
          EXPECT_LT((rate.segment(row, size) + bias - left / dt).norm(), 1e-12 * (1.0 + left.norm() / dt));
        }
      }
    }
  }
}

TEST(LoopBias, NeverCorrectsFasterThanAllowed) {
  LoopVector error(3);
  error << 0.3, -0.4, 0.0;
  const LoopVector bias = loop_correction(error, {1e-3, 1e-3}, {.correction_speed = 2.0});
  EXPECT_NEAR(bias.norm(), 2.0, 1e-12);
  EXPECT_NEAR(bias[0] / bias[1], -0.75, 1e-12);
}

TEST(LoopGap, SeesAHingeThatIsTurnedOver) {
  const Loop hinge{.name = "hinge", .kind = Kind::hinge, .joint_1 = 1};
  const SE3 over(Eigen::AngleAxisd(M_PI, Vector3d::UnitX()).toRotationMatrix(), Vector3d::Zero());
  EXPECT_LT(loop_error(hinge, SE3::Identity(), over).norm(), 1e-15);
  EXPECT_NEAR(loop_gap(hinge, SE3::Identity(), over).angular, M_PI, 1e-15);
}

TEST(LoopDrive, IsTheRateOfItsCoordinateOnAClosedLoop) {
  const double h = 1e-6;
  std::mt19937 rng(3);
  for (const Kind kind : {Kind::hinge, Kind::slider, Kind::cylindrical, Kind::universal}) {
    for (int trial = 0; trial < 30; ++trial) {
      // Frames that the joint allows, moved and turned by a coordinate each.
      const SE3 oM1(random_rotation(rng), random_vector(rng, 1.0));
      const double slide = kind == Kind::slider || kind == Kind::cylindrical ? random_vector(rng, 0.5)[0] : 0.0;
      const double turn = kind == Kind::slider ? 0.0 : random_vector(rng, 3.0)[0];
      const Vector3d first = kind == Kind::universal ? Vector3d(Vector3d::UnitX()) : Vector3d(Vector3d::UnitZ());
      Matrix3d R = Eigen::AngleAxisd(turn, first).toRotationMatrix();
      if (kind == Kind::universal) {
        R = R * Eigen::AngleAxisd(random_vector(rng, 3.0)[0], Vector3d::UnitY()).toRotationMatrix();
      }
      const Loop loop{.name = "loop", .kind = kind, .joint_1 = 1, .joint_2 = 2};
      const SE3 oM2 = oM1 * SE3(R, Vector3d(0.0, 0.0, slide));
      ASSERT_LT(loop_error(loop, oM1, oM2).norm(), 1e-12);
      // Spatial velocities in the world: any at all, the coordinate does not feel what opens the joint.
      const Motion V1(random_vector(rng, 1.0), random_vector(rng, 1.0));
      const Motion V2(random_vector(rng, 1.0), random_vector(rng, 1.0));
      const auto moved = [](const SE3& M, const Motion& V, double t) {
        return SE3(pinocchio::exp6(Motion(t * V.toVector())) * M);
      };
      for (int drive = 0; drive < drives_of(kind); ++drive) {
        const double rate = loop_drive(loop, drive, oM1, oM2).dot((V2 - V1).toVector());
        const double ahead = loop_coordinate(loop, drive, moved(oM1, V1, h), moved(oM2, V2, h));
        const double behind = loop_coordinate(loop, drive, moved(oM1, V1, -h), moved(oM2, V2, -h));
        EXPECT_NEAR(rate, std::remainder(ahead - behind, 2.0 * M_PI) / (2.0 * h), 1e-8)
            << to_string(kind) << " " << drive;
      }
    }
  }
}

TEST(Coupling, RowAndSlopeAreTheRateOfItsError) {
  Scene scene = pendulum(1.0, 0.3);
  scene.model.addJoint(0, pinocchio::JointModelPX(), SE3::Identity(), "slide");
  scene.model.appendBodyToJoint(2, Inertia::FromSphere(1.0, 0.1), SE3::Identity());
  scene.fit_arrays();
  const Coupling coupling{.name = "cam",
                          .joint_1 = 1,
                          .joint_2 = 2,
                          .polynomial = {0.1, -0.7, 0.4, 0.2, -0.3},
                          .reference_1 = 0.2,
                          .reference_2 = -0.1};
  add_coupling(scene, coupling);
  const double h = 1e-6;
  std::mt19937 rng(4);
  for (int trial = 0; trial < 20; ++trial) {
    const VectorXd q = random_vector(rng, 1.0).head<2>(), v = random_vector(rng, 1.0).head<2>();
    Dynamics dynamics(scene.model);
    dynamics.update(scene.model, q, v);
    Rows rows;
    add_coupling(coupling, scene.model, dynamics, q, {1e-3, 1e-3}, rows);
    VectorXd rate(1);
    dynamics.apply(rows, v, rate);
    const VectorXd ahead = q + h * v, behind = q - h * v;
    const double difference =
        coupling_error(coupling, scene.model, ahead) - coupling_error(coupling, scene.model, behind);
    EXPECT_NEAR(rate[0], difference / (2.0 * h), 1e-8);
  }
}

TEST(ClosureJacobian, IsTheDerivativeOfTheClosureError) {
  const double h = 1e-6;
  for (const Kind kind : kKinds) {
    const Case one(kind, 11);
    const auto& model = one.scene.model;
    const MatrixXd J = closure_jacobian(one.scene, one.q);
    for (int dof = 0; dof < model.nv; ++dof) {
      const auto moved = [&](double t) {
        const VectorXd way = t * VectorXd::Unit(model.nv, dof);
        VectorXd q(model.nq);
        pinocchio::integrate(model, ConstVectorRef(one.q), ConstVectorRef(way), VectorRef(q));
        return closure_error(one.scene, q);
      };
      const VectorXd difference = (moved(h) - moved(-h)) / (2.0 * h);
      EXPECT_LT((J.col(dof) - difference).lpNorm<Eigen::Infinity>(), 1e-7) << to_string(kind) << " " << dof;
    }
  }
}

}  // namespace
}  // namespace taut::testing
