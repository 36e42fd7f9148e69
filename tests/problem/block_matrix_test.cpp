#include "taut/problem/block_matrix.hpp"

#include <gtest/gtest.h>

#include <random>

#include "taut/problem/owned_problem.hpp"
#include "taut/problem/residuals.hpp"

namespace taut {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Blocks of every size; block i and block j touch when |i − j| is 1 or 3.
OwnedProblem banded(std::mt19937& rng) {
  std::normal_distribution<double> normal;
  OwnedProblem p;
  int row = 0;
  for (const int size : {3, 1, 6, 3, 1, 3, 3}) {
    const SetKind kind = size == 3 ? SetKind::cone : size == 1 ? SetKind::positive : SetKind::free;
    p.blocks.push_back({kind, row, size, 0.5});
    row += size;
  }
  p.G = MatrixXd::Zero(row, row);
  p.g = VectorXd::NullaryExpr(row, [&] { return normal(rng); });
  p.R = VectorXd::NullaryExpr(row, [&] { return std::abs(normal(rng)); });
  for (int i = 0; i < static_cast<int>(p.blocks.size()); ++i) {
    for (int j = 0; j <= i; ++j) {
      if (i != j && i - j != 1 && i - j != 3) continue;
      const Block &a = p.blocks[i], &b = p.blocks[j];
      const MatrixXd entry = 0.1 * MatrixXd::NullaryExpr(a.size, b.size, [&] { return normal(rng); });
      p.G.block(a.start, b.start, a.size, b.size) = entry;
      p.G.block(b.start, a.start, b.size, a.size) = entry.transpose();
    }
  }
  p.G = (0.5 * (p.G + p.G.transpose()) + 4.0 * MatrixXd::Identity(row, row)).eval();
  return p;
}

OwnedProblem made_sparse(OwnedProblem dense) {
  dense.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  dense.G.resize(0, 0);
  return dense;
}

TEST(BlockSparse, MultipliesAndJudgesLikeTheDenseMatrixItCameFrom) {
  std::mt19937 rng(1);
  const OwnedProblem dense = banded(rng), sparse = made_sparse(dense);
  ASSERT_TRUE(sparse.is_sparse());
  EXPECT_LT(sparse.sparse.values().size(), static_cast<std::size_t>(dense.G.size()));
  const VectorXd x = VectorXd::Random(dense.g.size());
  VectorXd c(x.size());
  const Residuals judged = residuals(sparse.view(), x, c);
  EXPECT_LT((c - (dense.G * x + dense.R.cwiseProduct(x) + dense.g)).norm(), 1e-13);
  EXPECT_NEAR(judged.natural, residuals(dense.view(), x).natural, 1e-13);
}

TEST(BlockSparse, GivesColumnsAndDiagonalsOfEveryBlock) {
  std::mt19937 rng(2);
  const OwnedProblem dense = banded(rng), sparse = made_sparse(dense);
  const Problem view = sparse.view();
  for (int i = 0; i < view.size(); ++i) {
    const Block& block = view.blocks[i];
    const Tile tile = view.diagonal(i);
    VectorXd column = VectorXd::Zero(view.rows());
    const VectorXd x_i = VectorXd::Random(block.size);
    multiply_add_block(view, i, x_i.data(), column.data());
    VectorXd x = VectorXd::Zero(view.rows());
    x.segment(block.start, block.size) = x_i;
    EXPECT_LT((column - dense.G * x - dense.R.cwiseProduct(x)).norm(), 1e-13);
    for (int c = 0; c < block.size; ++c) {
      for (int r = 0; r < block.size; ++r) EXPECT_EQ(tile(r, c), dense.G(block.start + r, block.start + c));
    }
  }
}

TEST(BlockSparse, ReadsCompressedLinesAndAddsEntriesGivenTwice) {
  const std::vector<Block> blocks{{SetKind::positive, 0, 1}, {SetKind::positive, 1, 1}};
  const std::vector<double> values{1.0, 1.0, 0.5, 0.5, 3.0};
  const std::vector<int> indices{0, 0, 1, 0, 1}, begin{0, 3, 5};
  OwnedProblem p{
      {}, VectorXd::Zero(2), VectorXd::Zero(2), blocks, BlockSparse::from_compressed(values, indices, begin, blocks)};
  VectorXd y = VectorXd::Zero(2);
  const VectorXd x = VectorXd::Ones(2);
  multiply_add(p.view(), x.data(), y.data());
  EXPECT_EQ(y, Eigen::Vector2d(2.5, 3.5));
  const std::vector<int> outside{0, 0, 2, 0, 1};
  EXPECT_THROW(BlockSparse::from_compressed(values, outside, begin, blocks), std::invalid_argument);
}

TEST(Validate, RefusesASparseMatrixThatIsNotSymmetricOrNotPositive) {
  std::mt19937 rng(3);
  OwnedProblem p = banded(rng);
  EXPECT_NO_THROW(validate(made_sparse(p).view()));
  OwnedProblem lopsided = p;
  lopsided.G(0, 3) += 0.1;
  EXPECT_THROW(validate(made_sparse(lopsided).view()), std::invalid_argument);
  OwnedProblem indefinite = p;
  indefinite.G(0, 3) = indefinite.G(3, 0) = 10.0;
  EXPECT_THROW(validate(made_sparse(indefinite).view()), std::invalid_argument);
  EXPECT_THROW(validate(indefinite.view()), std::invalid_argument);
}

// Every minor of order two is fine: only a factorization sees it.
TEST(Validate, RefusesAnIndefiniteMatrixWhoseSmallMinorsArePositive) {
  MatrixXd G = MatrixXd::Constant(3, 3, -0.9);
  G.diagonal().setOnes();
  const OwnedProblem p = OwnedProblem::contacts(G, VectorXd::Zero(3), VectorXd::Constant(1, 0.5));
  EXPECT_THROW(validate(p.view()), std::invalid_argument);
}

}  // namespace
}  // namespace taut
