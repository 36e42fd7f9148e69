#include "taut/math/dense.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <random>
#include <vector>

namespace taut {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd random_matrix(int n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(n, n, [&] { return normal(rng); });
}

MatrixView view(MatrixXd& A) { return {A.data(), A.rows(), A.cols(), Eigen::OuterStride<>(A.outerStride())}; }

class Dense : public testing::TestWithParam<int> {};

// Sizes below, at and across the panel width, odd and even, to visit every remainder loop.
INSTANTIATE_TEST_SUITE_P(Sizes, Dense, testing::Values(1, 2, 3, 7, 12, 23, 24, 25, 48, 49, 77, 130));

TEST_P(Dense, LuSolvesWhatEigenSolves) {
  const int n = GetParam();
  const MatrixXd A = random_matrix(n, 1);
  const VectorXd b = random_matrix(n, 2).col(0);
  MatrixXd LU = A;
  std::vector<int> pivots(n);
  ASSERT_TRUE(lu(view(LU), pivots));
  VectorXd x = b, y = b;
  lu_solve(view(LU), pivots, x.data());
  lu_solve_transposed(view(LU), pivots, y.data());
  // A random matrix of this size has a condition number near n, seldom above 1e4.
  EXPECT_LT((x - A.fullPivLu().solve(b)).norm(), 1e-10 * x.norm());
  EXPECT_LT((A.transpose() * y - b).norm(), 1e-10 * y.norm());
}

TEST_P(Dense, CholeskyReproducesTheMatrix) {
  const int n = GetParam();
  const MatrixXd B = random_matrix(n, 3), A = B * B.transpose() + MatrixXd::Identity(n, n);
  MatrixXd L = A;
  L.triangularView<Eigen::StrictlyUpper>().setConstant(NAN);  // must not be read
  ASSERT_TRUE(cholesky(view(L)));
  const MatrixXd lower = L.triangularView<Eigen::Lower>();
  EXPECT_LT((lower * lower.transpose() - A).norm(), 1e-13 * A.norm());
  const VectorXd b = B.col(0);
  VectorXd x = b;
  cholesky_solve(view(L), x.data());
  EXPECT_LT((A * x - b).norm(), 1e-12 * A.norm() * x.norm());
}

TEST_P(Dense, MultiplyAddIsAProduct) {
  const int n = GetParam();
  const MatrixXd A = random_matrix(n, 4);
  VectorXd x = random_matrix(n, 5).col(0), y = VectorXd::Ones(n);
  x[n / 2] = 0.0;  // a column that is skipped
  multiply_add(n, n, A.data(), A.outerStride(), x.data(), y.data());
  EXPECT_LT((y - VectorXd::Ones(n) - A * x).norm(), 1e-13 * n);
}

TEST(Lu, SaysWhenAColumnHasNoPivot) {
  MatrixXd A = random_matrix(5, 6);
  A.col(3) = A.col(1);
  A.row(4).setZero();
  std::vector<int> pivots(5);
  EXPECT_FALSE(lu(view(A), pivots));
}

TEST(Cholesky, RefusesAnIndefiniteMatrix) {
  MatrixXd A = MatrixXd::Identity(4, 4);
  A(2, 2) = -1e-3;
  EXPECT_FALSE(cholesky(view(A)));
}

}  // namespace
}  // namespace taut
