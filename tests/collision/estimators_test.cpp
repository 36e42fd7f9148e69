// Smoothed derivatives of collision: what they converge to, what they do at corners, and that a seed decides them.
#include <gtest/gtest.h>

#include "couples.hpp"
#include "taut/collision/smoothing.hpp"

namespace taut::testing {
namespace {

using Method = CollisionMethod;

// Points on an ellipsoid in the directions of a Fibonacci spiral: a mesh that stands for it.
std::shared_ptr<coal::ConvexBase> fine_ellipsoid(const Vector3d& radii, int count) {
  std::vector<Vector3d> points;
  for (int i = 0; i < count; ++i) {
    const double z = 1.0 - (2.0 * i + 1.0) / count, angle = i * M_PI * (3.0 - std::sqrt(5.0));
    const double r = std::sqrt(1.0 - z * z);
    points.push_back(radii.cwiseProduct(Vector3d(r * std::cos(angle), r * std::sin(angle), z)));
  }
  auto mesh = hull(points);
  mesh->computeLocalAABB();
  return mesh;
}

TEST(GumbelEstimator, FindsTheCurvatureAMeshHasForgotten) {
  // Blurred over many of its facets, a mesh of an ellipsoid is curved as the ellipsoid is.
  const Vector3d radii(0.1, 0.15, 0.2);
  const auto mesh = fine_ellipsoid(radii, 4000);
  const coal::Ellipsoid smooth(radii);
  const Shape a = make_shape(*mesh, "mesh"), b = make_shape(smooth, "ellipsoid");
  std::mt19937 rng(31);
  for (int trial = 0; trial < 20; ++trial) {
    const Vector3d d = random_direction(rng);
    int vertex = 0;
    const Matrix3d blurred = gumbel_curvature(a, d, 8, 1e-3, vertex);
    int none = 0;
    const Matrix3d known = feature_along(b, d, Vector3d::Zero(), none).curvature;
    EXPECT_LT((blurred - known).norm(), 0.1 * known.norm());
  }
}

TEST(GaussianEstimator, ConvergesToTheCurvatureOfAnEllipsoid) {
  const coal::Ellipsoid smooth(0.1, 0.15, 0.2);
  const Shape shape = make_shape(smooth, "ellipsoid");
  std::mt19937 rng(32);
  NormalNumbers normal(1);
  for (int trial = 0; trial < 5; ++trial) {
    const Vector3d d = random_direction(rng);
    int vertex = 0;
    const Matrix3d estimate = gaussian_curvature(shape, d, 20000, 1e-2, normal, vertex);
    const Matrix3d known = feature_along(shape, d, Vector3d::Zero(), vertex).curvature;
    EXPECT_LT((estimate - known).norm(), 0.03 * known.norm());  // three deviations of so many samples
  }
}

TEST(Estimators, OfSmoothShapesAreExact) {
  const coal::Ellipsoid egg(0.1, 0.2, 0.3);
  const coal::Sphere ball(0.1);
  const Shape a = make_shape(egg, "a"), b = make_shape(ball, "b");
  std::mt19937 rng(33);
  const SE3 oM1(random_rotation(rng), Vector3d::Zero()), oM2 = at(0.5, 0.1, 0.2);
  const Distance found = distance(a, oM1, b, oM2);
  const DistanceDerivatives exact = derivatives(a, oM1, b, oM2, found, {.method = Method::exact});
  for (const Method method : {Method::automatic, Method::gumbel, Method::gaussian}) {
    const DistanceDerivatives d = derivatives(a, oM1, b, oM2, found, {.method = method});
    EXPECT_EQ(d.normal, exact.normal);
    EXPECT_EQ(d.point_1, exact.point_1);
  }
}

TEST(Estimators, ZerothOrderConvergesToTheExactDerivative) {
  const coal::Ellipsoid egg(0.1, 0.2, 0.3);
  const coal::Sphere ball(0.1);
  const Shape a = make_shape(egg, "a"), b = make_shape(ball, "b");
  std::mt19937 rng(34);
  const SE3 oM1(random_rotation(rng), Vector3d::Zero()), oM2 = at(0.5, 0.1, 0.2);
  const Distance found = distance(a, oM1, b, oM2);
  const DistanceDerivatives exact = derivatives(a, oM1, b, oM2, found, {.method = Method::exact});
  const DistanceDerivatives random = derivatives(
      a, oM1, b, oM2, found, {.method = Method::gaussian_0, .samples = 20000, .temperature = 1e-3, .seed = 3});
  EXPECT_EQ(random.method, Method::gaussian_0);
  EXPECT_LT((random.point_1 - exact.point_1).norm(), 0.05 * exact.point_1.norm());
  EXPECT_LT((random.normal - exact.normal).norm(), 0.05 * exact.normal.norm());
  EXPECT_LT((random.distance - exact.distance).norm(), 0.05 * exact.distance.norm());
  const DistanceDerivatives central =
      derivatives(a, oM1, b, oM2, found, {.method = Method::finite_differences, .step = 1e-6});
  EXPECT_LT((central.point_2 - exact.point_2).norm(), 1e-6);
  EXPECT_LT((central.frame - exact.frame).norm(), 1e-5);
}

TEST(Estimators, ASeedDecides) {
  std::mt19937 rng(35);
  for (const Two& pair : couples()) {
    if (pair.name != "mesh and cylinder" && pair.name != "box and mesh") continue;
    const Shape a = pair.one(), b = pair.two();
    const auto [oM1, oM2] = random_poses(a, b, rng);
    const Distance found = distance(a, oM1, b, oM2);
    for (const Method method : {Method::gaussian, Method::gaussian_0}) {
      const auto with = [&](std::uint64_t seed) {
        return derivatives(a, oM1, b, oM2, found, {.method = method, .temperature = 0.5, .seed = seed}).point_1;
      };
      EXPECT_EQ(with(1), with(1));
      EXPECT_NE(with(1), with(2)) << pair.name << " " << name_of(method);
    }
  }
}

TEST(Estimators, AreFiniteAtEveryCornerAndSymmetric) {
  // Shapes put on each other corner on corner, edge on edge and face on face, touching and overlapping: nothing blows
  // up, swapping the shapes swaps the answer, and moving both moves it along.
  std::mt19937 rng(36);
  for (const Two& pair : couples()) {
    const Shape a = pair.one(), b = pair.two();
    if (a.kind == Shape::Kind::half_space || b.kind == Shape::Kind::half_space) continue;
    for (const Vector3d& way : {Vector3d(0, 0, 1), Vector3d(0, 1, 1), Vector3d(1, 1, 1)}) {
      for (const double depth : {1e-3, 0.0, -1e-3}) {
        const SE3 oM1 = SE3::Identity();
        SE3 oM2 = SE3::Identity();
        const Vector3d d = way.normalized();
        oM2.translation() = (support_height(a, d) + support_height(b, -d) + depth) * d;
        const Distance found = distance(a, oM1, b, oM2);
        for (const Method method : {Method::exact, Method::gumbel, Method::gaussian, Method::gaussian_0}) {
          const DistanceDerivatives one = derivatives(a, oM1, b, oM2, found, {.method = method});
          EXPECT_TRUE(one.normal.allFinite() && one.point_1.allFinite() && one.point_2.allFinite()) << pair.name;
          if (method != Method::gumbel) continue;
          Distance turned = found;
          turned.normal = -found.normal;
          std::swap(turned.point_1, turned.point_2);
          std::swap(turned.vertex_1, turned.vertex_2);
          const DistanceDerivatives other = derivatives(b, oM2, a, oM1, turned, {.method = method});
          DistanceDerivatives::Rows swapped;
          swapped << other.point_2.rightCols<6>(), other.point_2.leftCols<6>();
          EXPECT_LT((one.point_1 - swapped).norm(), 1e-9 * (1.0 + swapped.norm())) << pair.name;
          const Motion V(random_vector(rng, 1.0), random_vector(rng, 1.0));
          Eigen::Matrix<double, 12, 1> both;
          both << oM1.actInv(V).toVector(), oM2.actInv(V).toVector();
          EXPECT_NEAR(one.distance * both, 0.0, 1e-9) << pair.name;
          EXPECT_LT((one.normal * both - V.angular().cross(found.normal)).norm(), 1e-6 * (1.0 + one.normal.norm()))
              << pair.name;
        }
      }
    }
  }
}

TEST(Estimators, RefuseWhatMakesNoSense) {
  EXPECT_THROW(validate(CollisionDerivativeOptions{.samples = 0}), std::invalid_argument);
  EXPECT_THROW(validate(CollisionDerivativeOptions{.depth = 0}), std::invalid_argument);
  EXPECT_THROW(validate(CollisionDerivativeOptions{.temperature = 0.0}), std::invalid_argument);
  EXPECT_THROW(validate(CollisionDerivativeOptions{.step = -1.0}), std::invalid_argument);
  EXPECT_THROW(collision_method("newton"), std::invalid_argument);
}

}  // namespace
}  // namespace taut::testing
