// The LCP model: friction within a polygon. Its judge, and the three methods that solve it.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "problems.hpp"
#include "taut/solvers/lcp_pgs.hpp"
#include "taut/solvers/lcp_pivot.hpp"
#include "taut/solvers/lcp_staggered.hpp"

namespace taut::testing {
namespace {

using Eigen::Vector2d;
using std::numbers::pi;

constexpr double kTolerance = 1e-10;

struct Method {
  const char* name;
  SolveReport (*solve)(const Problem&, double tolerance, int sides, int limit, VectorRef lambda, VectorRef velocity);
};

const Method kPgs{"pgs", [](const Problem& problem, double tolerance, int sides, int limit, VectorRef x, VectorRef c) {
                    SweepOptions options{.tolerance = tolerance};
                    if (limit > 0) options.max_sweeps = limit;
                    SweepWorkspace workspace;
                    return LcpPgs(options, sides).solve(problem, workspace, x, c);
                  }};
const Method kPivot{"pivot",
                    [](const Problem& problem, double tolerance, int sides, int limit, VectorRef x, VectorRef c) {
                      LcpPivotWorkspace workspace;
                      const LcpPivot method({.tolerance = tolerance, .sides = sides, .max_pivots = limit});
                      return method.solve(problem, workspace, x, c);
                    }};
const Method kStaggered{"staggered",
                        [](const Problem& problem, double tolerance, int sides, int limit, VectorRef x, VectorRef c) {
                          LcpStaggeredOptions options{.tolerance = tolerance, .sides = sides};
                          if (limit > 0) options.max_iterations = limit;
                          LcpStaggeredWorkspace workspace;
                          return LcpStaggered(options).solve(problem, workspace, x, c);
                        }};
const Method kLcpMethods[] = {kPgs, kPivot, kStaggered};

Solution solve(const Method& method, const OwnedProblem& problem, double tolerance, int sides = 4, int limit = 0) {
  Solution s{VectorXd::Zero(problem.g.size()), VectorXd::Zero(problem.g.size()), {}};
  s.report = method.solve(problem.view(), tolerance, sides, limit, s.lambda, s.velocity);
  return s;
}

Residuals judge(const OwnedProblem& problem, int sides, const VectorXd& lambda) {
  VectorXd velocity(problem.g.size());
  return lcp_residuals(problem.view(), Pyramid(sides), lambda, velocity);
}

Vector2d direction(double angle) { return {std::cos(angle), std::sin(angle)}; }

/// A point of 2 kg that slides at `speed` along `angle` and falls for 10 ms.
OwnedProblem sliding_point(double speed, double angle, double mu) {
  const Vector2d v = speed * direction(angle);
  return one_contact(Matrix3d::Identity() / 2.0, {v[0], v[1], -9.81e-2}, mu);
}

/// Contacts, a limit, joint friction and a bilateral block, all coupled.
OwnedProblem mixed(std::mt19937& rng) {
  OwnedProblem p{random_spd(10, rng), random_matrix(10, 1, rng), VectorXd::Constant(10, 0.1), {}};
  p.blocks = {{SetKind::free, 0, 2},
              {SetKind::cone, 2, 3, 0.5},
              {SetKind::positive, 5, 1},
              {SetKind::interval, 6, 1, 0.0, 0.2},
              {SetKind::cone, 7, 3, 0.3}};
  return p;
}

OwnedProblem random_contacts(int contacts, double mu, std::mt19937& rng) {
  const int rows = 3 * contacts;
  OwnedProblem p{random_spd(rows, rng), random_matrix(rows, 1, rng), VectorXd::Zero(rows), {}};
  for (int i = 0; i < contacts; ++i) p.blocks.push_back({SetKind::cone, 3 * i, 3, mu});
  return p;
}

TEST(Pyramid, RefusesFewerThanThreeSides) { EXPECT_THROW(Pyramid(2), std::invalid_argument); }

TEST(Pyramid, VerticesOfFourSidesAreTheAxesExactly) {
  const Pyramid pyramid(4);
  EXPECT_EQ(pyramid.vertex(0), Vector2d(1, 0));
  EXPECT_EQ(pyramid.vertex(1), Vector2d(0, 1));
  EXPECT_EQ(pyramid.vertex(2), Vector2d(-1, 0));
  EXPECT_EQ(pyramid.vertex(3), Vector2d(0, -1));
}

TEST(Pyramid, NearestPointOfThePolygonLeavesAnObtuseAngle) {  // the variational inequality says it is the nearest
  std::mt19937 rng(71);
  for (const int sides : {3, 4, 5, 8, 17}) {
    const Pyramid pyramid(sides);
    for (int k = 0; k < 200; ++k) {
      const Vector2d x = random_matrix(2, 1, rng);
      const double radius = k % 10 == 0 ? 0.0 : 0.7;
      const Vector2d p = pyramid.project_onto_polygon(x, radius);
      for (int i = 0; i < sides; ++i) {
        EXPECT_LE((x - p).dot(radius * pyramid.vertex(i) - p), 1e-14) << sides;
        const Vector2d facet = pyramid.vertex(i) + pyramid.vertex((i + 1) % sides);  // normal of an edge
        EXPECT_LE(facet.dot(p), facet.dot(pyramid.vertex(i)) * radius + 1e-14) << sides;
      }
    }
  }
}

TEST(Pyramid, NearestPointOfTheConeObeysMoreau) {  // p in K̃, x − p in its polar, the two orthogonal
  std::mt19937 rng(72);
  for (const int sides : {3, 4, 5, 8, 17}) {
    const Pyramid pyramid(sides);
    for (const double mu : {0.0, 0.3, 1.0, 4.0}) {
      for (int k = 0; k < 200; ++k) {
        Vector3d x = random_matrix(3, 1, rng);
        if (k % 20 == 0) x.head<2>().setZero();
        const Vector3d p = pyramid.project_onto_cone(x, mu);
        EXPECT_NEAR((x - p).dot(p), 0.0, 1e-13);
        EXPECT_GE(p[2], 0.0);
        for (int i = 0; i < sides; ++i) {
          const Vector2d d = pyramid.vertex(i), facet = d + pyramid.vertex((i + 1) % sides);
          EXPECT_LE((x - p).dot(Vector3d(mu * d[0], mu * d[1], 1.0)), 1e-13) << sides << " sides, mu " << mu;
          EXPECT_LE(facet.dot(p.head<2>()), mu * p[2] * facet.dot(d) + 1e-13) << sides << " sides, mu " << mu;
        }
      }
    }
  }
}

TEST(LcpResiduals, TendToThoseOfTheExactLaw) {
  std::mt19937 rng(73);
  const OwnedProblem p = random_contacts(4, 0.5, rng);
  VectorXd velocity(12);
  for (int k = 0; k < 50; ++k) {
    const VectorXd lambda = random_matrix(12, 1, rng);
    const Residuals exact = residuals(p.view(), lambda, velocity);
    const Residuals coarse = judge(p, 4, lambda), fine = judge(p, 4096, lambda);
    // Distances are off by 1 − cos(π/4096) = 3e-7 of numbers of the order of ten; nearest points, which the natural map
    // compares, turn by up to π/4096.
    EXPECT_NEAR(fine.natural, exact.natural, 10 * pi / 4096);
    EXPECT_NEAR(fine.dual, exact.dual, 1e-5);
    EXPECT_NEAR(fine.primal, exact.primal, 1e-5);
    EXPECT_NEAR(fine.complementarity, exact.complementarity, 1e-5);
    EXPECT_GE(coarse.primal, exact.primal - 1e-12);  // the pyramid lies in the cone
  }
}

TEST(Lemke, SolvesACopositiveProblemAndSeesARay) {
  Lemke lemke;
  lemke.resize(2);
  std::copy_n(std::begin({2.0, 1.0}), 2, lemke.column(0));
  std::copy_n(std::begin({1.0, 2.0}), 2, lemke.column(1));
  lemke.q(0) = -5.0;
  lemke.q(1) = -6.0;
  ASSERT_EQ(lemke.run(10), Lemke::End::solution);
  EXPECT_NEAR(lemke.z(0), 4.0 / 3.0, 1e-14);
  EXPECT_NEAR(lemke.z(1), 7.0 / 3.0, 1e-14);

  lemke.resize(1);
  lemke.column(0)[0] = 0.0;  // w = −1 for every z
  lemke.q(0) = -1.0;
  EXPECT_EQ(lemke.run(10), Lemke::End::ray);
}

TEST(Lemke, EndsWhereEveryRatioTies) {  // without the tie break degenerate problems of this kind cycle
  constexpr int n = 12;
  Lemke lemke;
  lemke.resize(n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) lemke.column(j)[i] = 1.0;  // rank one
    lemke.q(j) = -1.0;
  }
  ASSERT_EQ(lemke.run(1000), Lemke::End::solution);
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += lemke.z(i);
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

class Lcp : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, Lcp, ::testing::ValuesIn(kLcpMethods),
                         [](const auto& method) { return std::string(method.param.name); });

TEST_P(Lcp, SlowPointSticks) {
  const double reach = 0.4 * 9.81e-2;
  for (const int sides : {3, 4, 8}) {
    // Within the polygon in every direction: its inner radius is cos(π/s) of Coulomb's.
    const double speed = 0.99 * reach * std::cos(pi / sides);
    for (const double angle : {0.0, 0.7, 2.0, -1.3}) {
      const Solution s = solve(GetParam(), sliding_point(speed, angle, 0.4), kTolerance, sides);
      EXPECT_EQ(s.report.status, Status::converged);
      EXPECT_LT(s.velocity.norm(), 2 * kTolerance);
    }
  }
}

TEST_P(Lcp, PointSlidingAlongAVertexBrakesAtMuG) {
  for (const int sides : {3, 4, 5, 8}) {
    for (int k = 0; k < sides; ++k) {
      // Friction opposes: the velocity is the opposite of a vertex, which for an odd number of sides is no vertex.
      const double angle = 2 * pi * k / sides + pi;
      const Solution s = solve(GetParam(), sliding_point(1.0, angle, 0.4), kTolerance, sides);
      EXPECT_EQ(s.report.status, Status::converged);
      const Vector2d left = (1.0 - 0.4 * 9.81e-2) * direction(angle);
      EXPECT_LT((s.velocity.head<2>() - left).norm(), 4 * kTolerance) << sides;
      EXPECT_NEAR(s.velocity[2], 0.0, 2 * kTolerance);
    }
  }
}

TEST_P(Lcp, PointSlidingElsewhereIsPushedAlongTheNearestVertex) {  // braked by cos δ and led astray by sin δ
  const double change = 0.4 * 9.81e-2;
  for (const int sides : {4, 6, 8}) {
    for (const double share : {-0.8, -0.3, 0.5}) {
      const double off = share * pi / sides;
      const Solution s = solve(GetParam(), sliding_point(1.0, off, 0.4), kTolerance, sides);
      EXPECT_EQ(s.report.status, Status::converged);
      const Vector2d lost = direction(off) - s.velocity.head<2>();
      EXPECT_NEAR(lost.dot(direction(off)), change * std::cos(off), 4 * kTolerance) << sides;
      EXPECT_NEAR(std::abs(lost.dot(direction(off + pi / 2))), change * std::abs(std::sin(off)), 4 * kTolerance);
    }
  }
}

TEST_P(Lcp, FrictionBetweenTwoVerticesIsWeakByTheCosineOfHalfASector) {
  const double change = 0.4 * 9.81e-2;
  double error = 1.0;
  for (const int sides : {4, 8, 16, 32, 64}) {
    const double angle = pi / sides;
    const Solution s = solve(GetParam(), sliding_point(1.0, angle, 0.4), kTolerance, sides);
    EXPECT_EQ(s.report.status, Status::converged);
    const double lost = 1.0 - s.velocity.head<2>().dot(direction(angle));
    EXPECT_NEAR(lost, change * std::cos(angle), 4 * kTolerance) << sides;
    EXPECT_LT(change - lost, 0.3 * error);  // it shrinks with the square of their number
    error = change - lost;
  }
}

TEST_P(Lcp, LeavingPointIsLetGo) {
  const OwnedProblem problem = one_contact(Matrix3d::Identity(), {0.3, -0.2, 0.1}, 0.5);
  const Solution s = solve(GetParam(), problem, kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.report.iterations, 0);
  EXPECT_EQ(s.lambda, VectorXd::Zero(3));
}

TEST_P(Lcp, WithoutFrictionOnlyTheNormalActs) {
  const Solution s = solve(GetParam(), one_contact(2.0 * Matrix3d::Identity(), {1.0, 1.0, -1.0}, 0.0), kTolerance);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_EQ(s.lambda.head<2>().norm(), 0.0);
  EXPECT_NEAR(s.lambda[2], 0.5, kTolerance);
}

TEST_P(Lcp, JointFrictionHoldsUpToItsBoundAndNoFurther) {
  for (const double share : {-2.0, -1.0, -0.5, 0.0, 0.999, 1.0, 3.0}) {
    const OwnedProblem p{MatrixXd::Constant(1, 1, 2.0),
                         VectorXd::Constant(1, 0.6 * share),
                         VectorXd::Zero(1),
                         {{SetKind::interval, 0, 1, 0.0, 0.3}}};
    const Solution s = solve(GetParam(), p, kTolerance);
    EXPECT_EQ(s.report.status, Status::converged) << share;
    EXPECT_NEAR(s.velocity[0], std::copysign(0.6 * std::max(0.0, std::abs(share) - 1.0), share), 2 * kTolerance);
  }
}

TEST_P(Lcp, RedundantBilateralRowsStop) {
  std::mt19937 rng(74);
  const MatrixXd J = random_matrix(6, 4, rng);  // six rows on four freedoms
  const OwnedProblem p{J * J.transpose(), J * random_matrix(4, 1, rng), VectorXd::Zero(6), {{SetKind::free, 0, 6}}};
  const Solution s = solve(GetParam(), p, 1e-9);
  EXPECT_EQ(s.report.status, Status::converged);
  EXPECT_LT(s.velocity.norm(), 6e-9);
}

TEST_P(Lcp, ABlockThatMovesNothingDisturbsNobody) {
  std::mt19937 rng(75);
  OwnedProblem p = random_contacts(3, 0.5, rng);
  OwnedProblem alone = p;
  alone.G = p.G.topLeftCorner(6, 6).eval();
  alone.g = p.g.head(6).eval();
  alone.R = p.R.head(6).eval();
  alone.blocks.pop_back();
  p.G.bottomRows(3).setZero();
  p.G.rightCols(3).setZero();
  for (const double gap : {0.3, -0.3}) {  // closing, it asks for what no impulse can give
    p.g[8] = gap;
    const Solution s = solve(GetParam(), p, 1e-9), expected = solve(GetParam(), alone, 1e-9);
    EXPECT_EQ(s.report.status == Status::converged, gap > 0.0);
    EXPECT_TRUE(s.lambda.allFinite());
    if (gap > 0.0) {
      EXPECT_LT((s.velocity.head(6) - expected.velocity).norm(), 1e-7);
    }
  }
}

TEST_P(Lcp, ExactLawIsMissedUnlessSidesAreMany) {  // why this model is not the default
  for (const int sides : {4, 16, 64}) {
    const double off = 0.5 * pi / sides;  // a quarter of a sector from a vertex
    const OwnedProblem p = sliding_point(1.0, off, 0.8);
    const Solution s = solve(GetParam(), p, kTolerance, sides);
    EXPECT_EQ(s.report.status, Status::converged);
    // The impulse points off by that angle: a velocity of μ λ_n/m sin δ, in one component or spread over two.
    const double missed = residuals(p.view(), s.lambda).worst(), expected = 0.8 * 9.81e-2 * std::sin(off);
    EXPECT_GT(missed, 0.7 * expected) << sides;
    EXPECT_LT(missed, 1.5 * expected) << sides;
  }
}

TEST_P(Lcp, TakesASolutionForGranted) {
  std::mt19937 rng(76);
  const OwnedProblem p = mixed(rng);
  Solution s = solve(GetParam(), p, 1e-9);
  ASSERT_EQ(s.report.status, Status::converged);
  const VectorXd before = s.lambda;
  EXPECT_EQ(GetParam().solve(p.view(), 1e-8, 4, 0, s.lambda, s.velocity).iterations, 0);
  EXPECT_LT((s.lambda - before).norm(), 1e-12);
}

TEST_P(Lcp, SparseAndDenseAreTheSameProblem) {
  std::mt19937 rng(77);
  const OwnedProblem p = stack(3, 1.0, 0.5, 1e-3, rng);
  const BlockSparse sparse = BlockSparse::from_dense(p.G, p.blocks);
  const Solution dense = solve(GetParam(), p, 1e-9);
  VectorXd lambda = VectorXd::Zero(36), velocity(36);
  const SolveReport report = GetParam().solve({sparse, p.g, p.R, p.blocks}, 1e-9, 4, 0, lambda, velocity);
  EXPECT_EQ(report.status, dense.report.status);
  EXPECT_LT((velocity - dense.velocity).norm(), 1e-7);
}

TEST_P(Lcp, LimitsAreObeyedWhateverTheInput) {
  std::mt19937 rng(78);
  std::vector<OwnedProblem> problems;
  // Squeezed between two walls that both close in.
  MatrixXd squeeze(2, 2);
  squeeze << 1.0, -1.0, -1.0, 1.0;
  problems.push_back({squeeze,
                      VectorXd::Constant(2, -1.0),
                      VectorXd::Zero(2),
                      {{SetKind::positive, 0, 1}, {SetKind::positive, 1, 1}}});
  OwnedProblem indefinite = random_contacts(4, 0.8, rng);
  indefinite.G.diagonal().array() -= 2.0;
  problems.push_back(indefinite);
  OwnedProblem broken = random_contacts(2, 0.5, rng);
  broken.g[4] = std::nan("");
  problems.push_back(broken);
  for (const OwnedProblem& p : problems) {
    const Solution s = solve(GetParam(), p, kTolerance, 4, 200);
    EXPECT_LE(s.report.iterations, 200);
    EXPECT_EQ(s.report.status == Status::converged, judge(p, 4, s.lambda).worst() <= kTolerance);
    EXPECT_TRUE(s.lambda.allFinite());
  }
  const Solution cut = solve(GetParam(), stack(6, 1.0, 0.5, 1e-2, rng), kTolerance, 4, 2);
  EXPECT_EQ(cut.report.status, Status::iteration_limit);
  EXPECT_EQ(cut.report.iterations, 2);
}

TEST(LcpMethods, AgreeOnTheVelocityWhereItIsUnique) {
  std::mt19937 rng(79);
  for (const int sides : {3, 4, 8}) {
    for (int k = 0; k < 60; ++k) {
      const OwnedProblem p = k % 3 == 0 ? mixed(rng) : k % 3 == 1 ? random_contacts(5, 0.4, rng) : quadruped(0.5, rng);
      const Solution pivot = solve(kPivot, p, 1e-9, sides);
      ASSERT_EQ(pivot.report.status, Status::converged) << k;
      for (const Method& method : {kPgs, kStaggered}) {
        const Solution s = solve(method, p, 1e-9, sides);
        ASSERT_EQ(s.report.status, Status::converged) << method.name << ' ' << k;
        EXPECT_LT((s.velocity - pivot.velocity).lpNorm<Eigen::Infinity>(), 1e-6) << method.name << ' ' << k;
      }
    }
  }
}

TEST(LcpMethods,
     SolveRedundantStacks) {  // how four corners share a load is open, and with it how friction turns a cube
  std::mt19937 rng(80);
  for (int k = 0; k < 10; ++k) {
    const OwnedProblem p = stack(4, 1.0, 0.5, 1e-2, rng);
    for (const Method& method : kLcpMethods) {
      const Solution s = solve(method, p, 1e-8);
      EXPECT_EQ(s.report.status, Status::converged) << method.name << ' ' << k;
      EXPECT_LE(judge(p, 4, s.lambda).worst(), 1e-8) << method.name;
    }
  }
}

TEST(LcpPivot, DoesNotMindMassRatios) {
  std::mt19937 rng(81);
  for (int k = 0; k < 20; ++k) {
    EXPECT_EQ(solve(kPivot, stack(2, 1e3, 0.5, 1e-2, rng), 1e-8).report.status, Status::converged) << k;
  }
  for (int k = 0; k < 3; ++k) {  // twelve cubes, from 1 kg to 2 t
    EXPECT_EQ(solve(kPivot, stack(12, 2.0, 0.5, 1e-2, rng), 1e-8).report.status, Status::converged) << k;
  }
}

TEST(LcpPivot, RefusesWhatItWouldHaveToMakeDense) {
  std::mt19937 rng(82);
  const OwnedProblem p = stack(2, 1.0, 0.5, 0.0, rng);
  LcpPivotWorkspace workspace;
  VectorXd lambda = VectorXd::Zero(24), velocity(24);
  try {
    LcpPivot({.max_unknowns = 47}).solve(p.view(), workspace, lambda, velocity);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "LcpPivot: 24 rows make an LCP of 48 unknowns, more than max_unknowns = 47");
  }
  EXPECT_EQ(LcpPivot({.max_unknowns = 48}).solve(p.view(), workspace, lambda, velocity).status, Status::converged);
}

}  // namespace
}  // namespace taut::testing
