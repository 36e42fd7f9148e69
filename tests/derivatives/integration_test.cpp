// Ends of steps and inverse dynamics, each piece of the derivative of a step against differences of its own.
#include <gtest/gtest.h>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "scenes.hpp"
#include "taut/derivatives/integration.hpp"
#include "taut/dynamics/free_joints.hpp"
#include "taut/dynamics/inverse_dynamics_adjoint.hpp"
#include "taut/dynamics/inverse_dynamics_derivatives.hpp"

namespace taut::testing {
namespace {

VectorXd random_numbers(std::mt19937& rng, int count, double size = 1.0) {
  std::uniform_real_distribution<double> uniform(-size, size);
  return VectorXd::NullaryExpr(count, [&] { return uniform(rng); });
}

// A floating base with a ball joint and a hinge, and a planar body with a slider.
pinocchio::Model joints_that_turn(std::mt19937& rng) {
  pinocchio::Model model;
  const auto add = [&](pinocchio::JointIndex parent, const auto& joint, const char* name) {
    const auto index = model.addJoint(parent, joint, SE3(random_rotation(rng), random_vector(rng, 0.3)), name);
    model.appendBodyToJoint(index, Inertia::Random(), SE3::Identity());
    return index;
  };
  const auto base = add(0, pinocchio::JointModelFreeFlyer(), "base");
  const auto ball = add(base, pinocchio::JointModelSpherical(), "ball");
  add(ball, pinocchio::JointModelRY(), "hinge");
  const auto planar = add(0, pinocchio::JointModelPlanar(), "planar");
  add(planar, pinocchio::JointModelPX(), "slider");
  model.lowerPositionLimit.setConstant(-1.0);
  model.upperPositionLimit.setConstant(1.0);
  return model;
}

TEST(IntegrationDerivatives, AgreeWithDifferencesAndTheirTranspose) {
  std::mt19937 rng(51);
  const pinocchio::Model model = joints_that_turn(rng);
  const FreeJoints free_joints(model);
  const double dt = 0.1, h = 1e-6;  // a long step: what turns must be seen
  const auto end = [&](const VectorXd& q, const VectorXd& v) {
    VectorXd q_next(model.nq), v_next = v;
    const VectorXd way = dt * v;
    pinocchio::integrate(model, q, way, q_next);
    free_joints.advance(q, dt, q_next, v_next);
    return std::pair(q_next, v_next);
  };
  IntegrationDerivatives derivatives(model);
  for (int trial = 0; trial < 20; ++trial) {
    const VectorXd q = pinocchio::randomConfiguration(model), v = random_numbers(rng, model.nv, 3.0);
    derivatives.update(v, dt);
    for (const bool moves_q : {true, false}) {
      MatrixXd dq = MatrixXd::Zero(model.nv, model.nv), dv = dq;
      (moves_q ? dq : dv).setIdentity();
      derivatives.apply(dq, dv);
      for (int k = 0; k < model.nv; ++k) {
        const VectorXd way = h * VectorXd::Unit(model.nv, k);
        const auto at = [&](double side) {
          const VectorXd step = side * way;
          return moves_q ? end(pinocchio::integrate(model, q, step), v) : end(q, VectorXd(v + step));
        };
        const auto [q_ahead, v_ahead] = at(1.0);
        const auto [q_behind, v_behind] = at(-1.0);
        EXPECT_LT((dq.col(k) - pinocchio::difference(model, q_behind, q_ahead) / (2.0 * h)).norm(), 1e-7) << k;
        EXPECT_LT((dv.col(k) - (v_ahead - v_behind) / (2.0 * h)).norm(), 1e-7) << k;
      }
    }
    const VectorXd a = random_numbers(rng, model.nv), b = random_numbers(rng, model.nv);
    const VectorXd c = random_numbers(rng, model.nv), d = random_numbers(rng, model.nv);
    MatrixXd dq = a, dv = b;
    derivatives.apply(dq, dv);
    VectorXd q_bar = c, v_bar = d;
    derivatives.apply_transpose(q_bar, v_bar);
    EXPECT_NEAR(c.dot(dq.col(0)) + d.dot(dv.col(0)), q_bar.dot(a) + v_bar.dot(b), 1e-12);
  }
}

TEST(InverseDynamicsDerivatives, OfTreesAndFreeBodiesAgreeWithDifferences) {
  std::mt19937 rng(52);
  pinocchio::Model model = joints_that_turn(rng);
  const auto flying =
      model.addJoint(0, pinocchio::JointModelFreeFlyer(), SE3(random_rotation(rng), Vector3d(1, 2, 3)), "body");
  model.appendBodyToJoint(flying, Inertia::Random(), SE3::Identity());
  model.lowerPositionLimit.setConstant(-1.0);
  model.upperPositionLimit.setConstant(1.0);
  InverseDynamicsDerivatives derivatives(model);
  pinocchio::Data data(model);
  const double h = 1e-6;
  for (int trial = 0; trial < 10; ++trial) {
    const VectorXd q = pinocchio::randomConfiguration(model), v = random_numbers(rng, model.nv),
                   a = random_numbers(rng, model.nv);
    std::vector<pinocchio::Force> forces;
    for (int j = 0; j < model.njoints; ++j) forces.emplace_back(random_vector(rng, 1.0), random_vector(rng, 1.0));
    derivatives.update(model, q, v, v, a, forces, {});
    MatrixXd of_q = MatrixXd::Zero(model.nv, model.nv);
    derivatives.subtract_dq(of_q);
    of_q = -of_q;
    for (int k = 0; k < model.nv; ++k) {
      const VectorXd way = h * VectorXd::Unit(model.nv, k);
      const auto torque = [&](const VectorXd& q_at, const VectorXd& v_at) {
        return VectorXd(pinocchio::rnea(model, data, q_at, v_at, a, forces));
      };
      const VectorXd behind = -way;
      const VectorXd dq =
          (torque(pinocchio::integrate(model, q, way), v) - torque(pinocchio::integrate(model, q, behind), v)) /
          (2.0 * h);
      const VectorXd dv = (torque(q, VectorXd(v + way)) - torque(q, VectorXd(v - way))) / (2.0 * h);
      EXPECT_LT((of_q.col(k) - dq).norm(), 1e-6 * (1.0 + dq.norm())) << k;
      EXPECT_LT((derivatives.dv().col(k) - dv).norm(), 1e-6 * (1.0 + dv.norm())) << k;
    }
  }
}

// The sweeps against the matrices, on joints that turn, with forces on all of them, beside a body that flies alone.
TEST(InverseDynamicsAdjoint, IsTheTransposeOfTheDerivatives) {
  std::mt19937 rng(53);
  pinocchio::Model model = joints_that_turn(rng);
  const auto alone = model.addJoint(0, pinocchio::JointModelFreeFlyer(), SE3::Identity(), "alone");
  model.appendBodyToJoint(alone, Inertia::Random(), SE3(random_rotation(rng), random_vector(rng, 0.2)));
  model.lowerPositionLimit.setConstant(-1.0);
  model.upperPositionLimit.setConstant(1.0);
  const Instant when{.dt = 1e-3, .ahead = 0.5e-3};
  Dynamics dynamics(model);
  InverseDynamicsDerivatives derivatives(model);
  InverseDynamicsAdjoint adjoint(model);
  for (int trial = 0; trial < 20; ++trial) {
    const VectorXd q = pinocchio::randomConfiguration(model), v = random_numbers(rng, model.nv, 3.0),
                   a = random_numbers(rng, model.nv, 5.0), w = random_numbers(rng, model.nv);
    std::vector<pinocchio::Force> forces(static_cast<std::size_t>(model.njoints), pinocchio::Force::Zero());
    for (int joint = 1; joint < model.njoints; ++joint) forces[joint] = pinocchio::Force::Random();
    dynamics.update(model, q, v, when);
    derivatives.update(model, q, v, v, a, forces, when);
    MatrixXd dq = MatrixXd::Zero(model.nv, model.nv);
    derivatives.subtract_dq(dq);
    VectorXd q_bar = VectorXd::Zero(model.nv), v_bar = VectorXd::Zero(model.nv);
    adjoint.subtract(model, dynamics, v, v, a, forces, w, when, q_bar, v_bar);
    EXPECT_LT((q_bar - dq.transpose() * w).norm(), 1e-11 * (1.0 + q_bar.norm()));
    EXPECT_LT((v_bar + derivatives.dv().transpose() * w).norm(), 1e-11 * (1.0 + v_bar.norm()));
    // Σ I W is what gravity pulls at: M w of the base's translations, for trees whose root can fly.
    VectorXd heavy = VectorXd::Zero(model.nv);
    pinocchio::Model lighter = model;
    lighter.gravity.linear() += Eigen::Vector3d(0.3, -0.2, 0.7);
    pinocchio::Data one(model), two(lighter);
    heavy = pinocchio::rnea(model, one, q, v, a) - pinocchio::rnea(lighter, two, q, v, a);
    EXPECT_NEAR(heavy.dot(w), adjoint.momentum().head<3>().dot(Eigen::Vector3d(0.3, -0.2, 0.7)),
                1e-11 * (1.0 + heavy.norm()));
  }
}

}  // namespace
}  // namespace taut::testing
