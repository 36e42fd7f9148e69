// Derivatives of the points of a patch: differences over random poses of every pair, closed forms, both orders.
#include <gtest/gtest.h>

#include <coal/hfield.h>

#include <map>

#include "couples.hpp"
#include "taut/collision/patch_derivatives.hpp"

namespace taut::testing {
namespace {

Pose pose(const SE3& M) { return {M.rotation(), M.translation()}; }

SE3 moved(const SE3& M, int axis, double by) {
  Eigen::Matrix<double, 6, 1> motion = Eigen::Matrix<double, 6, 1>::Zero();
  motion[axis] = by;
  return M * pinocchio::exp6(Motion(motion));
}

// Nearly face on face, nearly side on face, edge on edge: where patches have points of every kind.
std::pair<SE3, SE3> touching_poses(const Shape& a, const Shape& b, std::mt19937& rng) {
  const auto tilt = [&](double by) { return pinocchio::exp3(random_vector(rng, by)); };
  std::uniform_int_distribution<int> quarter(0, 3), some(0, 2);
  const auto square = [&] {  // a face, a side or anything up
    const Matrix3d turn = Eigen::AngleAxisd(quarter(rng) * M_PI / 2.0, Vector3d::Unit(some(rng))).toRotationMatrix();
    return Matrix3d(tilt(some(rng) == 0 ? 0.5 : 0.01) * turn);
  };
  SE3 oM1(square(), Vector3d::Zero()), oM2(square(), Vector3d::Zero());
  if (a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space) {
    const bool first = a.kind == Shape::Kind::half_space;
    const Vector3d up = first ? Vector3d(oM1.rotation() * a.normal) : Vector3d(oM2.rotation() * b.normal);
    const Shape& body = first ? b : a;
    SE3& M = first ? oM2 : oM1;
    M.translation() = up * (0.05 + support_height(body, M.rotation().transpose() * -up) + 1e-3);
    return {oM1, oM2};
  }
  oM2.translation() = random_vector(rng, 0.06);
  oM2.translation().z() = 0.0;
  const Vector3d up = (Vector3d::UnitZ() + random_vector(rng, 0.05)).normalized();
  // Down along z until they nearly touch.
  oM2.translation() +=
      (support_height(a, oM1.rotation().transpose() * up) + support_height(b, oM2.rotation().transpose() * -up)) * up;
  const Distance above = distance(a, oM1, b, oM2);
  oM2.translation() -= (above.distance - 5e-4) * Vector3d::UnitZ();
  return {oM1, oM2};
}

// Patches a step ahead and behind along each axis of both poses.
struct Neighbourhood {
  std::array<Patch, 12> ahead, behind;
  double h;

  Neighbourhood(const Shape& a, const SE3& oM1, const Shape& b, const SE3& oM2, double margin, double step) : h(step) {
    for (int c = 0; c < 12; ++c) {
      for (const double by : {h, -h}) {
        (by > 0.0 ? ahead : behind)[c] = c < 6 ? contact_patch(a, moved(oM1, c, by), b, oM2, margin)
                                               : contact_patch(a, oM1, b, moved(oM2, c - 6, by), margin);
      }
    }
  }
  // The same points all around, without a bend.
  bool smooth(const Patch& patch) const {
    for (int c = 0; c < 12; ++c) {
      if (ahead[c].count != patch.count || behind[c].count != patch.count) return false;
      for (int i = 0; i < patch.count; ++i) {
        const auto &at = patch.points[i], &plus = ahead[c].points[i], &minus = behind[c].points[i];
        if (plus.origin.kind != at.origin.kind || minus.origin.kind != at.origin.kind) return false;
        if ((plus.position + minus.position - 2.0 * at.position).norm() > 1e-3 * h) return false;
        if ((plus.normal + minus.normal - 2.0 * at.normal).norm() > 1e-3 * h) return false;
      }
    }
    return true;
  }
};

TEST(PatchDerivatives, AgreeWithDifferencesForEveryPair) {
  std::mt19937 rng(41);
  const double h = 1e-7, margin = 2e-3;
  std::map<PatchOrigin::Kind, int> kinds;
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    int compared = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      const auto [oM1, oM2] = touching_poses(a, b, rng);
      const Patch patch = contact_patch(a, oM1, b, oM2, margin);
      if (patch.count == 0) continue;
      // A feature that changes within 1e-5 is too near: within 1e-9 m of a tie a face gives the normal, and a rim the
      // point.
      if (!Neighbourhood(a, oM1, b, oM2, margin, 1e-5).smooth(patch)) continue;
      const Neighbourhood near(a, oM1, b, oM2, margin, h);
      if (!near.smooth(patch)) continue;
      const auto &ahead = near.ahead, &behind = near.behind;
      ++compared;
      for (int i = 0; i < patch.count; ++i) {
        const PatchPointDerivatives d =
            derivatives(a, pose(oM1), b, pose(oM2), patch, i, {.method = CollisionMethod::exact});
        ++kinds[patch.points[i].origin.kind];
        PatchPointDerivatives differences;
        for (int c = 0; c < 12; ++c) {
          differences.gap[c] = (ahead[c].points[i].gap - behind[c].points[i].gap) / (2.0 * h);
          differences.point.col(c) = (ahead[c].points[i].position - behind[c].points[i].position) / (2.0 * h);
          differences.normal.col(c) = (ahead[c].points[i].normal - behind[c].points[i].normal) / (2.0 * h);
        }
        const double tolerance = 1e-4 * (1.0 + d.point.cwiseAbs().maxCoeff());
        const auto where = [&] {
          return pair.name + ", kind " + std::to_string(static_cast<int>(patch.points[i].origin.kind)) +
                 (patch.second_is_reference ? ", on the second" : ", on the first");
        };
        EXPECT_LT((d.gap - differences.gap).cwiseAbs().maxCoeff(), 1e-4) << where();
        EXPECT_LT((d.normal - differences.normal).cwiseAbs().maxCoeff(), 1e-4 * (1.0 + d.normal.cwiseAbs().maxCoeff()))
            << where();
        EXPECT_LT((d.point - differences.point).cwiseAbs().maxCoeff(), tolerance) << where();
      }
    }
    EXPECT_GT(compared, 100) << pair.name;
  }
  for (const auto& [kind, count] : kinds) EXPECT_GT(count, 50) << "kind " << static_cast<int>(kind);
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(PatchDerivatives, WithRespectToSizesAgreeWithDifferences) {
  std::mt19937 rng(45);
  const double h = 1e-7, margin = 2e-3;
  std::map<PatchOrigin::Kind, int> kinds;
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    for (int trial = 0; trial < 150; ++trial) {
      const auto [oM1, oM2] = touching_poses(a, b, rng);
      const Patch patch = contact_patch(a, oM1, b, oM2, margin);
      if (patch.count == 0 || !Neighbourhood(a, oM1, b, oM2, margin, 1e-5).smooth(patch)) continue;
      for (int c = 0; c < 6; ++c) {
        const int k = c % 3;
        if (k >= static_cast<int>(size_names(c < 3 ? a : b).size())) continue;
        const auto measured = [&](double by) {
          const Geometry one = c < 3 ? grown(pair.first, k, by) : pair.first;
          const Geometry two = c < 3 ? pair.second : grown(pair.second, k, by);
          one->computeLocalAABB();
          two->computeLocalAABB();
          return contact_patch(make_shape(*one, "one"), oM1, make_shape(*two, "two"), oM2, margin);
        };
        const Patch ahead = measured(h), behind = measured(-h);
        if (ahead.count != patch.count || behind.count != patch.count) continue;
        for (int i = 0; i < patch.count; ++i) {
          const auto &at = patch.points[i], &plus = ahead.points[i], &minus = behind.points[i];
          // The hull of a mesh that has grown may list its vertices in another order, and points with them.
          if (plus.origin.kind != at.origin.kind || minus.origin.kind != at.origin.kind) continue;
          if ((plus.position + minus.position - 2.0 * at.position).norm() > 1e-3 * h) continue;
          const PatchPointSizeDerivatives d = size_derivatives(a, pose(oM1), b, pose(oM2), patch, i);
          ++kinds[at.origin.kind];
          const double size = 1.0 + d.point.cwiseAbs().maxCoeff();
          EXPECT_NEAR(d.gap[c], (plus.gap - minus.gap) / (2.0 * h), 1e-5 * size) << pair.name << " " << c;
          EXPECT_LT((d.point.col(c) - (plus.position - minus.position) / (2.0 * h)).norm(), 1e-4 * size)
              << pair.name << " " << c << " kind " << static_cast<int>(at.origin.kind);
          EXPECT_LT((d.normal.col(c) - (plus.normal - minus.normal) / (2.0 * h)).norm(), 1e-4 * size)
              << pair.name << " " << c;
        }
      }
    }
  }
  for (const auto& [kind, count] : kinds) EXPECT_GT(count, 20) << "kind " << static_cast<int>(kind);
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(PatchDerivatives, TheCornersOfABoxRiseAsTheyAreLevered) {
  // A box flat on the ground: the gap of the corner at (x, y) changes by z + y α − x β with tilts α, β about x and y.
  const coal::Box box(0.2, 0.4, 0.1);
  const coal::Halfspace ground(Vector3d::UnitZ(), 0.0);
  const Shape a = make_shape(box, "box"), b = make_shape(ground, "ground");
  const SE3 oM1 = at(0.3, -0.2, 0.05);
  const Patch patch = contact_patch(a, oM1, b, SE3::Identity(), 1e-3);
  ASSERT_EQ(patch.count, 4);
  for (int i = 0; i < 4; ++i) {
    const PatchPointDerivatives d = derivatives(a, pose(oM1), b, Pose{}, patch, i);
    const Vector3d arm = patch.points[i].position - oM1.translation();
    EXPECT_NEAR(d.gap[2], 1.0, 1e-12);
    EXPECT_NEAR(d.gap[3], arm.y(), 1e-12);
    EXPECT_NEAR(d.gap[4], -arm.x(), 1e-12);
    EXPECT_LT(d.normal.leftCols<6>().norm(), 1e-12);
  }
}

TEST(PatchDerivatives, BothOrdersAreTheSame) {
  std::mt19937 rng(42);
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    for (int trial = 0; trial < 50; ++trial) {
      const auto [oM1, oM2] = touching_poses(a, b, rng);
      const Patch one = contact_patch(a, oM1, b, oM2, 2e-3), other = contact_patch(b, oM2, a, oM1, 2e-3);
      ASSERT_EQ(one.count, other.count) << pair.name;
      for (int i = 0; i < one.count; ++i) {
        ASSERT_LT((one.points[i].position - other.points[i].position).norm(), 1e-12) << pair.name;
        const auto d = derivatives(a, pose(oM1), b, pose(oM2), one, i);
        const auto e = derivatives(b, pose(oM2), a, pose(oM1), other, i);
        PatchPointDerivatives::Rows point, normal;
        point << e.point.rightCols<6>(), e.point.leftCols<6>();
        normal << -e.normal.rightCols<6>(), -e.normal.leftCols<6>();
        EXPECT_LT((d.point - point).norm(), 1e-8 * (1.0 + point.norm())) << pair.name;
        EXPECT_LT((d.normal - normal).norm(), 1e-8 * (1.0 + normal.norm())) << pair.name;
      }
    }
  }
}

TEST(PatchDerivatives, MovingBothByOneMotionMovesNothingElse) {
  std::mt19937 rng(43);
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    for (int trial = 0; trial < 50; ++trial) {
      const auto [oM1, oM2] = touching_poses(a, b, rng);
      const Patch patch = contact_patch(a, oM1, b, oM2, 2e-3);
      const Motion V(random_vector(rng, 1.0), random_vector(rng, 1.0));
      Eigen::Matrix<double, 12, 1> both;
      both << oM1.actInv(V).toVector(), oM2.actInv(V).toVector();
      for (int i = 0; i < patch.count; ++i) {
        const auto d = derivatives(a, pose(oM1), b, pose(oM2), patch, i);
        const Vector3d& x = patch.points[i].position;
        const double size = 1.0 + d.point.norm() + d.normal.norm();
        EXPECT_NEAR(d.gap * both, 0.0, 1e-9 * size) << pair.name;
        EXPECT_LT((d.point * both - V.linear() - V.angular().cross(x)).norm(), 1e-7 * size) << pair.name;
        EXPECT_LT((d.normal * both - V.angular().cross(patch.points[i].normal)).norm(), 1e-7 * size) << pair.name;
      }
    }
  }
}

TEST(PatchDerivatives, OnAHeightFieldTheNormalIsThatOfACell) {
  // Balls on random terrain that stands anywhere.
  std::mt19937 rng(44);
  std::uniform_real_distribution<double> height(0.0, 0.3);
  Eigen::MatrixXd heights(7, 7);
  for (double& h : heights.reshaped()) h = height(rng);
  const auto field = std::make_shared<coal::HeightField<coal::AABB>>(1.2, 1.2, heights, -1.0);
  const coal::Sphere small(0.08), large(0.15);
  const double h = 1e-6, margin = 5e-3;
  int compared = 0;
  for (const coal::Sphere& ball : {small, large}) {
    const Shape a = make_shape(ball, "ball"), b = make_shape(*field, "field");
    for (int trial = 0; trial < 1500; ++trial) {
      SE3 oM1(random_rotation(rng), random_vector(rng, 0.45)), oM2(random_rotation(rng), random_vector(rng, 0.1));
      oM1.translation().z() = 0.45;
      oM1 = oM2 * oM1;
      // Down until it touches.
      for (int k = 0; k < 40; ++k) {
        if (contact_patch(a, oM1, b, oM2, 1e-3).count > 0) break;
        oM1.translation() -= 0.01 * oM2.rotation().col(2);
      }
      const Patch patch = contact_patch(a, oM1, b, oM2, margin);
      if (patch.count == 0) continue;
      if (!Neighbourhood(a, oM1, b, oM2, margin, 1e-5).smooth(patch)) continue;
      const Neighbourhood near(a, oM1, b, oM2, margin, h);
      if (!near.smooth(patch)) continue;
      for (int i = 0; i < patch.count; ++i) {
        const PatchPointDerivatives d = derivatives(a, pose(oM1), b, pose(oM2), patch, i);
        for (int c = 0; c < 12; ++c) {
          const auto &plus = near.ahead[c].points[i], &minus = near.behind[c].points[i];
          EXPECT_NEAR(d.gap[c], (plus.gap - minus.gap) / (2.0 * h), 1e-6);
          EXPECT_LT((d.point.col(c) - (plus.position - minus.position) / (2.0 * h)).norm(), 1e-6);
          EXPECT_LT((d.normal.col(c) - (plus.normal - minus.normal) / (2.0 * h)).norm(), 1e-6);
        }
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace taut::testing
