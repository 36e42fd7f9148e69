#include "taut/math/conjugate_gradient.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace taut {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd random_matrix(int rows, int cols, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, cols, [&] { return normal(rng); });
}

// Preconditioned by the diagonal.
int solve(const MatrixXd& A, const VectorXd& b, VectorXd& x, double tolerance, int max_iterations) {
  const int n = static_cast<int>(b.size());
  std::vector<double> work(4 * static_cast<std::size_t>(n), std::numeric_limits<double>::quiet_NaN());
  const auto apply = [&](const double* in, double* out) { VectorView(out, n) = A * Eigen::Map<const VectorXd>(in, n); };
  const auto precondition = [&](const double* in, double* out) {
    for (int r = 0; r < n; ++r) out[r] = in[r] / A(r, r);
  };
  return conjugate_gradient(n, apply, precondition, b.data(), x.data(), tolerance, max_iterations, work.data());
}

TEST(ConjugateGradient, EndsAfterAsManyIterationsAsEigenvalues) {
  // In exact arithmetic; n distinct eigenvalues of a well-conditioned matrix leave room for two more by rounding.
  std::mt19937 rng(1);
  for (int n : {1, 2, 5, 20, 60}) {
    const MatrixXd B = random_matrix(n, 2 * n, rng), A = B * B.transpose() / n;
    const VectorXd expected = random_matrix(n, 1, rng), b = A * expected;
    VectorXd x = VectorXd::Zero(n);
    EXPECT_LE(solve(A, b, x, 1e-13, 1000), n + 2);
    EXPECT_LE((x - expected).norm(), 1e-10 * expected.norm()) << "n = " << n;
  }
}

TEST(ConjugateGradient, DiagonalMatrixTakesOneIteration) {  // its preconditioner is the inverse
  const VectorXd diagonal = VectorXd::LinSpaced(7, 1e-3, 1e3), b = VectorXd::LinSpaced(7, -1.0, 2.0);
  VectorXd x = VectorXd::Zero(7);
  EXPECT_EQ(solve(diagonal.asDiagonal(), b, x, 1e-12, 100), 1);
  EXPECT_LE((x - b.cwiseQuotient(diagonal)).cwiseQuotient(b.cwiseQuotient(diagonal)).lpNorm<Eigen::Infinity>(), 1e-12);
}

TEST(ConjugateGradient, SingularMatrixWithCompatibleRightHandSide) {
  std::mt19937 rng(2);
  const MatrixXd J = random_matrix(12, 6, rng), A = J * J.transpose();  // rank 6
  const VectorXd b = A * random_matrix(12, 1, rng);
  VectorXd x = VectorXd::Zero(12);
  EXPECT_LT(solve(A, b, x, 1e-10, 100), 100);
  EXPECT_LE((A * x - b).norm(), 1e-9 * b.norm());
}

TEST(ConjugateGradient, StartsFromX) {
  std::mt19937 rng(3);
  const MatrixXd B = random_matrix(9, 18, rng), A = B * B.transpose();
  const VectorXd expected = random_matrix(9, 1, rng), b = A * expected;
  VectorXd x = expected;
  EXPECT_EQ(solve(A, b, x, 1e-12, 100), 0);
  EXPECT_EQ(x, expected);
}

TEST(ConjugateGradient, ObeysTheLimitAndSurvivesWhatIsNotFinite) {
  std::mt19937 rng(4);
  const MatrixXd B = random_matrix(30, 60, rng), A = B * B.transpose();
  const VectorXd b = random_matrix(30, 1, rng);
  VectorXd x = VectorXd::Zero(30);
  EXPECT_EQ(solve(A, b, x, 1e-12, 3), 3);

  VectorXd bad = b;
  bad[4] = std::numeric_limits<double>::quiet_NaN();
  x.setZero();
  EXPECT_EQ(solve(A, bad, x, 1e-12, 100), 0);
  EXPECT_TRUE(x.isZero(0.0));

  x.setZero();
  EXPECT_EQ(solve(-A, b, x, 1e-12, 100), 0);  // no curvature to follow: not a matrix for this method
  EXPECT_TRUE(x.isZero(0.0));
}

}  // namespace
}  // namespace taut
