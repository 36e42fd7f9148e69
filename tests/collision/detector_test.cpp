// The cull misses nothing, contacts keep their identity, fast bodies are seen in time, bad shapes are refused.
#include <gtest/gtest.h>

#include <coal/BVH/BVH_model.h>
#include <coal/distance.h>

#include <limits>
#include <set>

#include "scenes.hpp"

namespace taut::testing {
namespace {

TEST(Cull, MissesNoPairAlongASmoothMotion) {
  // Bodies of every kind swim through each other above a floor. The oracle is Coal's distance of every pair.
  std::mt19937 rng(21);
  pinocchio::GeometryModel geometry;
  std::vector<Solid> all = solids(), more = solids(1.4);
  all.insert(all.end(), more.begin(), more.end());
  const std::size_t n = all.size();
  for (std::size_t i = 0; i < n; ++i) {
    geometry.addGeometryObject({"body" + std::to_string(i), i + 1, SE3::Identity(), all[i].geometry});
  }
  const auto floor = std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0);
  geometry.addGeometryObject({"floor", 0, at(0.0, 0.0, -0.2), floor});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j <= n; ++j) geometry.addCollisionPair({i, j});
  }
  CollisionDetector warm(geometry);
  CollisionMemory memory = warm.memory();

  std::vector<Vector3d> center, swing, spin, phase;
  for (std::size_t i = 0; i < n; ++i) {
    center.push_back(random_vector(rng, 0.2));
    swing.push_back(random_vector(rng, 0.25));
    spin.push_back(random_vector(rng, 3.0));
    phase.push_back(random_vector(rng, 3.0));
  }
  const double dt = 1e-2, margin = 5e-3;
  const auto place = [&](std::size_t i, double t) {
    const Vector3d x =
        center[i] + swing[i].cwiseProduct((Vector3d::Constant(2.0 * t) + phase[i]).array().sin().matrix());
    return at(x, spin[i], t * spin[i].norm());
  };
  int touching = 0, narrow = 0;
  std::vector<Contact> contacts, fresh_contacts;
  for (int step = 0; step < 300; ++step) {
    std::vector<SE3> oMi{SE3::Identity()};
    std::vector<Motion> velocity{Motion::Zero()};
    for (std::size_t i = 0; i < n; ++i) {
      oMi.push_back(place(i, step * dt));
      velocity.push_back(Motion(pinocchio::log6(oMi.back().actInv(place(i, (step + 1) * dt))).toVector() / dt));
    }
    warm.detect(geometry, oMi, velocity, dt, margin, memory, contacts);
    narrow += warm.narrow_phase_calls();
    CollisionDetector fresh(geometry);
    CollisionMemory nothing = fresh.memory();
    fresh.detect(geometry, oMi, velocity, dt, margin, nothing, fresh_contacts);

    std::vector<double> deepest(geometry.collisionPairs.size(), HUGE_VAL), deepest_fresh = deepest;
    for (const Contact& c : contacts)
      deepest[static_cast<std::size_t>(c.pair)] = std::min(deepest[static_cast<std::size_t>(c.pair)], c.gap);
    for (const Contact& c : fresh_contacts) {
      deepest_fresh[static_cast<std::size_t>(c.pair)] =
          std::min(deepest_fresh[static_cast<std::size_t>(c.pair)], c.gap);
    }
    for (std::size_t p = 0; p < deepest.size(); ++p) {
      const std::size_t i = geometry.collisionPairs[p].first, j = geometry.collisionPairs[p].second;
      double distance;
      if (j == n) {
        distance =
            oMi[i + 1].translation().z() + 0.2 - all[i].height(oMi[i + 1].rotation().transpose() * -Vector3d::UnitZ());
      } else {
        coal::DistanceResult result;
        const auto pose = [](const SE3& x) { return coal::Transform3s(x.rotation(), x.translation()); };
        distance = coal::distance(all[i].geometry.get(), pose(oMi[i + 1]), all[j].geometry.get(), pose(oMi[j + 1]),
                                  coal::DistanceRequest(), result);
      }
      // 1e-5 covers GJK's default tolerance of 1e-6 in the oracle.
      if (distance < margin - 1e-5) {
        ASSERT_LT(deepest[p], HUGE_VAL) << all[i].name << " misses pair " << p << " in step " << step << ", "
                                        << distance;
        ++touching;
      }
      ASSERT_EQ(deepest[p] < margin, deepest_fresh[p] < margin) << "pair " << p << " in step " << step;
      // Deep in each other curved shapes have several directions out that are about as long.
      if (deepest[p] < margin && std::min(deepest[p], deepest_fresh[p]) > -1e-2) {
        ASSERT_NEAR(deepest[p], deepest_fresh[p], 1e-6 + 5e-3 * std::max(0.0, -deepest[p]))
            << "pair " << p << " in step " << step;
      }
    }
  }
  EXPECT_GT(touching, 1000);
  EXPECT_LT(narrow, 300 * static_cast<int>(geometry.collisionPairs.size()) / 2);  // and it does cull
}

// Slot of the contact nearest to a point, −1 if none is within 5 mm.
int slot_near(const std::vector<Contact>& contacts, const Vector3d& x) {
  int slot = -1;
  double nearest = 5e-3;
  for (const Contact& contact : contacts) {
    if ((contact.point - x).norm() < nearest) nearest = (contact.point - x).norm(), slot = contact.slot;
  }
  return slot;
}

TEST(Identity, SurvivesSlidingAndTurning) {
  const auto table = box(2.0, 2.0, 0.2);
  const auto floor = std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0);
  for (const bool on_floor : {false, true}) {
    Couple couple(box(0.2, 0.2, 0.2), on_floor ? std::shared_ptr<coal::CollisionGeometry>(floor) : table, 0);
    const SE3 ground = on_floor ? SE3::Identity() : at(0.0, 0.0, -0.1);
    std::vector<int> slots;
    for (int step = 0; step < 400; ++step) {
      const SE3 place = at({-0.5 + 2e-3 * step, 1e-3 * step, 0.1}, Vector3d::UnitZ(), 5e-3 * step);
      const auto& contacts = couple.detect(place, ground, 1e-3);
      ASSERT_EQ(contacts.size(), 4u);
      std::vector<int> now;
      for (const double x : {-0.1, 0.1}) {
        for (const double y : {-0.1, 0.1}) now.push_back(slot_near(contacts, place.act(Vector3d(x, y, -0.1))));
      }
      EXPECT_EQ(std::set<int>(now.begin(), now.end()).size(), 4u);  // four different ones
      if (step > 0) {
        ASSERT_EQ(now, slots) << "step " << step;
      }
      slots = now;
    }
  }
}

TEST(Identity, SurvivesTiltingOntoAnEdgeAndBack) {
  Couple couple(box(0.2, 0.2, 0.2), std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0), 0);
  std::vector<int> edge;
  bool tilted = false;
  for (int step = 0; step < 100; ++step) {
    const double angle = 0.05 * std::sin(step * M_PI / 50);
    if (angle < 0) break;
    // About the edge x = 0.1, z = 0, which stays where it is.
    const Matrix3d turn = Eigen::AngleAxisd(angle, Vector3d::UnitY()).toRotationMatrix();
    const SE3 place(turn, Vector3d(0.1, 0.0, 0.0) + turn * Vector3d(-0.1, 0.0, 0.1));
    const auto& contacts = couple.detect(place, SE3::Identity(), 1e-3);
    tilted = tilted || contacts.size() == 2;
    const std::vector<int> now{slot_near(contacts, {0.1, -0.1, 0.0}), slot_near(contacts, {0.1, 0.1, 0.0})};
    ASSERT_GE(*std::min_element(now.begin(), now.end()), 0);
    if (step > 0) {
      ASSERT_EQ(now, edge) << "step " << step;
    }
    edge = now;
  }
  EXPECT_TRUE(tilted);
}

TEST(Identity, SurvivesRolling) {
  const double r = 0.05;
  for (const auto& shape : std::vector<std::shared_ptr<coal::CollisionGeometry>>{
           std::make_shared<coal::Cylinder>(r, 0.2), std::make_shared<coal::Capsule>(r, 0.2)}) {
    Couple couple(shape, box(2.0, 2.0, 0.2), 0);
    std::vector<int> slots;
    for (int step = 0; step < 300; ++step) {
      const double angle = 0.05 * step;
      const Matrix3d turn = Eigen::AngleAxisd(angle, Vector3d::UnitY()).toRotationMatrix() *
                            Eigen::AngleAxisd(M_PI / 2, Vector3d::UnitX()).toRotationMatrix();
      const auto& contacts = couple.detect(SE3(turn, Vector3d(-0.4 + r * angle, 0.0, r)), at(0.0, 0.0, -0.1), 1e-3);
      ASSERT_EQ(contacts.size(), 2u) << "step " << step;
      const std::vector<int> now{slot_near(contacts, {-0.4 + r * angle, -0.1, 0.0}),
                                 slot_near(contacts, {-0.4 + r * angle, 0.1, 0.0})};
      ASSERT_GE(*std::min_element(now.begin(), now.end()), 0);
      if (step > 0) {
        ASSERT_EQ(now, slots) << "step " << step;
      }
      slots = now;
    }
  }
}

TEST(Speculation, ABodyIsSeenWhenItMayArriveInThisStep) {
  // Reach: the margin plus what the body travels, 10 mm.
  Couple couple(std::make_shared<coal::Sphere>(0.1), box(1.0, 1.0, 0.2), 0);
  const Motion fall(Vector3d(0.0, 0.0, -10.0), Vector3d::Zero());
  const double margin = 1e-3, dt = 1e-3;
  EXPECT_EQ(couple.detect(at(0.0, 0.0, 0.1 + 0.0105), at(0.0, 0.0, -0.1), margin, fall, dt).size(), 1u);
  EXPECT_NEAR(couple.deepest(), 0.0105, 1e-9);
  EXPECT_TRUE(couple.detect(at(0.0, 0.0, 0.1 + 0.0115), at(0.0, 0.0, -0.1), margin, fall, dt).empty());
  EXPECT_TRUE(couple.detect(at(0.0, 0.0, 0.1 + 0.0105), at(0.0, 0.0, -0.1), margin).empty());
}

TEST(Speculation, SpinCountsToo) {
  Couple couple(std::make_shared<coal::Capsule>(0.02, 0.6), box(1.0, 1.0, 0.2), 0);
  const SE3 place = at({0.0, 0.0, 0.05}, Vector3d::UnitY(), M_PI / 2);  // its ends are 30 mm above
  EXPECT_TRUE(couple.detect(place, at(0.0, 0.0, -0.1), 1e-3).empty());
  const Motion spin(Vector3d::Zero(), Vector3d(0.0, 110.0, 0.0));  // 33 mm a step at the ends
  EXPECT_FALSE(couple.detect(place, at(0.0, 0.0, -0.1), 1e-3, spin).empty());
}

// A half-space has no end, and zero times its size is not a number: bodies that rest beside it must be seen all the
// same.
TEST(Speculation, AMovingHalfSpaceIsSeen) {
  Couple couple(std::make_shared<coal::Sphere>(0.1), std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0), 2);
  EXPECT_EQ(couple.detect(at(0.0, 0.0, 0.0995), at(0.0, 0.0, 0.0), 1e-3).size(), 1u);
  EXPECT_NEAR(couple.deepest(), -0.0005, 1e-9);
  EXPECT_TRUE(couple.detect(at(0.0, 0.0, 0.2), at(0.0, 0.0, 0.0), 1e-3).empty());
}

std::string complaint(std::shared_ptr<coal::CollisionGeometry> shape) {
  try {
    Couple couple(std::move(shape), box(1.0, 1.0, 1.0), 0);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(BadShape, IsNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  std::vector<std::shared_ptr<coal::CollisionGeometry>> bad;
  for (const double x : {0.0, -0.1, nan, infinity}) {
    bad.push_back(std::make_shared<coal::Sphere>(x));
    bad.push_back(box(x, 0.1, 0.1));
    bad.push_back(box(0.1, 0.1, x));
    bad.push_back(std::make_shared<coal::Capsule>(x, 0.1));
    bad.push_back(std::make_shared<coal::Capsule>(0.1, x));
    bad.push_back(std::make_shared<coal::Cylinder>(x, 0.1));
    bad.push_back(std::make_shared<coal::Cylinder>(0.1, x));
    bad.push_back(std::make_shared<coal::Cone>(x, 0.1));
    bad.push_back(std::make_shared<coal::Cone>(0.1, x));
    bad.push_back(std::make_shared<coal::Ellipsoid>(0.1, x, 0.1));
  }
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::string what = complaint(bad[i]);
    EXPECT_NE(what.find("'first'"), std::string::npos) << "shape " << i << ": " << what;
  }
}

TEST(BadShape, MeshesMustBeConvexSolidAndFinite) {
  const auto mesh = [](const std::vector<Vector3d>& vertices, const std::vector<coal::Triangle>& faces) {
    return std::make_shared<coal::Convex<coal::Triangle>>(
        std::make_shared<std::vector<coal::Vec3s>>(vertices.begin(), vertices.end()),
        static_cast<unsigned int>(vertices.size()), std::make_shared<std::vector<coal::Triangle>>(faces),
        static_cast<unsigned int>(faces.size()));
  };
  const auto few = mesh({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}, {0, 2, 1}});
  EXPECT_NE(complaint(few).find("'first': a convex mesh needs at least 4 vertices, has 3"), std::string::npos);

  const auto broken = prism(4, 0.1, 0.1);
  (*broken->points)[2].x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(complaint(broken).find("'first': a vertex is not finite"), std::string::npos);

  const auto soup = std::make_shared<coal::BVHModel<coal::OBBRSS>>();
  EXPECT_NE(complaint(soup).find("'first'"), std::string::npos);

  const auto padded = std::make_shared<coal::Sphere>(0.1);
  padded->setSweptSphereRadius(0.01);
  EXPECT_NE(complaint(padded).find("swept-sphere radius of 0.01"), std::string::npos);
}

TEST(BadShape, TwoUnboundedShapesCannotCollide) {
  const auto half = std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0);
  EXPECT_THROW(Couple(half, half, 0), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
