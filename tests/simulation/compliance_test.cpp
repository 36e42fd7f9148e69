// Contacts that give way, against the spring they stand for.
#include <gtest/gtest.h>

#include "scenes.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

constexpr double kDt = 1e-3, kCompliance = 1e-5;  // 100 kN/m: a cube of 1 kg on four of them sinks by 25 µm

SimulatorOptions soft(double correction, double tangential = 0.0) {
  return {.dt = kDt,
          .solving = {.tolerance = 1e-12},
          .stabilization = {.correction = correction},
          .compliance = {.normal = kCompliance, .tangential = tangential}};
}

// The last of many steps from rest, with a force on the cube along x.
Record settled(const SimulatorOptions& options, double push, int steps) {
  const Scene scene = cube_on_plane(0.8);
  Simulator sim(std::make_shared<const Scene>(scene), options);
  VectorXd q = scene.q0, v = VectorXd::Zero(6);
  const std::vector<pinocchio::Force> forces{
      pinocchio::Force::Zero(), pinocchio::Force(Vector3d(push, 0.0, 0.0), Vector3d(0.0, -0.05 * push, 0.0))};
  for (int k = 0; k < steps; ++k) {
    sim.step(q, v, VectorXd(), forces);
    q = sim.record().q_next, v = sim.record().v_next;
  }
  return sim.record();
}

TEST(Compliance, ACubeAtRestSinksByForceTimesComplianceWhateverTheCorrection) {
  for (const double correction : {1.0, 0.5, 0.2}) {
    const Record record = settled(soft(correction), 0.0, 2000);
    const double depth = kCompliance * (kGravity / 4.0);
    EXPECT_NEAR(0.05 - record.q_next[2], depth, 1e-9) << correction;
    EXPECT_LT(record.v_next.lpNorm<Eigen::Infinity>(), 1e-9) << correction;
  }
}

TEST(Compliance, IsAnImplicitSpring) {
  // One step of m v⁺ = m v + dt (−m g − k z⁺), z⁺ = z + dt v⁺, the four springs of 1/e side by side.
  const Scene scene = cube_on_plane(0.8);
  Simulator sim(std::make_shared<const Scene>(scene), soft(1.0));
  VectorXd q = scene.q0, v = VectorXd::Zero(6);
  double z = 0.0, w = 0.0;
  const double k = 4.0 / kCompliance;
  for (int step = 0; step < 30; ++step) {
    const Record& record = sim.step(q, v);
    q = record.q_next, v = record.v_next;
    w = (w - kDt * (kGravity + k * z)) / (1.0 + kDt * kDt * k);
    z += kDt * w;
    EXPECT_NEAR(q[2] - 0.05, z, 1e-12) << step;
    EXPECT_NEAR(v[2], w, 1e-9) << step;
  }
}

TEST(Compliance, AStickingContactCreepsIfItsTangentsGiveWay) {
  const double push = 2.0;  // below 0.8 · 9.81, and at the height of the floor: no tilt
  const Record record = settled(soft(0.2, kCompliance), push, 2000);
  EXPECT_NEAR(record.v_next[0], kCompliance * (push / 4.0) / kDt, 1e-9);
  const Record normal = settled(soft(0.2), push, 2000);
  EXPECT_LT(std::abs(normal.v_next[0]), 1e-9);
  const Record rigid = settled({.dt = kDt, .solving = {.tolerance = 1e-12}}, push, 200);
  EXPECT_LT(std::abs(rigid.v_next[0]), 1e-9);
}

TEST(Compliance, IsNotNegative) {
  const auto scene = std::make_shared<const Scene>(cube_on_plane(0.8));
  EXPECT_THROW(Simulator(scene, {.compliance = {.normal = -1e-6}}), std::invalid_argument);
  EXPECT_THROW(Simulator(scene, {.compliance = {.tangential = std::nan("")}}), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
