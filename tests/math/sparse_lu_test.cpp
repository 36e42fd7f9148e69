#include "taut/math/sparse_lu.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numeric>
#include <random>

#include "taut/math/ordering.hpp"

namespace taut {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// A matrix with a symmetric pattern, values that are not symmetric, and a diagonal that carries it.
MatrixXd random_matrix(int n, double density, std::mt19937& rng) {
  std::normal_distribution<double> normal;
  std::bernoulli_distribution present(density);
  MatrixXd A = MatrixXd::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      if (!present(rng)) continue;
      A(i, j) = normal(rng);
      A(j, i) = normal(rng);
    }
  }
  for (int i = 0; i < n; ++i) A(i, i) = 1.0 + A.row(i).cwiseAbs().sum();
  return A;
}

struct Graph {
  std::vector<int> begin{0}, neighbours;
};

Graph graph_of(const MatrixXd& A) {
  Graph graph;
  for (int j = 0; j < A.cols(); ++j) {
    for (int i = 0; i < A.rows(); ++i) {
      if (A(i, j) != 0.0) graph.neighbours.push_back(i);
    }
    graph.begin.push_back(static_cast<int>(graph.neighbours.size()));
  }
  return graph;
}

void fill(const MatrixXd& A, std::span<const int> order, SparseLu& lu) {
  lu.start(order);
  for (int j = 0; j < A.cols(); ++j) {
    std::vector<int> rows;
    for (int i = static_cast<int>(A.rows()) - 1; i >= 0; --i) {  // any order will do
      if (A(i, j) != 0.0) rows.push_back(i);
    }
    SparseLu::Room room = lu.add_column(static_cast<int>(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      room.rows[k] = rows[k];
      room.values[k] = A(rows[k], j);
    }
  }
}

TEST(SparseLu, SolvesWhatADenseFactorizationSolves) {
  std::mt19937 rng(1);
  SparseLu lu;
  MinimumDegree ordering;
  for (const int n : {1, 2, 7, 40, 25}) {  // up and down: buffers stay
    for (const double density : {0.0, 0.1, 0.5, 1.0}) {
      const MatrixXd A = random_matrix(n, density, rng);
      const Graph graph = graph_of(A);
      ASSERT_TRUE(ordering.run(graph.begin, graph.neighbours, 1'000'000));
      fill(A, ordering.order(), lu);
      ASSERT_TRUE(lu.factor());
      const VectorXd b = VectorXd::Random(n);
      VectorXd x = b, y = b;
      lu.solve(x.data());
      lu.solve_transposed(y.data());
      EXPECT_LT((A * x - b).norm(), 1e-12);
      EXPECT_LT((A.transpose() * y - b).norm(), 1e-12);
    }
  }
}

TEST(SparseLu, SaysWhenAPivotIsZero) {
  MatrixXd A = MatrixXd::Ones(2, 2);  // singular
  SparseLu lu;
  fill(A, std::vector<int>{0, 1}, lu);
  EXPECT_FALSE(lu.factor());
}

// An arrow pointing the wrong way fills up completely; eliminating its tip last leaves nothing to fill.
TEST(MinimumDegree, KeepsAnArrowSparse) {
  const int n = 50;
  MatrixXd A = 100.0 * MatrixXd::Identity(n, n);
  A.row(0).setOnes();
  A.col(0).setOnes();
  A(0, 0) = 100.0;
  const Graph graph = graph_of(A);
  MinimumDegree ordering;
  ASSERT_TRUE(ordering.run(graph.begin, graph.neighbours, 1'000'000));
  SparseLu lu;
  fill(A, ordering.order(), lu);
  ASSERT_TRUE(lu.factor());
  EXPECT_EQ(lu.entries(), static_cast<std::size_t>(n - 1));
  std::vector<int> natural(n);
  std::iota(natural.begin(), natural.end(), 0);
  fill(A, natural, lu);
  ASSERT_TRUE(lu.factor());
  EXPECT_EQ(lu.entries(), static_cast<std::size_t>(n * (n - 1) / 2));
}

TEST(MinimumDegree, IsAPermutationThatOnlyThePatternDecides) {
  std::mt19937 rng(2);
  const Graph graph = graph_of(random_matrix(60, 0.08, rng));
  MinimumDegree once, again;
  ASSERT_TRUE(once.run(graph.begin, graph.neighbours, 1'000'000));
  ASSERT_TRUE(again.run(graph.begin, graph.neighbours, 1'000'000));
  std::vector<int> order(once.order().begin(), once.order().end());
  EXPECT_TRUE(std::equal(order.begin(), order.end(), again.order().begin()));
  std::sort(order.begin(), order.end());
  for (int k = 0; k < 60; ++k) EXPECT_EQ(order[k], k);
}

TEST(MinimumDegree, GivesUpWhereItWouldFillUp) {
  std::mt19937 rng(3);
  const Graph graph = graph_of(random_matrix(200, 0.2, rng));
  MinimumDegree ordering;
  EXPECT_FALSE(ordering.run(graph.begin, graph.neighbours, 2 * graph.neighbours.size()));
}

}  // namespace
}  // namespace taut
