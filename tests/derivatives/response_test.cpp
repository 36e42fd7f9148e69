// How impulses answer to a change of the free velocity: against the problem solved again.
#include <gtest/gtest.h>

#include <random>

#include "taut/derivatives/response.hpp"
#include "taut/problem/owned_problem.hpp"
#include "taut/solvers/solver.hpp"

namespace taut::testing {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Solved {
  VectorXd impulse, velocity;
};

Solved solve(const OwnedProblem& problem) {
  Solver solver("auto", {.tolerance = 1e-13});
  Solved solved{VectorXd::Zero(problem.view().rows()), VectorXd::Zero(problem.view().rows())};
  solver.reserve(problem.view().rows());
  solver.solve(problem.view(), solved.impulse, solved.velocity);
  return solved;
}

TEST(ImpulseResponse, IsTheDerivativeOfTheSolution) {
  std::mt19937 rng(61);
  std::normal_distribution<double> normal;
  const double h = 1e-6;
  int compared = 0, slid = 0, stuck = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int contacts = 3, n = 3 * contacts;
    const MatrixXd B = MatrixXd::NullaryExpr(n, n, [&] { return normal(rng); });
    const MatrixXd G = B * B.transpose() / n + 0.1 * MatrixXd::Identity(n, n);
    VectorXd g = VectorXd::NullaryExpr(n, [&] { return normal(rng); });
    for (int i = 0; i < contacts; ++i) g[3 * i + 2] -= 1.0;
    const VectorXd mu = VectorXd::Constant(contacts, 0.5);
    const auto problem = [&](const VectorXd& free) { return OwnedProblem::contacts(G, free, mu); };
    const OwnedProblem at = problem(g);
    const Solved solved = solve(at);
    ImpulseResponse response;
    response.update(at.view(), solved.impulse, solved.velocity);
    bool near = false;
    for (int i = 0; i < contacts; ++i) {
      near = near || response.distance_to_switch(i) < 1e-2;
      slid += response.mode(i) == Mode::sliding;
      stuck += response.mode(i) == Mode::closed;
    }
    if (near) continue;
    ++compared;
    const VectorXd way = VectorXd::NullaryExpr(n, [&] { return normal(rng); });
    const VectorXd difference = (solve(problem(g + h * way)).impulse - solve(problem(g - h * way)).impulse) / (2.0 * h);
    VectorXd answer = way;
    response.apply(answer);
    EXPECT_LT((difference + answer).norm(), 1e-5 * (1.0 + difference.norm()));
    // Its transpose.
    const VectorXd bar = VectorXd::NullaryExpr(n, [&] { return normal(rng); });
    VectorXd back = bar;
    response.apply_transpose(back);
    EXPECT_NEAR(bar.dot(answer), back.dot(way), 1e-10 * (1.0 + std::abs(bar.dot(answer))));
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(slid, 50);
  EXPECT_GT(stuck, 20);
}

}  // namespace
}  // namespace taut::testing
