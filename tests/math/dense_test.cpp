#include "taut/math/dense.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
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

TEST_P(Dense, ProductsAreEigens) {
  const int n = GetParam();
  for (const int depth : {1, 4, 9}) {
    MatrixXd A = random_matrix(std::max(n, depth), 5).topLeftCorner(n, depth),
             B = random_matrix(std::max(n, depth), 6).topLeftCorner(depth, n), C = random_matrix(n, 7);
    const MatrixXd expected = C + A * B;
    MatrixXd sum = C;
    add_product(view(A), view(B), view(sum));
    EXPECT_LT((sum - expected).norm(), 1e-13 * (1.0 + expected.norm()));
    MatrixXd turned = B.transpose();
    sum = C;
    add_product_transposed(view(A), view(turned), view(sum));
    EXPECT_LT((sum - expected).norm(), 1e-13 * (1.0 + expected.norm()));
  }
}

// Rows 0 … 3 and their sums: of the four sums only the first two say something new.
TEST(PivotedCholesky, TellsRowsThatRepeatOthers) {
  MatrixXd J(8, 6);
  J.topRows(4) = random_matrix(6, 8).topRows(4);
  J.row(4) = J.row(0) + J.row(1);
  J.row(5) = random_matrix(6, 9).row(0);
  J.row(6) = random_matrix(6, 10).row(0);
  J.row(7) = 2.0 * J.row(5) - 1e3 * J.row(2);
  for (const int leading : {0, 5}) {
    const MatrixXd A = J * J.transpose();
    MatrixXd L = A;
    std::vector<int> order(8);
    std::vector<double> diagonal(8);
    ASSERT_EQ(pivoted_cholesky(view(L), order, diagonal, 1e-11, leading), 6);
    MatrixXd kept(6, 6), lower = L.topLeftCorner(6, 6).triangularView<Eigen::Lower>();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(diagonal[i], A(order[i], order[i]));
      for (int j = 0; j < 6; ++j) kept(i, j) = A(order[i], order[j]);
    }
    EXPECT_LT((lower * lower.transpose() - kept).norm(), 1e-12 * kept.norm());
    if (leading > 0) {  // the first rows in their order; the fifth repeats two of them
      EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 4), (std::vector<int>{0, 1, 2, 3}));
      EXPECT_EQ(std::count(order.begin(), order.begin() + 6, 4), 0);
    }
  }
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
