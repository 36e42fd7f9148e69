#include "taut/math/quartic.hpp"

#include <gtest/gtest.h>

#include <random>

namespace taut {
namespace {

Quartic with_roots(const std::array<double, 4>& x) {
  Quartic f{1.0, 0.0, 0.0, 0.0, 0.0};
  for (const double root : x) {
    for (std::size_t d = 4; d > 0; --d) f[d] = f[d - 1] - root * f[d];
    f[0] *= -root;
  }
  return f;
}

double distance(const QuarticRoots& roots, double x) {
  double nearest = 1e300;
  for (const double root : roots) nearest = std::min(nearest, std::abs(root - x));
  return nearest;
}

TEST(Quartic, FindsEveryRootInTheInterval) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> uniform(-2.0, 2.0);
  for (int k = 0; k < 20'000; ++k) {
    const std::array<double, 4> x{uniform(rng), uniform(rng), uniform(rng), uniform(rng)};
    const QuarticRoots roots = quartic_roots(with_roots(x));
    for (std::size_t i = 0; i < 4; ++i) {
      double apart = 1.0;  // rounding of the coefficients moves a root by ε over the distances to the others
      for (std::size_t j = 0; j < 4; ++j) apart *= i == j ? 1.0 : std::abs(x[i] - x[j]);
      if (std::abs(x[i]) > 1.0 - 1e-6 || apart < 1e-6) continue;
      ASSERT_LT(distance(roots, x[i]), 1e-13 / apart) << k;
    }
  }
}

TEST(Quartic, GivesDoubleRootsToo) {
  EXPECT_LT(distance(quartic_roots(with_roots({0.3, 0.3, 1.7, -3.0})), 0.3), 1e-7);
  EXPECT_LT(distance(quartic_roots(with_roots({-0.6, -0.6, 0.2, 0.2})), 0.2), 1e-7);
}

TEST(Quartic, SmallerDegreesAndNothing) {
  EXPECT_LT(distance(quartic_roots({-0.25, 0.0, 1.0, 0.0, 0.0}), 0.5), 1e-15);
  EXPECT_LT(distance(quartic_roots({-0.25, 1.0, 0.0, 0.0, 0.0}), 0.25), 1e-15);
  const QuarticRoots none = quartic_roots({1.0, 0.0, 0.0, 0.0, 1.0});
  EXPECT_EQ(none.begin(), none.end());
}

}  // namespace
}  // namespace taut
