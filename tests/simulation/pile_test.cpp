// Many bodies: the Delassus matrix is sparse, and nothing grows with the square of their number.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

std::shared_ptr<const Scene> share(Scene scene) { return std::make_shared<const Scene>(std::move(scene)); }

// Columns of cubes beside each other, a hair's breadth apart, so that neighbours touch too.
Scene wall(int columns, int height) {
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.8});
  for (int column = 0; column < columns; ++column) {
    for (int k = 0; k < height; ++k) {
      add_box(scene, "cube" + std::to_string(column) + "_" + std::to_string(k), 1.0, Vector3d::Constant(0.1),
              at(0.1005 * column, 0.0, 0.05 + 0.1 * k));
    }
  }
  return scene;
}

TEST(Pile, ImpulsesMoveTheBodiesAsTheMatrixSays) {
  // c of the solver is (G + R) λ + g; J v⁺ + bias + R λ comes from the factors of the mass matrices.
  const Scene scene = wall(3, 4);
  Simulator sim(share(scene));
  VectorXd q = scene.q0, v = VectorXd::Zero(scene.model.nv);
  v[0] = 1.0;  // the first column is pushed into the second
  for (int k = 0; k < 20; ++k) {
    const Record& record = sim.step(q, v);
    ASSERT_TRUE(record.is_sparse);
    const int n = record.rows.rows();
    VectorXd c(n);
    sim.dynamics().apply(record.rows, record.v_plus, c);
    c += record.rows.bias() + record.rows.compliance().cwiseProduct(record.impulse.head(n));
    EXPECT_LT((c - record.velocity.head(n)).lpNorm<Eigen::Infinity>(), 1e-10) << k;
    EXPECT_EQ(record.report.status, Status::converged);
    q = record.q_next, v = record.v_next;
  }
}

TEST(Pile, TheFloorCarriesItAll) {
  const Scene scene = wall(4, 3);
  const double dt = 1e-3;
  Simulator sim(share(scene), {.dt = dt, .solving = {.tolerance = 1e-9}});
  const Record& record = sim.step(scene.q0, VectorXd::Zero(scene.model.nv));
  ASSERT_TRUE(record.is_sparse);
  double carried = 0.0;
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    if (record.contacts[i].joint_2 == 0) carried += record.contact_impulses()(2, static_cast<Eigen::Index>(i));
  }
  EXPECT_NEAR(carried, 12.0 * kGravity * dt, 1e-6);  // 12 kg times a residual of 1e-9 m/s, and then some
  EXPECT_LT(record.v_next.lpNorm<Eigen::Infinity>(), 1e-8);
}

TEST(Pile, AThousandBodiesFallAsOne) {
  Scene scene;
  for (int i = 0; i < 1000; ++i) {
    add_free_body(scene, "body" + std::to_string(i), Inertia::FromSphere(1.0 + 0.01 * i, 0.1), at(0.3 * i, 0.0, 0.0));
  }
  const double dt = 1e-2;
  Simulator sim(share(scene), {.dt = dt});
  const Record& record = sim.step(scene.q0, VectorXd::Zero(scene.model.nv));
  for (int i = 0; i < 1000; ++i) EXPECT_NEAR(record.v_next[6 * i + 2], -kGravity * dt, 1e-15);
  EXPECT_LT(record.G.rows(), 100);
}

}  // namespace
}  // namespace taut::testing
