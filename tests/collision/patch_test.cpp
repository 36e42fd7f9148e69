// Patches against closed forms: which points, and the gap of each.
#include <gtest/gtest.h>

#include <coal/hfield.h>

#include "scenes.hpp"

namespace taut::testing {
namespace {

const auto kTable = box(1.0, 1.0, 0.2);
const SE3 kTablePose = at(0.0, 0.0, -0.1);  // its top is z = 0
const auto kFloor = std::make_shared<coal::Halfspace>(Vector3d::UnitZ(), 0.0);

// On a table and on the floor, the shape once listed first and once second.
template <typename Check>
void on_both_grounds(const std::shared_ptr<coal::CollisionGeometry>& shape, const SE3& place, double margin,
                     Check&& check) {
  for (const bool swapped : {false, true}) {
    Couple on_table(shape, kTable, 0, swapped), on_floor(shape, kFloor, 0, swapped);
    on_table.detect(place, kTablePose, margin);
    on_floor.detect(place, SE3::Identity(), margin);
    for (const Couple* couple : {&on_table, &on_floor}) {
      SCOPED_TRACE(couple == &on_table ? "on a table" : "on the floor");
      check(couple->contacts);
      for (const Contact& contact : couple->contacts) {
        EXPECT_LT((contact.frame.col(2) - Vector3d::UnitZ()).norm(), 1e-9);
        EXPECT_EQ(contact.joint_1, 1);
      }
    }
  }
}

int count_near(const std::vector<Contact>& contacts, double x, double y, double tolerance = 1e-8) {
  int count = 0;
  for (const Contact& contact : contacts) count += (contact.point.head<2>() - Eigen::Vector2d(x, y)).norm() < tolerance;
  return count;
}

TEST(Patch, ABoxLyingFlatTouchesWithItsFourCorners) {
  for (const double gap : {0.0, 5e-4, -1e-3}) {
    for (const double heading : {0.0, 0.3, M_PI / 4}) {
      const SE3 place = at({0.1, -0.05, 0.1 + gap}, Vector3d::UnitZ(), heading);
      on_both_grounds(box(0.2, 0.3, 0.2), place, 1e-3, [&](const std::vector<Contact>& contacts) {
        ASSERT_EQ(contacts.size(), 4u);
        for (const double x : {-0.1, 0.1}) {
          for (const double y : {-0.15, 0.15}) {
            const Vector3d corner = place.act(Vector3d(x, y, -0.1));
            EXPECT_EQ(count_near(contacts, corner.x(), corner.y()), 1) << gap << ", " << heading;
          }
        }
        for (const Contact& contact : contacts) EXPECT_NEAR(contact.gap, gap, 1e-9);
      });
    }
  }
}

TEST(Patch, EveryPointOfATiltedBoxHasItsOwnGap) {
  for (const double tilt : {1e-5, 1e-3, 0.02}) {
    const SE3 place = at({0.1, -0.05, 0.1}, {0.3, 1.0, 0.1}, tilt);
    const double margin = 0.05;
    on_both_grounds(box(0.2, 0.3, 0.2), place, margin, [&](const std::vector<Contact>& contacts) {
      ASSERT_EQ(contacts.size(), 4u) << tilt;
      for (const double x : {-0.1, 0.1}) {
        for (const double y : {-0.15, 0.15}) {
          const Vector3d corner = place.act(Vector3d(x, y, -0.1));
          const auto found = std::find_if(contacts.begin(), contacts.end(), [&](const Contact& contact) {
            return (contact.point.head<2>() - corner.head<2>()).norm() < 1e-8;
          });
          ASSERT_NE(found, contacts.end()) << tilt;
          EXPECT_NEAR(found->gap, corner.z(), 1e-9) << tilt;
          EXPECT_NEAR(found->point.z(), 0.5 * corner.z(), 1e-9) << tilt;
        }
      }
    });
  }
}

TEST(Patch, ABoxOverTheEdgeOfAnotherIsClippedThere) {
  Couple couple(box(0.2, 0.2, 0.2), kTable, 0);
  const auto& contacts = couple.detect(at(0.5, 0.0, 0.1), kTablePose, 1e-3);
  ASSERT_EQ(contacts.size(), 4u);
  for (const double x : {0.4, 0.5}) {
    for (const double y : {-0.1, 0.1}) EXPECT_EQ(count_near(contacts, x, y), 1);
  }
}

TEST(Patch, EqualBoxesFaceToFaceTouchWithFourCorners) {
  for (const double heading : {0.0, M_PI / 2, M_PI}) {
    Couple couple(box(0.1, 0.1, 0.1), box(0.1, 0.1, 0.1));
    const auto& contacts = couple.detect(at({0.0, 0.0, 0.1}, Vector3d::UnitZ(), heading), SE3::Identity(), 1e-3);
    ASSERT_EQ(contacts.size(), 4u);
    for (const double x : {-0.05, 0.05}) {
      for (const double y : {-0.05, 0.05}) EXPECT_EQ(count_near(contacts, x, y), 1);
    }
    for (const Contact& contact : contacts) EXPECT_LT((contact.frame.col(2) - Vector3d::UnitZ()).norm(), 1e-9);
  }
}

TEST(Patch, AStandingCylinderTouchesWithFourPointsOfItsRim) {
  for (const double gap : {0.0, -1e-4, 5e-4}) {
    on_both_grounds(std::make_shared<coal::Cylinder>(0.05, 0.2), at({0.1, 0.2, 0.1 + gap}, Vector3d::UnitZ(), 0.4),
                    1e-3, [&](const std::vector<Contact>& contacts) {
                      ASSERT_EQ(contacts.size(), 4u);
                      Eigen::Vector2d sum(0.0, 0.0);
                      for (const Contact& contact : contacts) {
                        const Eigen::Vector2d arm = contact.point.head<2>() - Eigen::Vector2d(0.1, 0.2);
                        EXPECT_NEAR(arm.norm(), 0.05, 1e-9);
                        EXPECT_NEAR(contact.gap, gap, 1e-9);
                        sum += arm;
                      }
                      EXPECT_LT(sum.norm(), 1e-8);  // a square
                    });
  }
}

TEST(Patch, ALyingCylinderOrCapsuleTouchesWithItsTwoEnds) {
  const SE3 place = at({0.1, 0.2, 0.05}, Vector3d::UnitY(), M_PI / 2);
  for (const auto& shape : std::vector<std::shared_ptr<coal::CollisionGeometry>>{
           std::make_shared<coal::Cylinder>(0.05, 0.2), std::make_shared<coal::Capsule>(0.05, 0.2)}) {
    on_both_grounds(shape, place, 1e-3, [&](const std::vector<Contact>& contacts) {
      ASSERT_EQ(contacts.size(), 2u);
      EXPECT_EQ(count_near(contacts, 0.0, 0.2), 1);
      EXPECT_EQ(count_near(contacts, 0.2, 0.2), 1);
      for (const Contact& contact : contacts) EXPECT_NEAR(contact.gap, 0.0, 1e-9);
    });
  }
}

TEST(Patch, AConeStandsOnItsBaseAndLiesOnItsSide) {
  const auto cone = std::make_shared<coal::Cone>(0.05, 0.2);
  on_both_grounds(cone, at(0.0, 0.0, 0.1), 1e-3, [&](const std::vector<Contact>& contacts) {
    ASSERT_EQ(contacts.size(), 4u);
    for (const Contact& contact : contacts) EXPECT_NEAR(contact.point.head<2>().norm(), 0.05, 1e-9);
  });
  // On its side: the line from the apex to the rim is horizontal after a turn by 90° + the half angle.
  const double half_angle = std::atan2(0.05, 0.2);
  const Matrix3d turn = Eigen::AngleAxisd(M_PI / 2 + half_angle, Vector3d::UnitY()).toRotationMatrix();
  const double apex = (turn * Vector3d(0.0, 0.0, 0.1)).z();
  on_both_grounds(cone, SE3(turn, Vector3d(0.0, 0.0, -apex)), 1e-3, [&](const std::vector<Contact>& contacts) {
    ASSERT_EQ(contacts.size(), 2u);
    EXPECT_NEAR((contacts[0].point - contacts[1].point).norm(), std::hypot(0.05, 0.2), 1e-6);
  });
}

TEST(Patch, AFineMeshLyingFlatIsHeldAllAround) {
  // More vertices on the face than a feature holds: the four kept must still surround the centre.
  for (const int sides : {8, 24, 64}) {
    const auto mesh = prism(sides, 0.1, 0.05);
    on_both_grounds(mesh, at(0.0, 0.0, 0.05), 1e-3, [&](const std::vector<Contact>& contacts) {
      ASSERT_EQ(contacts.size(), 4u) << sides;
      for (int quarter = 0; quarter < 16; ++quarter) {
        const double angle = quarter * M_PI / 8;
        double reach = -HUGE_VAL;
        for (const Contact& contact : contacts) {
          reach = std::max(reach, std::cos(angle) * contact.point.x() + std::sin(angle) * contact.point.y());
        }
        EXPECT_GT(reach, 0.05) << sides << " sides, toward " << angle;  // a square in the circle reaches 0.07
      }
    });
  }
}

TEST(Patch, ABallHasOnePointWhereItIsNearest) {
  std::mt19937 rng(12);
  for (int k = 0; k < 50; ++k) {
    const Vector3d n = random_direction(rng);
    const double gap = std::uniform_real_distribution<double>(-0.02, 0.02)(rng);
    Couple couple(std::make_shared<coal::Sphere>(0.1), std::make_shared<coal::Sphere>(0.3));
    const auto& contacts =
        couple.detect(SE3(random_rotation(rng), (0.4 + gap) * n), SE3(random_rotation(rng), Vector3d::Zero()), 0.05);
    ASSERT_EQ(contacts.size(), 1u);
    EXPECT_NEAR(contacts[0].gap, gap, 1e-12);
    EXPECT_LT((contacts[0].frame.col(2) - n).norm(), 1e-12);
    EXPECT_LT((contacts[0].point - (0.3 + 0.5 * gap) * n).norm(), 1e-12);
  }
}

TEST(Patch, ReductionKeepsTheDeepestAndAWideArea) {
  std::mt19937 rng(13);
  for (int k = 0; k < 100; ++k) {
    Patch patch;
    const int count = std::uniform_int_distribution<int>(5, 40)(rng);
    double deepest = HUGE_VAL;
    for (int i = 0; i < count; ++i) {
      const Vector3d x = random_vector(rng, 1.0);
      const double gap = 1e-4 * x.z();  // points of a sole that is nearly flat: those that hover would be dropped
      patch.add({x.x(), x.y(), 0.0}, gap, PatchOrigin(PatchOrigin::Kind::vertex));
      deepest = std::min(deepest, gap);
    }
    reduce_to_four(patch);
    ASSERT_LE(patch.count, 4);
    ASSERT_GE(patch.count, 3);
    double kept = HUGE_VAL;
    for (int i = 0; i < patch.count; ++i) kept = std::min(kept, patch.points[static_cast<std::size_t>(i)].gap);
    EXPECT_EQ(kept, deepest);
  }
}

TEST(HeightField, ABallOnAFlatOneMeetsItsPlane) {
  const auto field = std::make_shared<coal::HeightField<coal::AABB>>(2.0, 2.0, MatrixXd::Constant(11, 11, 0.3));
  field->computeLocalAABB();
  for (const double gap : {0.0, 5e-4, -1e-3}) {
    for (const bool swapped : {false, true}) {
      for (const Vector3d& place : {Vector3d(0.05, 0.03, 0.0), Vector3d(-0.31, 0.44, 0.0), Vector3d(0.11, 0.17, 0.0)}) {
        Couple couple(std::make_shared<coal::Sphere>(0.1), field, 0, swapped);
        const auto& contacts = couple.detect(at(place.x(), place.y(), 0.4 + gap), SE3::Identity(), 1e-3);
        ASSERT_FALSE(contacts.empty()) << gap;
        const Contact& deepest = *std::min_element(contacts.begin(), contacts.end(),
                                                   [](const Contact& a, const Contact& b) { return a.gap < b.gap; });
        EXPECT_NEAR(deepest.gap, gap, 1e-6);
        EXPECT_LT((deepest.frame.col(2) - Vector3d::UnitZ()).norm(), 1e-3);
        EXPECT_LT((deepest.point - Vector3d(place.x(), place.y(), 0.3 + 0.5 * gap)).norm(), 1e-3);
        EXPECT_EQ(deepest.joint_1, 1);
      }
    }
  }
}

TEST(ContactFrame, IsRightHandedForEveryNormal) {
  std::mt19937 rng(14);
  for (int k = 0; k < 1000; ++k) {
    Vector3d n = random_direction(rng);
    if (k < 6) n = (k % 2 ? 1.0 : -1.0) * Vector3d::Unit(k / 2);
    const Matrix3d frame = contact_frame(n);
    EXPECT_LT((frame.transpose() * frame - Matrix3d::Identity()).norm(), 1e-14);
    EXPECT_NEAR(frame.determinant(), 1.0, 1e-14);
    EXPECT_EQ(frame.col(2), n);
  }
  EXPECT_EQ(contact_frame(Vector3d::UnitZ()), Matrix3d::Identity());
}

}  // namespace
}  // namespace taut::testing
