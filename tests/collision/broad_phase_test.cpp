// A heap large enough for the sweep, against every pair asked.
#include <gtest/gtest.h>

#include <set>

#include "scenes.hpp"

namespace taut::testing {
namespace {

// Bodies of two balls each, of sizes a hundredfold apart; a half-space and a ball stand in the world.
struct Heap {
  explicit Heap(unsigned seed) : rng(seed) {
    const auto add = [&](std::size_t joint, double radius, const Vector3d& where) {
      const std::string name = "shape" + std::to_string(geometry.ngeoms);
      geometry.addGeometryObject(
          {name, joint, SE3(Matrix3d::Identity(), where), std::make_shared<coal::Sphere>(radius)});
      radii.push_back(radius);
    };
    add(0, 0.4, Vector3d::Zero());
    for (int joint = 1; joint <= bodies; ++joint) {
      for (int k = 0; k < 2; ++k) {
        add(static_cast<std::size_t>(joint), std::pow(10.0, -2.5 + 2.0 * uniform(rng)), random_vector(rng, 0.05));
      }
    }
    plane = geometry.addGeometryObject(
        {"plane", 0, SE3::Identity(), std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), -0.3)});
    for (std::size_t i = 0; i < geometry.ngeoms; ++i) {
      for (std::size_t j = i + 1; j < geometry.ngeoms; ++j) {
        if (geometry.geometryObjects[i].parentJoint != geometry.geometryObjects[j].parentJoint) {
          geometry.addCollisionPair({i, j});
        }
      }
    }
  }

  double gap(const pinocchio::CollisionPair& pair, const std::vector<SE3>& oMi) const {
    const auto center = [&](std::size_t shape) {
      const auto& object = geometry.geometryObjects[shape];
      return oMi[object.parentJoint].act(object.placement.translation());
    };
    if (pair.second == plane) return center(pair.first).z() + 0.3 - radii[pair.first];
    return (center(pair.first) - center(pair.second)).norm() - radii[pair.first] - radii[pair.second];
  }

  static constexpr int bodies = 80;
  std::mt19937 rng;
  std::uniform_real_distribution<double> uniform{0.0, 1.0};
  pinocchio::GeometryModel geometry;
  std::vector<double> radii;
  std::size_t plane = 0;
};

TEST(Sweep, FindsWhatAskingEveryPairFindsInTheSameOrder) {
  Heap heap(5);
  const double margin = 1e-2;
  CollisionDetector detector(heap.geometry);
  CollisionMemory memory = detector.memory();
  std::vector<Contact> contacts;
  int touching = 0;
  for (const Vector3d& spread : {Vector3d(2.0, 0.2, 0.2), Vector3d(0.2, 2.0, 0.2), Vector3d(0.5, 0.5, 2.0)}) {
    for (int round = 0; round < 10; ++round) {
      std::vector<SE3> oMi{SE3::Identity()};
      for (int k = 0; k < Heap::bodies; ++k) {
        oMi.emplace_back(random_rotation(heap.rng), random_vector(heap.rng, 1.0).cwiseProduct(spread));
      }
      const std::vector<Motion> rest(oMi.size(), Motion::Zero());
      detector.detect(heap.geometry, oMi, rest, 1e-3, margin, memory, contacts);
      std::set<int> found, expected;
      for (std::size_t i = 0; i < contacts.size(); ++i) {
        found.insert(contacts[i].pair);
        if (i > 0) {
          EXPECT_LE(contacts[i - 1].order, contacts[i].order);
        }
      }
      for (std::size_t p = 0; p < heap.geometry.collisionPairs.size(); ++p) {
        if (heap.gap(heap.geometry.collisionPairs[p], oMi) < margin) expected.insert(static_cast<int>(p));
      }
      EXPECT_EQ(found, expected);
      touching += static_cast<int>(found.size());
      // Far fewer than the 12 880 pairs of balls reach the narrow phase.
      EXPECT_LT(detector.narrow_phase_calls(), 2 * static_cast<int>(found.size()) + 400);
    }
  }
  EXPECT_GT(touching, 1000);
}

TEST(Sweep, SeesAFastBodyInTime) {
  Heap heap(6);
  CollisionDetector detector(heap.geometry);
  CollisionMemory memory = detector.memory();
  std::vector<SE3> oMi{SE3::Identity()};
  std::vector<Motion> velocity(Heap::bodies + 1, Motion::Zero());
  for (int k = 0; k < Heap::bodies; ++k) oMi.push_back(at(5.0 * (k + 1), 0.0, 0.0));
  velocity[7].linear().x() = 5.0 / 1e-2;  // reaches body 8 within the step
  std::vector<Contact> contacts;
  detector.detect(heap.geometry, oMi, velocity, 1e-2, 1e-3, memory, contacts);
  EXPECT_TRUE(std::any_of(contacts.begin(), contacts.end(),
                          [](const Contact& c) { return std::minmax(c.joint_1, c.joint_2) == std::minmax(7, 8); }));
}

}  // namespace
}  // namespace taut::testing
