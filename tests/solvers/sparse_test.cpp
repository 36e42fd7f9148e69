// Block-sparse matrices: the same answers as dense ones, and no dense matrix where one would not fit.
#include <gtest/gtest.h>

#include "problems.hpp"
#include "taut/solvers/admm.hpp"
#include "taut/solvers/ccp_newton.hpp"
#include "taut/solvers/newton.hpp"
#include "taut/solvers/proximal.hpp"

namespace taut::testing {
namespace {

OwnedProblem made_sparse(const OwnedProblem& dense) {
  OwnedProblem p = dense;
  p.sparse = BlockSparse::from_dense(dense.G, dense.blocks);
  p.G.resize(0, 0);
  return p;
}

TEST(Sparse, EveryMethodFindsWhatItFindsOnTheDenseMatrix) {
  std::mt19937 rng(41);
  const OwnedProblem dense = stack(3, 1.0, 0.5, 1e-3, rng), sparse = made_sparse(dense);
  for (const SolverInfo& info : solvers()) {
    SCOPED_TRACE(info.name);
    const std::string name(info.name);
    const Solution d = solve(name, dense, 1e-7), s = solve(name, sparse, 1e-7);
    EXPECT_EQ(s.report.status, d.report.status);
    EXPECT_LT((s.velocity - d.velocity).lpNorm<Eigen::Infinity>(), 1e-6);
  }
}

// Towers side by side: more rows than are factored, of which each sees two dozen.
OwnedProblem towers(int count, std::mt19937& rng) {
  const OwnedProblem tower = made_sparse(stack(3, 1.0, 0.5, 1e-3, rng));
  const int rows = static_cast<int>(tower.g.size()), blocks = static_cast<int>(tower.blocks.size());
  OwnedProblem p;
  p.g = tower.g.replicate(count, 1) + 1e-4 * random_matrix(rows * count, 1, rng).cwiseAbs();
  p.R = VectorXd::Constant(rows * count, 1e-6);
  for (int k = 0; k < count; ++k) {
    for (Block block : tower.blocks) {
      block.start += k * rows;
      p.blocks.push_back(block);
    }
  }
  p.sparse.clear(rows * count);
  for (int k = 0; k < count; ++k) {
    for (int i = 0; i < blocks; ++i) {
      std::vector<int> touched;
      const Panel panel = tower.sparse.panel(i);
      for (const Run& run : panel.runs) {
        for (int r = 0; r < run.size; r += 3) touched.push_back(k * blocks + (run.start + r) / 3);
      }
      auto column = p.sparse.add_column(p.blocks, k * blocks + i, touched);
      column = Eigen::Map<const MatrixXd>(panel.data, column.rows(), 3);
    }
  }
  return p;
}

TEST(Sparse, LargeProblemsAreCertifiedWithoutADenseMatrix) {
  std::mt19937 rng(42);
  const OwnedProblem problem = towers(60, rng);
  ASSERT_EQ(problem.g.size(), 2'160);
  for (const char* method : {"auto", "admm"}) {
    const Solution s = solve(method, problem, 1e-6);
    EXPECT_EQ(s.report.status, Status::converged) << method;
  }
}

// Where elimination would fill up, the same systems are solved by iteration.
TEST(Sparse, WhatIsNotFactoredIsIterated) {
  std::mt19937 rng(43);
  const OwnedProblem problem = made_sparse(stack(3, 1.0, 0.5, 1e-3, rng));
  const Problem view = problem.view();
  const auto expect_solved = [&](const auto& method, auto& workspace, SparseSystem& system, const char* name) {
    system.limit = 0;
    workspace.reserve(view.rows());
    VectorXd lambda = VectorXd::Zero(view.rows()), velocity(view.rows());
    const SolveReport report = method.solve(view, workspace, lambda, velocity);
    EXPECT_EQ(report.status, Status::converged) << name << " at " << report.residuals.worst();
    EXPECT_EQ(system.lu().entries(), 0U) << name;
  };
  NewtonWorkspace newton;
  expect_solved(Newton(), newton, newton.system, "newton");
  AdmmWorkspace admm;
  expect_solved(Admm(), admm, admm.system, "admm");
  CcpNewtonWorkspace ccp;
  expect_solved(CcpNewton(), ccp, ccp.newton.system, "ccp_newton");
  ProximalWorkspace proximal;
  expect_solved(Proximal(), proximal, proximal.newton.system, "proximal");
}

}  // namespace
}  // namespace taut::testing
