#include <coal/hfield.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <random>

#include "couples.hpp"
#include "taut/collision/patch.hpp"

namespace taut::testing {
namespace {

std::shared_ptr<coal::HeightField<coal::OBBRSS>> random_field(std::mt19937& rng, double bottom) {
  std::uniform_real_distribution<double> height(0.0, 0.3);
  Eigen::MatrixXd heights(2 + rng() % 7, 2 + rng() % 7);
  for (double& h : heights.reshaped()) h = height(rng);
  auto field = std::make_shared<coal::HeightField<coal::OBBRSS>>(4.0, 4.0, heights, bottom);
  field->computeLocalAABB();
  return field;
}

Geometry random_shape(std::mt19937& rng) {
  std::uniform_real_distribution<double> exponent(-2.0, 0.3);
  const auto size = [&] { return std::pow(10.0, exponent(rng)); };
  switch (rng() % 6) {
    case 0:
      return std::make_shared<coal::Sphere>(size());
    case 1:
      return std::make_shared<coal::Capsule>(size(), size());
    case 2:
      return std::make_shared<coal::Cylinder>(size(), size());
    case 3:
      return std::make_shared<coal::Cone>(size(), size());
    case 4:
      return std::make_shared<coal::Box>(size(), size(), size());
    default:
      return std::make_shared<coal::Ellipsoid>(size(), size(), size());
  }
}

// The height of the field's surface, cell by cell; nothing beyond its walls.
double surface(const coal::HeightField<coal::OBBRSS>& field, double x, double y) {
  const auto &xs = field.getXGrid(), &ys = field.getYGrid();
  for (Eigen::Index j = 0; j + 1 < ys.size(); ++j) {
    for (Eigen::Index i = 0; i + 1 < xs.size(); ++i) {
      const double u = (x - xs[i]) / (xs[i + 1] - xs[i]), v = (ys[j] - y) / (ys[j] - ys[j + 1]);
      if (u < 0 || u > 1 || v < 0 || v > 1) continue;
      const Eigen::Matrix2d h = field.getHeights().block<2, 2>(j, i);
      return u + v <= 1 ? h(0, 0) + u * (h(0, 1) - h(0, 0)) + v * (h(1, 0) - h(0, 0))
                        : h(1, 1) + (1 - u) * (h(1, 0) - h(1, 1)) + (1 - v) * (h(0, 1) - h(1, 1));
    }
  }
  return -HUGE_VAL;
}

TEST(HeightField, WhatReachesIntoItTouches) {
  // However deep, wherever: a shape with a point inside the field has a contact, and the deepest is a plane's that
  // separates shape and cell by the gap it says.
  std::mt19937 rng(33);
  std::normal_distribution<double> normal;
  int inside = 0;
  for (int k = 0; k < 4000; ++k) {
    const double bottom = k % 2 ? -1.0 : 0.0;
    const auto field = random_field(rng, bottom);
    const Geometry geometry = random_shape(rng);
    const Shape shape = make_shape(*geometry, "shape");
    const SE3 stand(random_rotation(rng), random_vector(rng, 1.0));
    const SE3 local(random_rotation(rng), Vector3d(normal(rng), normal(rng), (k % 3 ? 0.3 : 1.0) * normal(rng)));
    const SE3 place = stand * local;
    Couple couple(geometry, field);
    const auto& contacts = couple.detect(place, stand, 1e-3);
    bool reaches = false;
    for (int i = 0; i < 30 && !reaches; ++i) {
      const Vector3d x = local.act(Vector3d(0.999 * support(shape, random_direction(rng))));
      reaches = x.z() > bottom && x.z() < surface(*field, x.x(), x.y());
    }
    ASSERT_TRUE(!reaches || !contacts.empty()) << k;
    inside += reaches;
    for (const Contact& contact : contacts) {
      const Vector3d n = contact.frame.col(2), on_field = contact.point - 0.5 * contact.gap * n;
      EXPECT_LE(contact.gap, 1e-3);
      const Vector3d lowest = place.act(support(shape, place.rotation().transpose() * -n));
      const double separated = n.dot(lowest - on_field);
      EXPECT_GE(contact.gap, separated - 1e-9) << k;  // on level cells a box has a gap at every corner
      if (contact.gap == couple.deepest()) {
        EXPECT_NEAR(contact.gap, separated, 1e-9) << k;
      }
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(HeightField, TheDeepestOfManyCellsIsKept) {
  // A slab over 400 cells, one of which has a peak: far more touch than a patch holds.
  for (const auto& [row, column] : {std::pair(1, 1), std::pair(10, 10), std::pair(18, 3), std::pair(19, 19)}) {
    Eigen::MatrixXd heights = Eigen::MatrixXd::Constant(21, 21, 0.1);
    for (Eigen::Index j = 0; j < 21; ++j) {
      for (Eigen::Index i = 0; i < 21; ++i) heights(j, i) += 1e-4 * static_cast<double>((7 * i + 3 * j) % 5);
    }
    heights(row, column) = 0.12;
    const auto field = std::make_shared<coal::HeightField<coal::OBBRSS>>(2.0, 2.0, heights, -1.0);
    field->computeLocalAABB();
    Couple couple(std::make_shared<coal::Ellipsoid>(40.0, 40.0, 0.05), field, 0);
    const double x = field->getXGrid()[column], y = field->getYGrid()[row];
    const auto& contacts = couple.detect(SE3(Matrix3d::Identity(), Vector3d(x, y, 0.15)), SE3::Identity(), 1e-3);
    ASSERT_FALSE(contacts.empty());
    EXPECT_LT(couple.deepest(), -0.015);
  }
}

}  // namespace
}  // namespace taut::testing
