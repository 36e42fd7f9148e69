// The factorization of the step against Pinocchio's other algorithms, and rows against differences in time.
#include <gtest/gtest.h>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>

#include "scenes.hpp"
#include "taut/constraints/contact.hpp"
#include "taut/constraints/joint.hpp"
#include "taut/dynamics/dynamics.hpp"
#include "taut/dynamics/free_joints.hpp"
#include "taut/dynamics/mobility.hpp"

namespace taut::testing {
namespace {

VectorXd random_vector_x(int size, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  return VectorXd::NullaryExpr(size, [&] { return normal(rng); });
}

VectorXd moved(const pinocchio::Model& model, const VectorXd& q, const VectorXd& v) {
  VectorXd out(model.nq);
  pinocchio::integrate(model, ConstVectorRef(q), ConstVectorRef(v), VectorRef(out));
  return out;
}

// By turns: two articulated trees, the same among free bodies, and one tree alone.
pinocchio::Model random_world(unsigned seed, std::mt19937& rng) {
  const auto place = [&] { return SE3(random_rotation(rng), random_vector(rng, 0.3)); };
  pinocchio::Model model;
  const auto add = [&](pinocchio::JointIndex parent, const pinocchio::JointModel& kind) {
    const auto joint = model.addJoint(parent, kind, place(), "added" + std::to_string(model.njoints));
    model.appendBodyToJoint(joint, Inertia::FromBox(1.0 + 0.1 * model.njoints, 0.2, 0.3, 0.1), place());
    return joint;
  };
  if (seed % 3 == 2) {
    const auto base = add(0, pinocchio::JointModelFreeFlyer());
    for (int leg = 0; leg < 3; ++leg) add(add(base, pinocchio::JointModelSpherical()), pinocchio::JointModelRX());
  } else {
    model = random_tree(rng);
    for (unsigned k = 0; k < 3 * (seed % 3); ++k) add(0, pinocchio::JointModelFreeFlyer());
  }
  model.armature = 0.1 * random_vector_x(model.nv, rng).cwiseAbs();
  return model;
}

struct RandomState {
  explicit RandomState(unsigned seed) : rng(seed), model(random_world(seed, rng)) {
    q = moved(model, pinocchio::neutral(model), random_vector_x(model.nv, rng));
    v = random_vector_x(model.nv, rng);
    tau = random_vector_x(model.nv, rng);
  }

  // Contacts between random bodies, at random points and frames; also of a body with its own ancestor.
  std::vector<Contact> contacts(int count) {
    std::uniform_int_distribution<int> body(1, model.njoints - 1), other(0, model.njoints - 1);
    std::vector<Contact> found;
    while (static_cast<int>(found.size()) < count) {
      Contact contact{.joint_1 = body(rng), .joint_2 = other(rng), .gap = 0.01, .mu = 0.5};
      if (contact.joint_1 == contact.joint_2) continue;
      contact.point = random_vector(rng, 1.0);
      contact.frame = contact_frame(random_direction(rng));
      found.push_back(contact);
    }
    return found;
  }

  std::mt19937 rng;
  pinocchio::Model model;
  VectorXd q, v, tau;
};

// J of contacts by Pinocchio's own frame Jacobians.
MatrixXd dense_jacobian(const RandomState& state, std::span<const Contact> contacts) {
  pinocchio::Data data(state.model);
  pinocchio::computeJointJacobians(state.model, data, ConstVectorRef(state.q));
  MatrixXd J(3 * contacts.size(), state.model.nv);
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const Contact& contact = contacts[i];
    auto rows = J.middleRows<3>(3 * static_cast<Eigen::Index>(i));
    rows.setZero();
    for (const auto& [joint, sign] : {std::pair(contact.joint_1, 1.0), std::pair(contact.joint_2, -1.0)}) {
      if (joint == 0) continue;
      pinocchio::Data::Matrix6x world = pinocchio::Data::Matrix6x::Zero(6, state.model.nv);
      pinocchio::getJointJacobian(state.model, data, static_cast<pinocchio::JointIndex>(joint),
                                  pinocchio::LOCAL_WORLD_ALIGNED, world);
      const Vector3d arm = contact.point - data.oMi[static_cast<std::size_t>(joint)].translation();
      rows += sign * contact.frame.transpose() * (world.topRows<3>() - pinocchio::skew(arm) * world.bottomRows<3>());
    }
  }
  return J;
}

MatrixXd dense(const BlockSparse& sparse, std::span<const Block> blocks) {
  MatrixXd G = MatrixXd::Zero(sparse.rows(), sparse.rows());
  for (int i = 0; i < sparse.size(); ++i) {
    const Panel panel = sparse.panel(i);
    for (const Run& run : panel.runs) {
      for (int c = 0; c < blocks[i].size; ++c) {
        for (int r = 0; r < run.size; ++r) {
          G(run.start + r, blocks[i].start + c) = panel.data[run.row + r + c * panel.stride];
        }
      }
    }
  }
  return G;
}

TEST(Dynamics, FreeAccelerationIsThatOfTheArticulatedBodyAlgorithm) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomState state(seed);
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    dynamics.factorize(state.model, VectorXd::Zero(state.model.nv));
    VectorXd a = state.tau - dynamics.nonlinear_effects();
    dynamics.solve(state.model, a);
    pinocchio::Data data(state.model);
    const VectorXd expected = pinocchio::aba(state.model, data, ConstVectorRef(state.q), ConstVectorRef(state.v),
                                             ConstVectorRef(state.tau), pinocchio::Convention::WORLD);
    EXPECT_LT((a - expected).norm(), 1e-9 * expected.norm()) << "seed " << seed;  // condition of M near 1e4
  }
}

TEST(Dynamics, MobilityIsTheMeanOfTheInverseInertiaAtAPoint) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    RandomState state(seed);
    std::vector<Contact> contacts = state.contacts(1);
    contacts[0].joint_2 = 0;
    const MatrixXd J = dense_jacobian(state, contacts);
    pinocchio::Data data(state.model);
    pinocchio::crba(state.model, data, ConstVectorRef(state.q), pinocchio::Convention::WORLD);
    MatrixXd M = data.M.selfadjointView<Eigen::Upper>();
    pinocchio::forwardKinematics(state.model, data, ConstVectorRef(state.q));
    const double expected = (J * M.llt().solve(J.transpose())).trace() / 3.0;
    const auto& place = data.oMi[static_cast<std::size_t>(contacts[0].joint_1)];
    const double found = mobility(state.model, state.q, contacts[0].joint_1, place.actInv(contacts[0].point));
    EXPECT_NEAR(found, expected, 1e-9 * expected) << "seed " << seed;  // condition of M near 1e4
  }
}

TEST(Dynamics, ImplicitTermsAreArmature) {
  for (unsigned seed = 3; seed < 6; ++seed) {
    RandomState state(seed);
    const VectorXd implicit = random_vector_x(state.model.nv, state.rng).cwiseAbs();
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    dynamics.factorize(state.model, implicit);
    VectorXd a = state.tau - dynamics.nonlinear_effects();
    dynamics.solve(state.model, a);
    pinocchio::Model heavier = state.model;
    heavier.armature += implicit;
    pinocchio::Data data(heavier);
    const VectorXd expected = pinocchio::aba(heavier, data, ConstVectorRef(state.q), ConstVectorRef(state.v),
                                             ConstVectorRef(state.tau), pinocchio::Convention::WORLD);
    EXPECT_LT((a - expected).norm(), 1e-9 * expected.norm());
  }
}

TEST(Dynamics, ReadsMassesGravityAndPlacementsAtEveryUpdate) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    RandomState state(seed);
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    for (auto& inertia : state.model.inertias) inertia.mass() *= 1.5;
    for (auto& placement : state.model.jointPlacements) placement.translation().x() += 0.1;
    state.model.armature.array() += 0.3;
    state.model.gravity.linear() = Vector3d(1.0, 2.0, 3.0);
    Dynamics fresh(state.model);
    VectorXd a = state.tau, expected = state.tau;
    for (auto [which, x] : {std::pair(&dynamics, &a), std::pair(&fresh, &expected)}) {
      which->update(state.model, state.q, state.v);
      which->factorize(state.model, VectorXd::Zero(state.model.nv));
      *x -= which->nonlinear_effects();
      which->solve(state.model, *x);
    }
    EXPECT_EQ(a, expected) << "seed " << seed;
    for (int joint = 1; joint < state.model.njoints; ++joint) {
      EXPECT_EQ(dynamics.placements()[joint], fresh.placements()[joint]);
    }
  }
}

TEST(Dynamics, PlacementsAndVelocitiesAreThoseOfForwardKinematics) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    RandomState state(seed);
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    pinocchio::Data data(state.model);
    pinocchio::forwardKinematics(state.model, data, ConstVectorRef(state.q), ConstVectorRef(state.v));
    for (std::size_t joint = 0; joint < data.oMi.size(); ++joint) {
      EXPECT_TRUE(dynamics.placements()[joint].isApprox(data.oMi[joint], 1e-12)) << "seed " << seed;
      EXPECT_LT((dynamics.velocities()[joint] - data.v[joint]).toVector().norm(), 1e-12) << "seed " << seed;
    }
  }
}

TEST(Dynamics, ExternalForcesAreThoseOfTheArticulatedBodyAlgorithm) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    RandomState state(seed);
    std::vector<pinocchio::Force> forces(static_cast<std::size_t>(state.model.njoints), pinocchio::Force::Zero());
    for (std::size_t joint = 1; joint < forces.size(); joint += 2) {
      forces[joint] = pinocchio::Force(random_vector(state.rng, 3.0), random_vector(state.rng, 3.0));
    }
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    dynamics.factorize(state.model, VectorXd::Zero(state.model.nv));
    VectorXd a = state.tau - dynamics.nonlinear_effects();
    dynamics.add_external_forces(forces, a);
    dynamics.solve(state.model, a);
    pinocchio::Data data(state.model);
    const VectorXd expected = pinocchio::aba(state.model, data, ConstVectorRef(state.q), ConstVectorRef(state.v),
                                             ConstVectorRef(state.tau), forces, pinocchio::Convention::WORLD);
    EXPECT_LT((a - expected).norm(), 1e-9 * expected.norm()) << "seed " << seed;
  }
}

TEST(Dynamics, DelassusIsTheDenseProduct) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomState state(seed);
    for (int joint = 1; joint < state.model.njoints; ++joint) {  // closed limits and dry friction: rows of size one
      if (state.model.nqs[joint] == 1) state.model.lowerPositionLimit[state.model.idx_qs[joint]] = -1e-3;
    }
    state.model.upperDryFrictionLimit.setConstant(1.0);
    const std::vector<Contact> contacts = state.contacts(8);
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    dynamics.factorize(state.model, VectorXd::Zero(state.model.nv));
    Rows rows;
    std::vector<int> active;
    add_contacts(contacts, dynamics, {1e-3, 1e-3}, {}, rows);
    const std::vector<JointRow> candidates = joint_rows(state.model);
    const LimitSurface rigid{VectorXd::Zero(state.model.nv), VectorXd::Zero(state.model.nv)};
    add_joint_rows(state.model, candidates, rigid, dynamics, state.q, state.v, {1e-3, 1e-3}, {.limit_margin = 10.0},
                   rows, active);

    MatrixXd J = MatrixXd::Zero(rows.rows(), state.model.nv);
    J.topRows(24) = dense_jacobian(state, contacts);
    for (std::size_t i = 0; i < active.size(); ++i) {
      const JointRow& row = candidates[static_cast<std::size_t>(active[i])];
      J(24 + static_cast<Eigen::Index>(i), row.dof) = row.kind == JointRow::Kind::upper_limit ? -1.0 : 1.0;
    }
    ASSERT_GT(active.size(), 10u);
    pinocchio::Data data(state.model);
    pinocchio::crba(state.model, data, ConstVectorRef(state.q), pinocchio::Convention::WORLD);
    const MatrixXd M = data.M.selfadjointView<Eigen::Upper>();
    const MatrixXd expected = J * M.ldlt().solve(J.transpose());

    MatrixXd G = MatrixXd::Constant(rows.rows() + 5, rows.rows() + 5, 7.0);
    dynamics.delassus(rows, G);
    const MatrixXd corner = G.topLeftCorner(rows.rows(), rows.rows());
    EXPECT_LT((corner - expected).norm(), 1e-10 * expected.norm()) << "seed " << seed;
    EXPECT_EQ(corner, MatrixXd(corner.transpose()));
    EXPECT_EQ(G(rows.rows(), 0), 7.0);  // only its corner is touched

    // The same numbers where two constraints hold a common tree, and nothing elsewhere.
    BlockSparse sparse;
    dynamics.delassus(rows, sparse);
    const MatrixXd unpacked = dense(sparse, rows.blocks());
    EXPECT_EQ(unpacked, corner) << "seed " << seed;
    for (int twice = 0; twice < 2; ++twice) dynamics.delassus(rows, sparse);  // forgets what it held
    EXPECT_EQ(dense(sparse, rows.blocks()), unpacked);

    VectorXd out(rows.rows()), torque = VectorXd::Zero(state.model.nv);
    dynamics.apply(rows, state.v, out);
    EXPECT_LT((out - J * state.v).norm(), 1e-12 * (1.0 + out.norm()));
    const VectorXd lambda = random_vector_x(rows.rows(), state.rng);
    dynamics.apply_transpose(rows, lambda, torque);
    EXPECT_LT((torque - J.transpose() * lambda).norm(), 1e-12 * (1.0 + torque.norm()));
  }
}

TEST(Dynamics, RowsAreTheVelocityOfThePoint) {
  // Of two points fixed to the bodies that coincide now: the rate of their distance vector.
  for (unsigned seed = 0; seed < 10; ++seed) {
    RandomState state(seed);
    const std::vector<Contact> contacts = state.contacts(6);
    Dynamics dynamics(state.model);
    dynamics.update(state.model, state.q, state.v);
    Rows rows;
    add_contacts(contacts, dynamics, {1e-3, 1e-3}, {}, rows);
    VectorXd c(rows.rows());
    dynamics.apply(rows, state.v, c);

    const double h = 1e-5;  // central: h² of truncation and 1e-16 / h of rounding both stay near 1e-10
    const auto points = [&](double time) {
      pinocchio::Data now(state.model), then(state.model);
      const VectorXd q = moved(state.model, state.q, time * state.v);
      pinocchio::forwardKinematics(state.model, now, ConstVectorRef(state.q));
      pinocchio::forwardKinematics(state.model, then, ConstVectorRef(q));
      std::vector<Vector3d> apart;
      for (const Contact& contact : contacts) {
        const auto carried = [&](int joint) -> Vector3d {
          const auto j = static_cast<std::size_t>(joint);
          return then.oMi[j].act(now.oMi[j].actInv(contact.point));
        };
        apart.push_back(carried(contact.joint_1) - carried(contact.joint_2));
      }
      return apart;
    };
    const auto ahead = points(h), behind = points(-h);
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      const Vector3d rate = contacts[i].frame.transpose() * (ahead[i] - behind[i]) / (2.0 * h);
      EXPECT_LT((c.segment<3>(3 * static_cast<Eigen::Index>(i)) - rate).norm(), 1e-7) << "seed " << seed;
    }
  }
}

TEST(FreeJoints, AFreeFlightIsStraightWhateverTheSpin) {
  // Floating base and planar joint; both tell their linear velocity in axes that turn.
  pinocchio::Model model;
  model.addJoint(0, pinocchio::JointModelFreeFlyer(), SE3::Identity(), "base");
  model.addJoint(0, pinocchio::JointModelPlanar(), SE3::Identity(), "cart");
  model.appendBodyToJoint(1, Inertia::FromSphere(1.0, 0.1), SE3::Identity());
  model.appendBodyToJoint(2, Inertia::FromSphere(1.0, 0.1), SE3::Identity());
  model.gravity.setZero();
  const FreeJoints free(model);
  Dynamics dynamics(model);
  VectorXd q = pinocchio::neutral(model), v(9);
  v << 1.0, 2.0, -3.0, 5.0, -7.0, 11.0, 0.5, -0.25, 13.0;
  const double dt = 1e-2;
  for (int k = 1; k <= 200; ++k) {
    dynamics.update(model, q, v);
    dynamics.factorize(model, VectorXd::Zero(9));
    VectorXd a = -dynamics.nonlinear_effects();
    dynamics.solve(model, a);
    VectorXd v_free = v + dt * a;
    free.hold_axes(v, dt, v_free);
    VectorXd q_next = moved(model, q, dt * v_free);
    free.advance(q, dt, q_next, v_free);
    q = q_next, v = v_free;
    ASSERT_LT((q.head<3>() - k * dt * Vector3d(1.0, 2.0, -3.0)).norm(), 1e-11) << k;
    ASSERT_LT((q.segment<2>(7) - k * dt * Eigen::Vector2d(0.5, -0.25)).norm(), 1e-11) << k;
  }
  const Eigen::Quaterniond turn(q.segment<4>(3).data());
  EXPECT_LT((turn * Vector3d(v.head<3>()) - Vector3d(1.0, 2.0, -3.0)).norm(), 1e-12);
  EXPECT_NEAR(v.head<3>().norm(), Vector3d(1.0, 2.0, -3.0).norm(), 1e-12);
}

}  // namespace
}  // namespace taut::testing
