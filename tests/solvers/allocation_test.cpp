// Every heap allocation of a solve is counted, not only those of operator new: malloc itself is replaced.
#include <gtest/gtest.h>

#include <cstdlib>

#include "malloc_counter.hpp"
#include "problems.hpp"

#ifdef TAUT_COUNTS_MALLOC

namespace taut::testing {
namespace {

TEST(Allocation, TheCounterCounts) {
  const long before = g_allocations;
  void* volatile block = std::malloc(64);  // volatile, or the compiler removes the pair
  std::free(block);
  int* volatile number = new int(1);
  delete number;
  EXPECT_GE(g_allocations - before, 2);
}

TEST(Allocation, NoMethodAllocatesBelowItsReserve) {
  std::mt19937 rng(31);
  std::vector<OwnedProblem> problems;  // sizes go up and down: a buffer resized to each would show
  for (const int cubes : {1, 4, 2, 12, 3}) problems.push_back(stack(cubes, 2.0, 0.5, 1e-2, rng));
  OwnedProblem mixed{random_spd(7, rng), random_matrix(7, 1, rng), VectorXd::Zero(7), {}};
  mixed.blocks = {{SetKind::free, 0, 2},
                  {SetKind::positive, 2, 1},
                  {SetKind::interval, 3, 1, 0.0, 0.4},
                  {SetKind::cone, 4, 3, 0.5}};
  problems.push_back(mixed);
  problems.push_back(stack(2, 1e3, 0.8, 1e-1, rng));  // hard enough for `auto` to call on every method

  for (const std::string& method : all_methods()) {
    Solver solver(method, {.tolerance = 1e-9, .max_iterations = 300});
    solver.reserve(144);
    for (const OwnedProblem& problem : problems) {
      VectorXd lambda = VectorXd::Zero(problem.g.size()), velocity(problem.g.size());
      const Problem view = problem.view();
      const long before = g_allocations;
      solver.solve(view, lambda, velocity);  // cold, then warm
      solver.solve(view, lambda, velocity);
      EXPECT_EQ(g_allocations - before, 0) << method << " with " << problem.g.size() << " rows";
    }
  }
}

// Factors of a sparse matrix have as many entries as the pattern asks for: the first solve finds out.
TEST(Allocation, NoMethodAllocatesOnASparseProblemItHasSeen) {
  std::mt19937 rng(33);
  OwnedProblem problem = stack(12, 2.0, 0.5, 1e-2, rng);
  problem.sparse = BlockSparse::from_dense(problem.G, problem.blocks);
  problem.G.resize(0, 0);
  const Problem view = problem.view();
  for (const std::string& method : all_methods()) {
    Solver solver(method, {.tolerance = 1e-9, .max_iterations = 300});
    solver.reserve(144);
    VectorXd velocity(144);
    long allocated = 0;
    for (int k = 0; k < 3; ++k) {
      VectorXd lambda = VectorXd::Zero(144);
      const long before = g_allocations;
      solver.solve(view, lambda, velocity);
      allocated = g_allocations - before;
    }
    EXPECT_EQ(allocated, 0) << method;
  }
}

TEST(Allocation, TheJudgeDoesNotAllocate) {
  std::mt19937 rng(32);
  const OwnedProblem problem = stack(4, 1.0, 0.5, 1e-2, rng);
  const VectorXd lambda = VectorXd::Ones(48);
  VectorXd velocity(48);
  const Problem view = problem.view();
  const long before = g_allocations;
  residuals(view, lambda, velocity);
  EXPECT_EQ(g_allocations - before, 0);
}

}  // namespace
}  // namespace taut::testing

#endif
