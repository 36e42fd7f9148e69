// Derivatives of whole steps against differences, one small scene for each law that a row may have: what the step
// decides of it (a spring or not, as fast as allowed or not, which side of a gap) its derivative must decide alike.
#include "taut/derivatives/step_derivatives.hpp"

#include <gtest/gtest.h>
#include <pinocchio/algorithm/joint-configuration.hpp>

#include <coal/shape/geometric_shapes.h>

#include "scenes.hpp"

namespace taut::testing {
namespace {

SimulatorOptions exact(SimulatorOptions options = {}) {
  options.solving.tolerance = 1e-12;
  return options;
}

class Differences {
 public:
  Differences(Scene scene, const SimulatorOptions& options)
      : sim(std::make_shared<const Scene>(std::move(scene)), exact(options)), start(sim.state()) {}

  // The Jacobian of a step, its products, and its certificate; all against differences from the same memory.
  Certificate compare(const VectorXd& q, const VectorXd& v, double tolerance = 1e-6) {
    const auto& model = sim.scene().model;
    const int nv = model.nv;
    const VectorXd tau = 0.1 * VectorXd::LinSpaced(nv, -1.0, 1.0);
    step(q, v, tau);
    StepDerivatives derivatives(sim);
    const StepJacobian J = derivatives.jacobian(sim);
    EXPECT_TRUE(J.certificate.solved);
    // Moreau's scheme puts back what loops have bent, which is not differentiated; Euler's closes them by velocities.
    if (J.certificate.loops_put_back) {
      EXPECT_EQ(sim.options().integrator, Integrator::moreau);
      return J.certificate;
    }

    std::mt19937 rng(3);
    std::normal_distribution<double> normal;
    const auto random = [&] { return VectorXd(VectorXd::NullaryExpr(nv, [&] { return normal(rng); })); };
    const VectorXd dq = random(), dv = random(), dtau = random(), q_bar = random(), v_bar = random();
    const StepTangent tangent = derivatives.jvp(sim, dq, dv, dtau);
    const VectorXd q_dot = J.dq_dq * dq + J.dq_dv * dv + J.dq_dtau * dtau,
                   v_dot = J.dv_dq * dq + J.dv_dv * dv + J.dv_dtau * dtau;
    EXPECT_LT((tangent.q - q_dot).norm(), 1e-9 * (1.0 + q_dot.norm()));
    EXPECT_LT((tangent.v - v_dot).norm(), 1e-9 * (1.0 + v_dot.norm()));
    const StepAdjoint bars = derivatives.vjp(sim, q_bar, v_bar);
    const double forward = q_bar.dot(q_dot) + v_bar.dot(v_dot);
    EXPECT_NEAR(bars.q.dot(dq) + bars.v.dot(dv) + bars.tau.dot(dtau), forward,
                1e-9 * (1.0 + q_bar.norm() * q_dot.norm() + v_bar.norm() * v_dot.norm()));
    for (const Certificate* other : {&tangent.certificate, &bars.certificate}) {
      EXPECT_EQ(other->modes, J.certificate.modes);
      EXPECT_EQ(other->nearest, J.certificate.nearest);
      EXPECT_EQ(other->solved, J.certificate.solved);
    }

    for (int what = 0; what < 3; ++what) {
      const double h = what == 0 ? 1e-6 : what == 1 ? 1e-5 : 1e-4;
      MatrixXd q_moves(nv, nv), v_moves(nv, nv);
      for (int k = 0; k < nv; ++k) {
        const VectorXd way = h * VectorXd::Unit(nv, k), none = VectorXd::Zero(nv);
        const auto end = [&](double side) {
          const VectorXd moved = side * way;
          const VectorXd q_moved = what == 0 ? pinocchio::integrate(model, q, moved) : q;
          step(q_moved, v + (what == 1 ? moved : none), tau + (what == 2 ? moved : none));
          return std::pair(sim.record().q_next, sim.record().v_next);
        };
        const auto ahead = end(1.0), behind = end(-1.0);
        q_moves.col(k) = pinocchio::difference(model, behind.first, ahead.first) / (2.0 * h);
        v_moves.col(k) = (ahead.second - behind.second) / (2.0 * h);
      }
      const MatrixXd& of_q = what == 0 ? J.dq_dq : what == 1 ? J.dq_dv : J.dq_dtau;
      const MatrixXd& of_v = what == 0 ? J.dv_dq : what == 1 ? J.dv_dv : J.dv_dtau;
      const double dt = sim.options().dt;
      EXPECT_LT((of_q - q_moves).lpNorm<Eigen::Infinity>(), tolerance * (dt + q_moves.lpNorm<Eigen::Infinity>()))
          << "dq by " << "qvt"[what];
      EXPECT_LT((of_v - v_moves).lpNorm<Eigen::Infinity>(), tolerance * (1.0 + v_moves.lpNorm<Eigen::Infinity>()))
          << "dv by " << "qvt"[what];
    }
    return J.certificate;
  }

  Simulator sim;

 private:
  void step(const VectorXd& q, const VectorXd& v, const VectorXd& tau) {
    sim.restore(start);
    sim.step(q, v, tau);
  }

  State start;
};

constexpr Integrator kIntegrators[] = {Integrator::euler, Integrator::moreau};

// Two hinges side by side, one of which may turn without end.
Scene two_hinges(bool endless = false) {
  Scene scene;
  const Inertia inertia(1.0, Vector3d(0.1, 0.0, 0.0), pinocchio::Symmetric3(Matrix3d(0.01 * Matrix3d::Identity())));
  const auto one = endless ? scene.model.addJoint(0, pinocchio::JointModelRUBY(), at(0.0, -0.5, 1.0), "one")
                           : scene.model.addJoint(0, pinocchio::JointModelRY(), at(0.0, -0.5, 1.0), "one");
  const auto two = scene.model.addJoint(0, pinocchio::JointModelRY(), at(0.0, 0.5, 1.0), "two");
  for (const auto joint : {one, two}) scene.model.appendBodyToJoint(joint, inertia, SE3::Identity());
  scene.fit_arrays();
  return scene;
}

TEST(StepDerivatives, OfCouplingsRigidOrNotOpenByALittleOrBeyondWhatAStepMayClose) {
  for (const Integrator integrator : kIntegrators) {
    for (const double compliance : {0.0, 1e-4, 1e-2, 1.0}) {
      for (const double open : {0.0, 5e-4, -2e-3, 1e-2, 0.3}) {
        SCOPED_TRACE(std::to_string(compliance) + " " + std::to_string(open) +
                     (integrator == Integrator::moreau ? " moreau" : ""));
        Scene scene = two_hinges();
        add_coupling(scene, {.name = "cam",
                             .joint_1 = 1,
                             .joint_2 = 2,
                             .polynomial = {0.0, 0.7, 0.3, 0.1, 0.0},
                             .compliance = compliance});
        const double x = 0.2;
        VectorXd q(2), v(2);
        q << 0.7 * x + 0.3 * x * x + 0.1 * x * x * x + open, x;
        v << 0.3, -0.5;
        Differences differences(std::move(scene), {.integrator = integrator});
        differences.compare(q, v);
      }
    }
  }
}

TEST(StepDerivatives, OfCouplingsThatTurnWithoutEnd) {
  for (const Integrator integrator : kIntegrators) {
    for (const double compliance : {0.0, 1e-2}) {
      Scene scene = two_hinges(true);
      add_coupling(scene, {.name = "gear",
                           .joint_1 = 1,
                           .joint_2 = 2,
                           .polynomial = {0.0, 2.0, 0.0, 0.0, 0.0},
                           .compliance = compliance});
      VectorXd q(3), v(2);
      q << std::cos(0.4), std::sin(0.4), 0.3;
      v << 0.4, 0.8;
      Differences(std::move(scene), {.integrator = integrator}).compare(q, v);
    }
  }
}

// Two free bodies and a loop between them, closed but for `open`.
TEST(StepDerivatives, OfEveryLoopWithEitherCompliance) {
  std::mt19937 rng(5);
  for (const Loop::Kind kind : {Loop::Kind::point, Loop::Kind::hinge, Loop::Kind::weld, Loop::Kind::slider,
                                Loop::Kind::cylindrical, Loop::Kind::universal, Loop::Kind::distance}) {
    const LoopRows rows = rows_of(kind);
    for (const Integrator integrator : kIntegrators) {
      for (const auto& [linear, angular] :
           {std::pair(0.0, 0.0), std::pair(1e-4, 0.0), std::pair(0.0, 1e-2), std::pair(1e-4, 1e-2)}) {
        if ((linear > 0.0 && rows.linear == 0) || (angular > 0.0 && rows.angular == 0)) continue;
        for (const double open : {2e-5, 4e-4}) {  // closed at once, or as fast as allowed
          SCOPED_TRACE(std::string(to_string(kind)) + " " + std::to_string(linear) + " " + std::to_string(angular) +
                       " " + std::to_string(open) + (integrator == Integrator::moreau ? " moreau" : ""));
          Scene scene;
          const auto inertia = [](double mass, double x, double y, double z) {
            return Inertia(mass, Vector3d::Zero(), pinocchio::Symmetric3(Matrix3d(Vector3d(x, y, z).asDiagonal())));
          };
          add_free_body(scene, "a", inertia(1.0, 0.01, 0.02, 0.025), at(0.0, 0.0, 1.0));
          add_free_body(scene, "b", inertia(1.3, 0.03, 0.015, 0.02), at(0.3, 0.0, 1.0));
          Loop loop{.name = "loop", .kind = kind, .joint_1 = 1, .joint_2 = 2};
          loop.placement_1 = at(Vector3d(0.15, 0.02, 0.01), Vector3d(1.0, 0.3, 0.2), 0.7);
          loop.placement_2 = at(Vector3d(-0.15, 0.02, 0.01), Vector3d(1.0, 0.3, 0.2), 0.7);
          if (kind == Loop::Kind::universal || kind == Loop::Kind::distance) loop.length = 0.1;
          if (kind == Loop::Kind::distance) loop.placement_2.translation().x() += 0.1;
          loop.compliance = linear;
          loop.angular_compliance = angular;
          add_loop(scene, loop);
          const VectorXd way = open * VectorXd::LinSpaced(12, -1.0, 0.8);
          const VectorXd q = pinocchio::integrate(scene.model, scene.q0, way);
          VectorXd v(12);
          for (int k = 0; k < 4; ++k) v.segment<3>(3 * k) = random_vector(rng, 0.1);
          // Welds and sliders know how their angular rows turn to second order in what they are open.
          Differences(std::move(scene), {.integrator = integrator, .stabilization = {.correction_speed = 0.1}})
              .compare(q, v, 1e-5);
        }
      }
    }
  }
}

// A slide along z against a stop, from inside to far beyond it.
TEST(StepDerivatives, OfStops) {
  for (const Integrator integrator : kIntegrators) {
    for (const double compliance : {0.0, 1e-4}) {
      for (const double e : {0.0, 0.6}) {
        for (const double gap : {2e-4, -3e-4, -8e-3, -0.02}) {
          SCOPED_TRACE(std::to_string(compliance) + " " + std::to_string(e) + " " + std::to_string(gap));
          Scene scene = slider(1.5);
          scene.model.lowerPositionLimit[0] = -0.1;
          scene.model.upperPositionLimit[0] = 1.0;
          scene.limits.compliance[0] = compliance;
          scene.limits.restitution[0] = e;
          Differences differences(std::move(scene), {.integrator = integrator});
          differences.compare(VectorXd::Constant(1, -0.1 + gap), VectorXd::Constant(1, -0.8));
        }
      }
    }
  }
}

// A ball on the floor: gap, penetration, too deep to be corrected at once, let alone, soft, bouncing.
TEST(StepDerivatives, OfContacts) {
  struct Law {
    const char* what;
    ContactCompliance compliance;
    Stabilization stabilization;
    Surface surface;
  };
  const Law laws[] = {{"rigid", {}, {}, {}},
                      {"all at once", {}, {.correction = 1.0}, {}},
                      {"let alone", {}, {.penetration = 1e-3}, {}},
                      {"kept apart", {}, {.penetration = -1e-3}, {}},
                      {"soft", {.normal = 1e-5}, {}, {}},
                      {"soft both ways", {.normal = 1e-5, .tangential = 1e-6}, {}, {}},
                      {"creeping", {.tangential = 1e-5}, {}, {}},
                      {"of a soft surface", {}, {.penetration = 1e-3}, {.compliance = 1e-5}},
                      {"bouncing", {}, {}, {.restitution = 0.7}},
                      {"bouncing softly", {.normal = 1e-5}, {}, {.restitution = 0.7}}};
  for (const Law& law : laws) {
    for (const Integrator integrator : kIntegrators) {
      for (const double gap : {3e-4, -4e-4, -3e-3, -0.02}) {
        for (const double slip : {0.02, 1.5}) {
          SCOPED_TRACE(std::string(law.what) + " " + std::to_string(gap) + " " + std::to_string(slip) +
                       (integrator == Integrator::moreau ? " moreau" : ""));
          Scene scene;
          Surface surface = law.surface;
          surface.friction = 0.4;
          add_floor(scene, 0.0, {.friction = 0.4});
          const auto ball = add_free_body(scene, "ball", Inertia::FromSphere(1.0, 0.1), at(0.0, 0.0, 0.1 + gap));
          add_shape(scene, ball, "ball", std::make_shared<coal::Sphere>(0.1), SE3::Identity(), surface);
          const VectorXd q = scene.q0;
          VectorXd v(6);
          v << slip, 0.3 * slip, -0.9, 0.4, -0.3, 0.2;
          Differences(std::move(scene),
                      {.integrator = integrator, .stabilization = law.stabilization, .compliance = law.compliance})
              .compare(q, v);
        }
      }
    }
  }
}

TEST(StepDerivatives, KnowHowFarTheyAreFromACorrectionAsFastAsAllowed) {
  // A share of 0.2 of 4.9 mm in 1 ms is 0.98 m/s, 0.02 m/s from what is allowed; of 5.2 mm it would be 0.04 more.
  for (const auto& [depth, distance] : {std::pair(4.9e-3, 0.02), std::pair(5.2e-3, 0.04)}) {
    Scene scene = slider(1.5);
    scene.model.lowerPositionLimit[0] = 0.0;
    scene.model.upperPositionLimit[0] = 1.0;
    Differences differences(std::move(scene), {});
    const Certificate found = differences.compare(VectorXd::Constant(1, -depth), VectorXd::Constant(1, -0.5));
    ASSERT_EQ(found.distance.size(), 1U);
    EXPECT_NEAR(found.distance[0], distance, 1e-9);
  }
}

// A brick in free spin, fast: the torque of mid-step, and the axes that turn on the way.
TEST(StepDerivatives, OfABodyThatTurnsByRadiansInAStep) {
  std::mt19937 rng(9);
  for (const Integrator integrator : kIntegrators) {
    for (const double turn : {0.1, 0.7, 1.5}) {
      SCOPED_TRACE(turn);
      const Matrix3d I = Vector3d(0.01, 0.02, 0.025).asDiagonal();
      Scene scene = lonely_body(Inertia(2.0, Vector3d::Zero(), pinocchio::Symmetric3(I)), kGravity);
      const VectorXd q = scene.q0;
      const double dt = 1e-2;
      VectorXd v(6);
      v << random_vector(rng, 1.0), turn / dt * random_direction(rng);
      Differences(std::move(scene), {.dt = dt, .integrator = integrator}).compare(q, v);
    }
  }
}

// The same off its joint's origin, in flight and where it hits the floor.
TEST(StepDerivatives, OfABodyWhoseCentreIsOffItsOrigin) {
  std::mt19937 rng(10);
  for (const Integrator integrator : kIntegrators) {
    for (const bool lands : {false, true}) {
      for (const double turn : {0.01, 0.1, 0.5, 1.0, 1.5}) {
        SCOPED_TRACE(std::to_string(turn) + (lands ? " lands" : "") +
                     (integrator == Integrator::moreau ? " moreau" : ""));
        const double dt = 1e-2;
        const Matrix3d I = Vector3d(0.01, 0.02, 0.025).asDiagonal();
        const Inertia inertia(2.0, random_vector(rng, 0.2), pinocchio::Symmetric3(I));
        VectorXd v(6);
        v << random_vector(rng, 1.0), turn / dt * random_direction(rng);
        Scene scene;
        const auto body = add_free_body(scene, "body", inertia, at(0.0, 0.0, 0.1 - 2e-3));
        if (lands) {
          add_floor(scene, 0.0, {.friction = 0.4});
          add_shape(scene, body, "ball", std::make_shared<coal::Sphere>(0.1), SE3::Identity(), {.friction = 0.4});
          v[2] = -1.0;
          if (integrator == Integrator::moreau) scene.q0[2] += 0.5 * dt;  // it looks where the old velocity has led
        }
        const VectorXd q = scene.q0;
        Differences differences(std::move(scene), {.dt = dt, .integrator = integrator});
        EXPECT_EQ(differences.compare(q, v).modes.size(), lands ? 1U : 0U);
      }
    }
  }
}

// Another law's answer: refused where it is not the exact one's, taken where it is.
TEST(StepDerivatives, OfOtherModelsAreRefusedByName) {
  const auto stepped = [](const char* solver, double speed) {
    Scene scene = cube_on_plane(0.5);
    const VectorXd q = scene.q0;
    Simulator sim(std::make_shared<const Scene>(std::move(scene)), {.solver = solver, .solving = {.tolerance = 1e-8}});
    VectorXd v = VectorXd::Zero(6);
    v[0] = speed;
    sim.step(q, v);
    return sim;
  };
  for (const char* solver : {"ccp_pgs", "ccp_admm"}) {
    const Simulator slides = stepped(solver, 1.0);
    EXPECT_EQ(slides.record().report.status, Status::converged);  // by its own law
    StepDerivatives derivatives(slides);
    const VectorXd ones = VectorXd::Ones(6);
    const auto refusal = [&](auto&& ask) {
      try {
        ask();
      } catch (const std::invalid_argument& refused) {
        return std::string(refused.what());
      }
      return std::string();
    };
    for (const std::string& said :
         {refusal([&] { derivatives.jacobian(slides); }), refusal([&] { derivatives.jvp(slides, ones, ones, ones); }),
          refusal([&] { derivatives.vjp(slides, ones, ones); })}) {
      EXPECT_NE(said.find(solver), std::string::npos) << said;
      EXPECT_NE(said.find("CCP"), std::string::npos) << said;
      EXPECT_NE(said.find("auto"), std::string::npos) << said;
    }
    const Simulator rests = stepped(solver, 0.0);
    StepDerivatives of_rest(rests);
    EXPECT_TRUE(of_rest.jacobian(rests).certificate.solved);
    EXPECT_LE(of_rest.certificate().residual, 1e-8);
  }
}

TEST(StepDerivatives, OfAStepThatWasNotSolvedSayThatItWasNot) {
  Scene scene = stack({1.0, 100.0, 1.0, 300.0});
  const VectorXd q = scene.q0, v = VectorXd::LinSpaced(scene.model.nv, -0.2, 0.3);
  Simulator sim(std::make_shared<const Scene>(std::move(scene)),
                {.solver = "pgs", .solving = {.tolerance = 1e-12, .max_iterations = 2}});
  sim.step(q, v);
  ASSERT_GT(sim.record().report.residuals.worst(), 1e-12);
  StepDerivatives derivatives(sim);
  const VectorXd ones = VectorXd::Ones(v.size());
  EXPECT_FALSE(derivatives.vjp(sim, ones, ones).certificate.solved);
  EXPECT_EQ(derivatives.certificate().residual, sim.record().report.residuals.worst());
}

}  // namespace
}  // namespace taut::testing
