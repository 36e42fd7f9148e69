// What physics keeps: momentum and the balance of energy.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

struct Momentum {
  Vector3d linear = Vector3d::Zero(), angular = Vector3d::Zero();  ///< about the world's origin
};

// Of free bodies.
Momentum momentum(const pinocchio::Model& model, const VectorXd& q, const VectorXd& v) {
  Momentum sum;
  for (int joint = 1; joint < model.njoints; ++joint) {
    const Inertia& body = model.inertias[static_cast<std::size_t>(joint)];
    const Eigen::Quaterniond turn(q.segment<4>(7 * (joint - 1) + 3).data());
    const Vector3d x = q.segment<3>(7 * (joint - 1)) + turn * body.lever();
    const Vector3d linear = v.segment<3>(6 * (joint - 1)), angular = v.segment<3>(6 * (joint - 1) + 3);
    const Vector3d p = body.mass() * (turn * Vector3d(linear + angular.cross(body.lever())));
    sum.linear += p;
    sum.angular += x.cross(p) + turn * Vector3d(body.inertia() * angular);
  }
  return sum;
}

double energy(const Scene& scene, const VectorXd& q, const VectorXd& v) {
  double sum = 0.0;
  for (int joint = 1; joint < scene.model.njoints; ++joint) {
    const Inertia& body = scene.model.inertias[static_cast<std::size_t>(joint)];
    const Vector3d linear = v.segment<3>(6 * (joint - 1)), angular = v.segment<3>(6 * (joint - 1) + 3);
    sum += 0.5 * body.mass() * linear.squaredNorm() + 0.5 * angular.dot(body.inertia() * angular);
    sum -= body.mass() * scene.model.gravity.linear().dot(q.segment<3>(7 * (joint - 1)));
  }
  return sum;
}

const Inertia kBrick(1.5, Vector3d::Zero(), pinocchio::Symmetric3(0.01, 0.0, 0.02, 0.0, 0.0, 0.025));

TEST(Balance, ASpinningBodyFliesStraightAtExactMomentum) {
  Simulator sim(std::make_shared<const Scene>(lonely_body(kBrick, 0.0)));
  VectorXd q = sim.scene().q0, v(6);
  v << 1.0, -2.0, 0.5, 3.0, 10.0, -4.0;
  const Momentum before = momentum(sim.scene().model, q, v);
  for (int k = 1; k <= 1000; ++k) {
    const Record& record = sim.step(q, v);
    q = record.q_next, v = record.v_next;
    ASSERT_LT((q.head<3>() - 1e-3 * k * Vector3d(1.0, -2.0, 0.5)).norm(), 1e-12) << k;
  }
  EXPECT_LT((momentum(sim.scene().model, q, v).linear - before.linear).norm(), 1e-12);  // rounding of 1000 steps
  EXPECT_NEAR(q.segment<4>(3).norm(), 1.0, 1e-12);
}

TEST(Balance, SpinAboutAPrincipalAxisIsExact) {
  for (int axis = 0; axis < 3; ++axis) {
    Simulator sim(std::make_shared<const Scene>(lonely_body(kBrick, kGravity)));
    VectorXd q = sim.scene().q0, v = VectorXd::Zero(6);
    q.segment<4>(3) = Eigen::Quaterniond(Eigen::AngleAxisd(0.7, Vector3d(1, 2, 3).normalized())).coeffs();
    v[3 + axis] = 20.0;
    const Vector3d before = momentum(sim.scene().model, q, v).angular;
    for (int k = 0; k < 1000; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
    // About the centre of mass, which falls along z below its start.
    const Vector3d x = q.head<3>();
    const Momentum now = momentum(sim.scene().model, q, v);
    EXPECT_LT((now.angular - x.cross(now.linear) - before).norm(), 1e-12) << "axis " << axis;
  }
}

TEST(Balance, AngularMomentumErrsInFirstOrderAboutAnyOtherAxis) {
  const auto error = [](double dt) {
    Simulator sim(std::make_shared<const Scene>(lonely_body(kBrick, 0.0)), {.dt = dt});
    VectorXd q = sim.scene().q0, v = VectorXd::Zero(6);
    v.tail<3>() << 3.0, 4.0, -2.0;
    const Vector3d before = momentum(sim.scene().model, q, v).angular;
    for (int k = 0; k < std::lround(0.5 / dt); ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
    return (momentum(sim.scene().model, q, v).angular - before).norm() / before.norm();
  };
  const double coarse = error(1e-3), fine = error(5e-4);
  EXPECT_LT(coarse, 1e-2);
  EXPECT_NEAR(coarse / fine, 2.0, 0.1);  // halves with dt; the next order is ω dt, near 0.5 %
}

TEST(Balance, AFreeBodyOffItsCentreOfMassKeepsItsMomentum) {
  // A base whose frame is not at its centre of mass, as that of a robot: p = m R (v + ω × c).
  const Vector3d c(0.1, -0.05, 0.2);
  for (const Integrator integrator : {Integrator::euler, Integrator::moreau}) {
    Simulator sim(std::make_shared<const Scene>(lonely_body(Inertia(kBrick.mass(), c, kBrick.inertia()), 0.0)),
                  {.integrator = integrator});
    VectorXd q = sim.scene().q0, v(6);
    v << 0.3, -0.2, 0.5, 3.0, 4.0, -2.0;
    const Vector3d before = momentum(sim.scene().model, q, v).linear;
    for (int k = 0; k < 1000; ++k) {
      const Record& record = sim.step(q, v);
      q = record.q_next, v = record.v_next;
    }
    EXPECT_LT((momentum(sim.scene().model, q, v).linear - before).norm(), 1e-11);
  }
}

TEST(Balance, ACollisionOfTwoBodiesKeepsBothMomenta) {
  // Balls meet off centre, with friction and spin. The impulse acts on both at one point and positions move along p⁺,
  // so that r⁺ × p⁺ = r × p⁺: angular momentum is exact as well.
  for (const char* solver : {"pgs", "admm", "newton", "auto"}) {
    Scene scene;
    add_ball(scene, "a", 1.0, 0.1, at(0.0, 0.0, 0.0));
    add_ball(scene, "b", 7.0, 0.15, at(0.5, 0.1, 0.05));
    scene.model.gravity.setZero();
    Simulator sim(std::make_shared<const Scene>(scene), {.solver = solver});
    VectorXd q = scene.q0, v(12);
    v << 2.0, 0.1, 0.0, 1.0, 2.0, 20.0, -1.0, 0.0, 0.2, 0.0, -5.0, 1.0;
    const Momentum before = momentum(scene.model, q, v);
    int touched = 0;
    for (int k = 0; k < 300; ++k) {
      const Record& record = sim.step(q, v);
      if (!record.contacts.empty() && record.contact_impulses().row(2).maxCoeff() > 0.0) ++touched;
      q = record.q_next, v = record.v_next;
    }
    const Momentum after = momentum(scene.model, q, v);
    EXPECT_GT(touched, 0) << solver;
    EXPECT_LT((after.linear - before.linear).norm(), 1e-12) << solver;
    EXPECT_LT((after.angular - before.angular).norm(), 1e-12) << solver;
  }
}

TEST(Balance, BoxesThatCollideInTheAirKeepLinearMomentum) {
  Scene scene;
  add_box(scene, "a", 1.0, {0.2, 0.1, 0.3}, SE3::Identity());
  add_box(scene, "b", 3.0, {0.1, 0.2, 0.2}, at({0.4, 0.05, 0.02}, {1, 2, 3}, 0.5));
  scene.model.gravity.setZero();
  Simulator sim(std::make_shared<const Scene>(scene));
  VectorXd q = scene.q0, v = VectorXd::Zero(12);
  v[0] = 1.0, v[4] = 3.0, v[6] = -0.5;
  const Vector3d before = momentum(scene.model, q, v).linear;
  double pushed = 0.0;
  for (int k = 0; k < 500; ++k) {
    const Record& record = sim.step(q, v);
    if (!record.contacts.empty()) pushed += record.contact_impulses().row(2).sum();
    q = record.q_next, v = record.v_next;
  }
  EXPECT_GT(pushed, 0.1);
  EXPECT_LT((momentum(scene.model, q, v).linear - before).norm(), 1e-12);
}

TEST(Balance, EnergyChangesByTheWorkOfContactsAndTheLossOfTheStep) {
  // With v⁺ = v + Δv and q⁺ = q + dt v⁺ the energy of cubes and balls (no gyroscopic torque) obeys, exactly,
  //   E⁺ − E = λᵀ J v⁺ − ½ Δvᵀ M Δv,   J v⁺ = c − bias.
  // The second term never gains; the first gains only where a penetration is pushed out.
  std::mt19937 rng(5);
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.5});
  for (int i = 0; i < 6; ++i) {
    const SE3 place(random_rotation(rng), Vector3d(0.0, 0.0, 0.2 + 0.2 * i) + random_vector(rng, 0.03));
    if (i % 3 == 2) {
      add_ball(scene, "ball" + std::to_string(i), 0.5, 0.06, place, 0.5);
    } else {
      add_box(scene, "cube" + std::to_string(i), 1.0 + i, Vector3d::Constant(0.1), place, 0.5);
    }
  }
  Simulator sim(std::make_shared<const Scene>(scene), {.solving = {.tolerance = 1e-9}});
  VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv), mass(scene.model.nv);
  for (int joint = 1; joint < scene.model.njoints; ++joint) {
    const Inertia& body = scene.model.inertias[static_cast<std::size_t>(joint)];
    mass.segment<3>(6 * (joint - 1)).setConstant(body.mass());
    mass.segment<3>(6 * (joint - 1) + 3) = body.inertia().matrix().diagonal();
  }
  double highest = energy(scene, q, v);
  for (int k = 0; k < 1500; ++k) {
    const Record& record = sim.step(q, v);
    ASSERT_NE(record.report.status, Status::not_finite);
    const int n = record.rows.rows();
    const VectorXd point_velocity = record.velocity.head(n) - record.rows.bias();
    const double work = n > 0 ? record.impulse.head(n).dot(point_velocity) : 0.0;
    const VectorXd change = record.v_plus - record.v;
    const double before = energy(scene, q, v), after = energy(scene, record.q_next, record.v_next);
    // Energies near 30 J carry rounding near 1e-14; impulses near 1 N s times a velocity off by 1e-9 allow the rest.
    ASSERT_NEAR(after - before, work - 0.5 * change.dot(mass.cwiseProduct(change)), 1e-10) << "step " << k;
    double pushed_out = 0.0;
    for (std::size_t i = 0; i < record.contacts.size(); ++i) {
      const auto row = 3 * static_cast<Eigen::Index>(i) + 2;
      pushed_out += record.impulse[row] * std::max(0.0, -record.rows.bias()[row]);
    }
    ASSERT_LE(after - before, pushed_out + 1e-8) << "step " << k;
    highest = std::max(highest, after);
    q = record.q_next, v = record.v_next;
  }
  EXPECT_LT(highest, energy(scene, scene.q0, VectorXd::Zero(scene.model.nv)) + 1e-9);
}

}  // namespace
}  // namespace taut::testing
