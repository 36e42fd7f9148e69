#include "taut/solvers/local_contact.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "problems.hpp"
#include "taut/math/cones.hpp"

namespace taut::testing {
namespace {

constexpr double kCertified = 1.1e-12;  // 1e-12 + 1e-14 μ, and μ is at most 10 here
constexpr SlidingSearch kSearches[] = {SlidingSearch::bisection, SlidingSearch::golden, SlidingSearch::quartic};

double uniform(double low, double high, std::mt19937& rng) {
  return std::uniform_real_distribution<double>(low, high)(rng);
}

// Condition numbers and μ over several decades; not all of them with an ellipse for a border.
LocalContact random_contact(std::mt19937& rng, int rank = 3) {
  const MatrixXd J = random_matrix(3, rank, rng);
  LocalContact contact;
  const VectorXd scale = VectorXd::NullaryExpr(rank, [&] { return std::pow(10.0, uniform(-3.0, 0.0, rng)); });
  contact.G = J * scale.asDiagonal() * J.transpose();
  contact.G = (0.5 * (contact.G + contact.G.transpose())).eval();
  contact.free = J * random_matrix(rank, 1, rng);
  contact.mu = std::pow(10.0, uniform(-2.0, 1.0, rng));
  return contact;
}

double lever(const LocalContact& contact) {  // |q|: below one the border is an ellipse
  return contact.mu * contact.G.block<2, 1>(0, 2).norm() / contact.G(2, 2);
}

double scale_of(const LocalContact& contact, const Vector3d& lambda) {
  return contact.G.trace() / 3.0 * lambda.lpNorm<Eigen::Infinity>() + contact.free.lpNorm<Eigen::Infinity>();
}

bool slides(const LocalContact& contact, const Vector3d& lambda) {
  return lambda[2] > 0.0 && (contact.G * lambda + contact.free).norm() > 1e-9 * scale_of(contact, lambda);
}

double energy(const LocalContact& contact, const Vector3d& lambda) {
  return lambda.dot(0.5 * (contact.G * lambda) + contact.free);
}

TEST(RaisimContact, TheThreeSearchesAgree) {
  std::mt19937 rng(11);
  int sliding = 0;
  for (int k = 0; k < 100'000; ++k) {
    const LocalContact contact = random_contact(rng);
    Vector3d answers[3] = {Vector3d::Zero(), Vector3d::Zero(), Vector3d::Zero()};
    for (int s = 0; s < 3; ++s) ASSERT_TRUE(solve_raisim_contact(contact, kSearches[s], 0.0, answers[s])) << k;
    if (!slides(contact, answers[2])) continue;
    ++sliding;
    ASSERT_LT((answers[0] - answers[2]).norm(), 1e-9 * answers[2].norm()) << k;
    ASSERT_LT((answers[1] - answers[2]).norm(), 1e-9 * answers[2].norm()) << k;
  }
  EXPECT_GT(sliding, 10'000);
}

TEST(RaisimContact, SlidingIsTheLeastOfTheBorder) {  // against brute force over the angle
  std::mt19937 rng(12);
  for (int k = 0; k < 300; ++k) {
    const LocalContact contact = random_contact(rng);
    Vector3d lambda = Vector3d::Zero();
    ASSERT_TRUE(solve_raisim_contact(contact, SlidingSearch::bisection, 0.0, lambda));
    if (!slides(contact, lambda)) continue;
    EXPECT_NEAR(lambda.head<2>().norm(), contact.mu * lambda[2], 1e-12 * lambda.norm());
    EXPECT_NEAR((contact.G * lambda + contact.free)[2], 0.0, 1e-12 * scale_of(contact, lambda));
    const double least = energy(contact, lambda), size = std::abs(least) + std::abs(lambda.dot(contact.free));
    for (int step = 0; step < 1000; ++step) {
      const double angle = 2e-3 * M_PI * step;
      const Vector3d generator(contact.mu * std::cos(angle), contact.mu * std::sin(angle), 1.0);
      const double pushed = contact.G.row(2).dot(generator);
      if (pushed <= 0.0) continue;  // not on the branch
      ASSERT_GE(energy(contact, -contact.free[2] / pushed * generator), least - 1e-10 * size) << k;
    }
  }
}

TEST(RaisimContact, SticksAndLeavesExactly) {
  std::mt19937 rng(13);
  int sticking = 0;
  for (int k = 0; k < 10'000; ++k) {
    const LocalContact contact = random_contact(rng);
    for (const SlidingSearch search : kSearches) {
      Vector3d lambda = Vector3d::Ones();
      solve_raisim_contact(contact, search, 0.0, lambda);
      if (contact.free[2] >= 0.0) {
        EXPECT_EQ(lambda, Vector3d::Zero());
      } else if (!slides(contact, lambda)) {
        ++sticking;
        EXPECT_LT(natural_map(contact, lambda), 1e-9 * scale_of(contact, lambda)) << k;
      }
    }
  }
  EXPECT_GT(sticking, 1'000);
}

TEST(ExactContact, IsCertifiedForEveryPositiveDefiniteBlock) {
  std::mt19937 rng(14);
  int sliding = 0, beyond_the_ellipse = 0;
  for (int k = 0; k < 100'000; ++k) {
    const LocalContact contact = random_contact(rng);
    Vector3d lambda = random_matrix(3, 1, rng);  // the answer may not depend on a good start
    ASSERT_TRUE(solve_exact_contact(contact, lambda)) << k;
    ASSERT_LE(natural_map(contact, lambda), kCertified * scale_of(contact, lambda)) << k;
    if (!slides(contact, lambda)) continue;
    ++sliding;
    beyond_the_ellipse += lever(contact) > 1.0;
    const Vector3d c = contact.G * lambda + contact.free;
    // Friction opposes sliding: what the natural map promises of the direction, said without it.
    ASSERT_LT(c.head<2>().dot(lambda.head<2>()) + c.head<2>().norm() * lambda.head<2>().norm(),
              1e-10 * scale_of(contact, lambda) * lambda.norm())
        << k;
  }
  EXPECT_GT(sliding, 10'000);
  EXPECT_GT(beyond_the_ellipse, 1'000);
}

TEST(ExactContact, LockedDirectionsAreAnsweredOrDeclined) {
  std::mt19937 rng(15);
  int declined[3] = {}, held[3] = {};
  for (int k = 0; k < 60'000; ++k) {
    const int rank = 1 + k % 2;
    const LocalContact contact = random_contact(rng, rank);
    Vector3d lambda = Vector3d::Zero();
    const double before = natural_map(contact, lambda);
    if (solve_exact_contact(contact, lambda)) {
      ++held[rank];
      ASSERT_LE(natural_map(contact, lambda), kCertified * scale_of(contact, lambda)) << k;
      continue;
    }
    ++declined[rank];
    ASSERT_TRUE(lambda.allFinite());
    ASSERT_LT((lambda - project_onto_cone(lambda, contact.mu)).norm(), 1e-12 * lambda.norm());
    ASSERT_GT(before, 0.0);
    // With one freedom j the velocity is a multiple of j, and a contact that cannot rise without sliding jams:
    // whatever a cone that contains no impulse along +j can do pushes it further in.
    ASSERT_GT(lever(contact), 1.0) << k;
  }
  EXPECT_GT(held[1], 10'000);
  EXPECT_GT(held[2], 10'000);
}

TEST(ExactContact, EqualsRaisimWhereNormalAndTangentAreNotCoupled) {
  std::mt19937 rng(16);
  for (int k = 0; k < 10'000; ++k) {
    LocalContact contact = random_contact(rng);
    contact.G.block<2, 1>(0, 2).setZero();
    contact.G.block<1, 2>(2, 0).setZero();
    Vector3d exact = Vector3d::Zero(), raisim = Vector3d::Zero();
    ASSERT_TRUE(solve_exact_contact(contact, exact));
    ASSERT_TRUE(solve_raisim_contact(contact, SlidingSearch::bisection, 0.0, raisim));
    ASSERT_LT((exact - raisim).norm(), 1e-9 * (1.0 + exact.norm())) << k;
  }
}

TEST(ExactContact, KeepsTheBranchItIsOn) {  // strong coupling and friction let a contact slide in several ways
  std::mt19937 rng(17);
  int several = 0;
  for (int k = 0; k < 20'000; ++k) {
    const LocalContact contact = random_contact(rng);
    Vector3d low = Vector3d::Zero(), high = 1e3 * Vector3d::UnitZ();
    ASSERT_TRUE(solve_exact_contact(contact, low));
    ASSERT_TRUE(solve_exact_contact(contact, high));
    if ((low - high).norm() <= 1e-6 * low.norm()) continue;
    ++several;
    for (const Vector3d& answer : {low, high}) {
      Vector3d again = answer;
      ASSERT_TRUE(solve_exact_contact(contact, again));
      EXPECT_LE((again - answer).norm(), 1e-9 * answer.norm()) << k;
    }
  }
  EXPECT_GT(several, 0);
}

TEST(LocalContact, WithoutFrictionOnlyTheNormalActs) {
  std::mt19937 rng(18);
  LocalContact contact = random_contact(rng);
  contact.mu = 0.0;
  contact.free[2] = -1.0;
  Vector3d exact = Vector3d::Ones(), raisim = Vector3d::Ones();
  EXPECT_TRUE(solve_exact_contact(contact, exact));
  EXPECT_TRUE(solve_raisim_contact(contact, SlidingSearch::golden, 0.0, raisim));
  EXPECT_EQ(exact, Vector3d(0.0, 0.0, 1.0 / contact.G(2, 2)));
  EXPECT_EQ(raisim, exact);
}

TEST(LocalContact, WhatNothingMovesIsLeftAlone) {
  const Vector3d present(0.1, 0.0, 1.0);
  for (const double fall : {-1.0, 0.0, 1.0}) {
    const LocalContact contact{Matrix3d::Zero(), {0.5, 0.0, fall}, 0.5};
    Vector3d exact = present, raisim = present;
    EXPECT_EQ(solve_exact_contact(contact, exact), fall >= 0.0);
    EXPECT_EQ(solve_raisim_contact(contact, SlidingSearch::bisection, 0.0, raisim), fall >= 0.0);
    EXPECT_EQ(exact, fall < 0.0 ? present : Vector3d::Zero());
    EXPECT_EQ(raisim, exact);
  }
}

TEST(LocalContact, NothingNotFiniteEndsInAnAnswer) {
  std::mt19937 rng(19);
  for (const double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (int entry = 0; entry < 13; ++entry) {
      LocalContact contact = random_contact(rng);
      contact.free[2] = -1.0;
      if (entry < 9) {
        contact.G(entry / 3, entry % 3) = contact.G(entry % 3, entry / 3) = poison;
      } else if (entry < 12) {
        contact.free[entry - 9] = entry == 11 ? -poison : poison;
      } else {
        contact.mu = poison;
      }
      for (const SlidingSearch search : kSearches) {
        Vector3d lambda = Vector3d::UnitZ();
        EXPECT_TRUE(!solve_raisim_contact(contact, search, 0.0, lambda) || lambda.allFinite()) << entry;
      }
      Vector3d lambda = Vector3d::UnitZ();
      EXPECT_TRUE(!solve_exact_contact(contact, lambda) || lambda.allFinite()) << entry;
    }
  }
}

}  // namespace
}  // namespace taut::testing
