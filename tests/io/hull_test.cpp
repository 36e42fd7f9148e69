#include <gtest/gtest.h>

#include <Eigen/Geometry>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "../../src/io/hull.hpp"
#include "io/temp_folder.hpp"

namespace taut {
namespace {

using Eigen::Vector3d;
using Points = std::vector<Vector3d>;

double volume(const coal::Convex<coal::Triangle>& hull) {
  double sum = 0.0;
  for (const auto& face : *hull.polygons) {
    const auto& p = *hull.points;
    sum += p[face[0]].dot(p[face[1]].cross(p[face[2]])) / 6.0;
  }
  return sum;
}

// Closed: every edge is walked once each way. Convex: no point is above a face by more than rounding.
void expect_hull(const Points& points, const io::Hull& hull, double slack) {
  std::map<std::pair<std::size_t, std::size_t>, int> edges;
  const auto& corners = *hull.shape->points;
  for (const auto& face : *hull.shape->polygons) {
    for (int k = 0; k < 3; ++k) ++edges[{face[k], face[(k + 1) % 3]}];
    const Vector3d a = corners[face[0]];
    const Vector3d normal = (corners[face[1]] - a).cross(corners[face[2]] - a);
    if (normal.norm() < 1e-9) continue;  // a sliver between points that differ by their last digits
    for (const Vector3d& p : points) ASSERT_LE(normal.normalized().dot(p - a), slack);
  }
  for (const auto& [edge, count] : edges) {
    ASSERT_EQ(count, 1);
    ASSERT_TRUE(edges.contains({edge.second, edge.first}));
  }
  EXPECT_EQ(corners.size() - edges.size() / 2 + hull.shape->polygons->size(), 2u);  // Euler
}

TEST(ConvexHull, OfACubeIsTheCube) {
  Points points;
  for (int i = 0; i < 1000; ++i) points.emplace_back(i / 100, i / 10 % 10, i % 10);  // a full grid, mostly coplanar
  const io::Hull hull = io::convex_hull(points);
  EXPECT_EQ(hull.shape->points->size(), 8u);
  EXPECT_EQ(hull.shape->polygons->size(), 12u);
  EXPECT_NEAR(volume(*hull.shape), 729.0, 1e-9);
  expect_hull(points, hull, 1e-10);
}

TEST(ConvexHull, HoldsRandomPointsOfEverySort) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 200; ++trial) {
    Points points;
    const int count = 4 + trial * 3;
    const double flatness = std::pow(10.0, -(trial % 7));
    for (int i = 0; i < count; ++i) {
      Vector3d p(normal(random), normal(random), flatness * normal(random));
      if (trial % 3 == 1) p.normalize();                                 // all are corners
      if (trial % 3 == 2) p = (4.0 * p).array().round().matrix() / 4.0;  // many coplanar and many twice
      points.push_back(p);
    }
    if (trial % 5 == 0) points.insert(points.end(), points.begin(), points.begin() + count / 2);
    try {
      expect_hull(points, io::convex_hull(points), 1e-3 * flatness);
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("line"), std::string::npos) << error.what();
    }
  }
}

TEST(ConvexHull, OfWhatIsFlatIsAThinPlate) {
  const Eigen::AngleAxisd turn(0.7, Vector3d(1, 2, 3).normalized());
  Points points;
  for (const Vector3d& p : {Vector3d(0, 0, 0), Vector3d(2, 0, 0), Vector3d(2, 1, 0), Vector3d(0, 1, 0)}) {
    points.push_back(turn * p);
  }
  const io::Hull hull = io::convex_hull(points);
  EXPECT_TRUE(hull.plate);
  Vector3d low = points[0], high = low;
  for (const Vector3d& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  EXPECT_NEAR(volume(*hull.shape), 2.0 * io::kPlate * (high - low).maxCoeff(), 1e-12);
  EXPECT_EQ(hull.shape->points->size(), 8u);
}

TEST(ConvexHull, OfAFineConeLeavesCornersOutForCoal) {
  Points points{{0, 0, 1}};
  constexpr int n = 1000;
  for (int i = 0; i < n; ++i) points.emplace_back(std::cos(2 * EIGEN_PI * i / n), std::sin(2 * EIGEN_PI * i / n), 0);
  const io::Hull hull = io::convex_hull(points);
  EXPECT_GT(hull.left_out, 0u);
  EXPECT_NEAR(volume(*hull.shape), EIGEN_PI / 3.0, 1e-3);  // a polygon of at least 125 sides for the circle
  for (const auto& neighbors : *hull.shape->neighbors) EXPECT_GT(neighbors.count(), 2);
}

TEST(ConvexHull, RefusesWhatHasNoneByName) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto what = [](const Points& points) {
    return test::message_of<std::invalid_argument>([&] { io::convex_hull(points); });
  };
  EXPECT_NE(what({{0, 0, 0}, {1, 0, 0}}).find("at least 3"), std::string::npos);
  EXPECT_NE(what({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, infinity}}).find("not finite"), std::string::npos);
  EXPECT_NE(what({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1e308}}).find("farther"), std::string::npos);
  EXPECT_NE(what({{0, 0, 0}, {1, 1, 1}, {3, 3, 3}, {2, 2, 2}}).find("line"), std::string::npos);
  EXPECT_NE(what({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}).find("one point"), std::string::npos);
}

}  // namespace
}  // namespace taut
