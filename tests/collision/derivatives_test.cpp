// Derivatives of collision: closed forms, differences over random poses of every pair, symmetries.
#include <gtest/gtest.h>
#include <pinocchio/spatial.hpp>

#include "couples.hpp"
#include "scenes.hpp"
#include "taut/collision/derivatives.hpp"

namespace taut::testing {
namespace {

using Row = DistanceDerivatives::Row;
using Rows12 = DistanceDerivatives::Rows;

SE3 moved(const SE3& M, const Eigen::Matrix<double, 6, 1>& by) { return M * pinocchio::exp6(Motion(by)); }

struct Differences {
  Row distance;
  Rows12 normal, point_1, point_2;
};

// One-sided or central.
Differences differences(const Shape& a, const SE3& oM1, const Shape& b, const SE3& oM2, double ahead, double behind) {
  Differences d;
  for (int c = 0; c < 12; ++c) {
    const auto at = [&](double h) {
      Eigen::Matrix<double, 6, 1> by = Eigen::Matrix<double, 6, 1>::Zero();
      by[c % 6] = h;
      return c < 6 ? distance(a, moved(oM1, by), b, oM2) : distance(a, oM1, b, moved(oM2, by));
    };
    const Distance plus = at(ahead), minus = at(-behind);
    d.distance[c] = (plus.distance - minus.distance) / (ahead + behind);
    d.normal.col(c) = (plus.normal - minus.normal) / (ahead + behind);
    d.point_1.col(c) = (plus.point_1 - minus.point_1) / (ahead + behind);
    d.point_2.col(c) = (plus.point_2 - minus.point_2) / (ahead + behind);
  }
  return d;
}

double apart(const Rows12& a, const Rows12& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(CollisionDerivatives, AgreeWithDifferencesForEveryPair) {
  std::mt19937 rng(5);
  const double h = 1e-6;
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    int compared = 0, kinks = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const auto [oM1, oM2] = random_poses(a, b, rng);
      const double reach = reach_of(a, b);
      const Distance at = distance(a, oM1, b, oM2);
      if (at.distance < -0.3 * reach) continue;  // so deep that another direction may be as short
      const DistanceDerivatives exact = derivatives(a, oM1, b, oM2, at, {.method = CollisionMethod::exact});
      const Differences central = differences(a, oM1, b, oM2, h, h);
      // Where one-sided differences disagree a feature changes within h.
      const Differences left = differences(a, oM1, b, oM2, 0.0, h), right = differences(a, oM1, b, oM2, h, 0.0);
      const double kink = std::max(
          {apart(left.normal, right.normal), apart(left.point_1, right.point_1), apart(left.point_2, right.point_2)});
      const double scale = 1.0 + exact.normal.cwiseAbs().maxCoeff();
      if (kink > 1e-3 * scale * scale || !exact.unique) {
        ++kinks;
        continue;
      }
      ++compared;
      const double tolerance = 1e-4 * scale;
      EXPECT_LT((exact.distance - central.distance).cwiseAbs().maxCoeff(), 1e-6) << pair.name << " " << at.distance;
      EXPECT_LT(apart(exact.normal, central.normal), tolerance) << pair.name << " " << at.distance;
      EXPECT_LT(apart(exact.point_1, central.point_1), tolerance) << pair.name << " " << at.distance;
      EXPECT_LT(apart(exact.point_2, central.point_2), tolerance) << pair.name << " " << at.distance;
    }
    EXPECT_GT(compared, 1000) << pair.name << ", " << kinks << " kinks";
  }
}

TEST(CollisionDerivatives, ClosedFormsOfSpheres) {
  const coal::Sphere small(0.1), large(0.25);
  const Shape a = make_shape(small, "a"), b = make_shape(large, "b");
  std::mt19937 rng(6);
  for (int trial = 0; trial < 50; ++trial) {
    const SE3 oM1(random_rotation(rng), random_vector(rng, 1.0)), oM2(random_rotation(rng), random_vector(rng, 1.0));
    const Vector3d way = oM1.translation() - oM2.translation();
    const double length = way.norm();
    const Vector3d n = way / length;
    const Distance at = distance(a, oM1, b, oM2);
    EXPECT_NEAR(at.distance, length - 0.35, 1e-12);
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, at);
    // Centres alone matter: dn = (I − n nᵀ)/l dx, p_1 = x_1 − r_1 n.
    const Matrix3d dn = (Matrix3d::Identity() - n * n.transpose()) / length;
    Rows12 normal = Rows12::Zero(), point_1 = Rows12::Zero();
    normal.leftCols<3>() = dn * oM1.rotation();
    normal.middleCols<3>(6) = -dn * oM2.rotation();
    point_1 = -0.1 * normal;
    point_1.leftCols<3>() += oM1.rotation();
    EXPECT_LT(apart(d.normal, normal), 1e-8);
    EXPECT_LT(apart(d.point_1, point_1), 1e-8);
    EXPECT_LT((d.distance.head<3>() - (n.transpose() * oM1.rotation())).norm(), 1e-8);
    EXPECT_LT(d.distance.segment<3>(3).norm(), 1e-8);
  }
}

TEST(CollisionDerivatives, ASphereOnAPlaneRollsUnderItsPoint) {
  // The recipe of the step's gradient: the point moves by −r [n]ₓ δθ in the ball's frame, the frame stands.
  const coal::Sphere ball(0.1);
  const coal::Halfspace ground(Vector3d::UnitZ(), 0.0);
  const Shape a = make_shape(ball, "a"), b = make_shape(ground, "b");
  std::mt19937 rng(7);
  const SE3 oM1(random_rotation(rng), Vector3d(0.3, -0.2, 0.1)), oM2 = SE3::Identity();
  const DistanceDerivatives d = derivatives(a, oM1, b, oM2, distance(a, oM1, b, oM2));
  EXPECT_LT(d.normal.leftCols<6>().norm(), 1e-12);
  EXPECT_LT(d.frame.leftCols<6>().norm(), 1e-12);
  EXPECT_LT(d.point_1.middleCols<3>(3).norm(), 1e-12);  // it turns; its lowest point stays in the world
  EXPECT_LT((d.distance.head<3>().transpose() - oM1.rotation().transpose() * Vector3d::UnitZ()).norm(), 1e-12);
}

TEST(CollisionDerivatives, AnEllipsoidOnAPlane) {
  // φ = z − |A Rᵀ n|: the height of its lowest point.
  const Vector3d radii(0.1, 0.2, 0.3);
  const coal::Ellipsoid egg(radii);
  const coal::Halfspace ground(Vector3d::UnitZ(), 0.0);
  const Shape a = make_shape(egg, "a"), b = make_shape(ground, "b");
  std::mt19937 rng(8);
  for (int trial = 0; trial < 50; ++trial) {
    const SE3 oM1(random_rotation(rng), random_vector(rng, 0.5));
    const Distance at = distance(a, oM1, b, SE3::Identity());
    const Vector3d d = oM1.rotation().transpose() * Vector3d::UnitZ(), s = radii.cwiseProduct(d);
    EXPECT_NEAR(at.distance, oM1.translation().z() - s.norm(), 1e-12);
    // A turn ω of the body: Rᵀ n changes by −ω × d.
    const Vector3d gradient = radii.cwiseProduct(s) / s.norm();
    const Vector3d turn = -d.cross(gradient);  // dφ = gradient · (ω × d) = ω · (d × gradient)
    const DistanceDerivatives derived = derivatives(a, oM1, b, SE3::Identity(), at);
    EXPECT_LT((derived.distance.segment<3>(3).transpose() + turn).norm(), 1e-8);
  }
}

TEST(CollisionDerivatives, ASphereAgainstTheFaceOfABox) {
  const coal::Sphere ball(0.05);
  const coal::Box box(0.4, 0.6, 0.2);
  const Shape a = make_shape(ball, "a"), b = make_shape(box, "b");
  std::mt19937 rng(9);
  for (const double height : {0.2, 0.12}) {  // apart, and in the face
    const SE3 oM2(random_rotation(rng), random_vector(rng, 1.0));
    const SE3 oM1(random_rotation(rng), oM2.act(Vector3d(0.05, -0.1, height)));
    const Distance at = distance(a, oM1, b, oM2);
    EXPECT_NEAR(at.distance, height - 0.1 - 0.05, 1e-10);
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, at);
    const Vector3d n = oM2.rotation().col(2);
    // The normal is the box's: it turns with it and with nothing else.
    Rows12 normal = Rows12::Zero();
    for (int k = 0; k < 3; ++k) normal.col(9 + k) = Vector3d(oM2.rotation().col(k)).cross(n);
    EXPECT_LT(apart(d.normal, normal), 1e-8);
    EXPECT_TRUE(d.unique);
  }
}

TEST(CollisionDerivatives, SwappingTheShapesSwapsTheAnswers) {
  std::mt19937 rng(10);
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    if (a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space) continue;
    const SE3 oM1(random_rotation(rng), random_vector(rng, 0.1));
    const SE3 oM2(random_rotation(rng), oM1.translation() + 1.2 * (a.radius + b.radius) * random_direction(rng));
    const Distance at = distance(a, oM1, b, oM2), swapped = distance(b, oM2, a, oM1);
    EXPECT_NEAR(at.distance, swapped.distance, 1e-9) << pair.name;
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, at), e = derivatives(b, oM2, a, oM1, swapped);
    if (!d.unique) continue;
    Rows12 turned;
    turned << -e.normal.rightCols<6>(), -e.normal.leftCols<6>();
    EXPECT_LT(apart(d.normal, turned), 1e-5 * (1.0 + d.normal.norm())) << pair.name;
  }
}

TEST(CollisionDerivatives, MovingBothByOneMotionMovesNothingElse) {
  std::mt19937 rng(11);
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    if (a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space) continue;
    const SE3 oM1(random_rotation(rng), random_vector(rng, 0.1));
    const SE3 oM2(random_rotation(rng), oM1.translation() + 1.2 * (a.radius + b.radius) * random_direction(rng));
    const Distance at = distance(a, oM1, b, oM2);
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, at);
    // A spatial motion V in the world is M⁻¹ V in each body's frame.
    const Motion V(random_vector(rng, 1.0), random_vector(rng, 1.0));
    Eigen::Matrix<double, 12, 1> both;
    both << oM1.actInv(V).toVector(), oM2.actInv(V).toVector();
    EXPECT_NEAR(d.distance * both, 0.0, 1e-9) << pair.name;
    EXPECT_LT((d.normal * both - V.angular().cross(at.normal)).norm(), 1e-8) << pair.name;
    if (!d.unique) continue;
    EXPECT_LT((d.point_1 * both - V.linear() - V.angular().cross(at.point_1)).norm(), 1e-8) << pair.name;
    EXPECT_LT((d.point_2 * both - V.linear() - V.angular().cross(at.point_2)).norm(), 1e-8) << pair.name;
  }
}

TEST(CollisionDerivatives, TheFrameTurnsAsItIsDrawn) {
  const coal::Ellipsoid egg(0.1, 0.2, 0.3), other(0.15, 0.1, 0.2);
  const Shape a = make_shape(egg, "a"), b = make_shape(other, "b");
  std::mt19937 rng(12);
  const double h = 1e-6;
  for (int trial = 0; trial < 20; ++trial) {
    const SE3 oM1(random_rotation(rng), Vector3d::Zero()), oM2(random_rotation(rng), 0.8 * random_direction(rng));
    const Distance at = distance(a, oM1, b, oM2);
    if (std::abs(at.normal.z()) < 0.05) continue;  // the seam of the frame
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, at);
    for (int c = 0; c < 6; ++c) {
      Eigen::Matrix<double, 6, 1> by = Eigen::Matrix<double, 6, 1>::Zero();
      by[c] = h;
      const Matrix3d plus = contact_frame(distance(a, moved(oM1, by), b, oM2).normal);
      const Matrix3d minus = contact_frame(distance(a, moved(oM1, -by), b, oM2).normal);
      const Vector3d turn = pinocchio::log3(Matrix3d(plus * minus.transpose())) / (2.0 * h);
      EXPECT_LT((Vector3d(d.frame.col(c)) - turn).norm(), 1e-6 * (1.0 + turn.norm()));
    }
  }
}

TEST(CollisionDistance, RefusesWhatHasNone) {
  const coal::Halfspace ground(Vector3d::UnitZ(), 0.0);
  const coal::Sphere ball(0.1);
  const Shape plane = make_shape(ground, "plane"), round = make_shape(ball, "ball");
  EXPECT_THROW(distance(plane, SE3::Identity(), plane, SE3::Identity()), std::invalid_argument);
  SE3 lost = SE3::Identity();
  lost.translation().x() = std::nan("");
  EXPECT_THROW(distance(round, lost, round, SE3::Identity()), std::invalid_argument);
  // Identical centres: some normal, finite derivatives.
  const Distance at = distance(round, SE3::Identity(), round, SE3::Identity());
  EXPECT_NEAR(at.distance, -0.2, 1e-9);
  EXPECT_TRUE(derivatives(round, SE3::Identity(), round, SE3::Identity(), at).normal.allFinite());
}

}  // namespace
}  // namespace taut::testing
