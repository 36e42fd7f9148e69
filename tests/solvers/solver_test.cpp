// The promises of `Solver` that hold for every method: names, statuses, determinism.
#include "taut/solvers/solver.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "problems.hpp"
#include "taut/solvers/admm.hpp"
#include "taut/solvers/newton.hpp"
#include "taut/solvers/pgs.hpp"

namespace taut::testing {
namespace {

TEST(Solver, UnknownNameIsNamedInTheError) {
  try {
    Solver("siconos");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("siconos"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("auto"), std::string::npos);  // and so are the known ones
  }
}

TEST(Solver, EveryListedMethodCanBeMade) {
  for (const SolverInfo& info : solvers()) {
    EXPECT_EQ(Solver(info.name).name(), info.name);
    EXPECT_FALSE(info.what.empty());
  }
}

TEST(Solver, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(Solver("pgs", {.tolerance = 0.0}), std::invalid_argument);
  EXPECT_THROW(Solver("pgs", {.tolerance = NAN}), std::invalid_argument);
  EXPECT_THROW(Solver("pgs", {.max_iterations = -1}), std::invalid_argument);
  EXPECT_THROW(Pgs({.relaxation = 2.0}), std::invalid_argument);
  EXPECT_THROW(Admm({.over_relaxation = 0.0}), std::invalid_argument);
  EXPECT_THROW(Newton({.damping = 0.0}), std::invalid_argument);
}

TEST(Solver, EmptyProblemIsSolved) {
  const OwnedProblem empty{MatrixXd(0, 0), VectorXd(0), VectorXd(0), {}};
  for (const std::string& method : all_methods()) {
    const Solution s = solve(method, empty, 1e-6);
    EXPECT_EQ(s.report.status, Status::converged);
    EXPECT_EQ(s.report.iterations, 0);
  }
}

TEST(Solver, WhatIsNotFiniteIsReportedAndAnsweredByZero) {
  for (const std::string& method : all_methods()) {
    for (const double bad : {double(NAN), std::numeric_limits<double>::infinity()}) {
      OwnedProblem in_g = one_contact(Matrix3d::Identity(), {0.0, 0.0, -1.0}, 0.5), in_G = in_g;
      in_g.g[1] = bad;
      in_G.G(2, 0) = bad;
      for (const OwnedProblem& problem : {in_g, in_G}) {
        const Solution s = solve(method, problem, 1e-6);
        EXPECT_EQ(s.report.status, Status::not_finite) << method;
        EXPECT_EQ(s.lambda, VectorXd::Zero(3)) << method;
      }
    }
    VectorXd lambda = VectorXd::Constant(3, NAN), velocity(3);
    const OwnedProblem problem = one_contact(Matrix3d::Identity(), {0.0, 0.0, -1.0}, 0.5);
    EXPECT_EQ(Solver(method).solve(problem.view(), lambda, velocity).status, Status::not_finite) << method;
    EXPECT_EQ(lambda, VectorXd::Zero(3)) << method;
  }
}

TEST(Solver, IterationLimitIsReported) {
  std::mt19937 rng(21);
  const OwnedProblem problem = stack(3, 10.0, 0.5, 1e-3, rng);
  for (const std::string& method : all_methods()) {
    VectorXd lambda = VectorXd::Zero(36), velocity(36);
    const SolveReport report =
        Solver(method, {.tolerance = 1e-12, .max_iterations = 1}).solve(problem.view(), lambda, velocity);
    EXPECT_EQ(report.status, Status::iteration_limit) << method;
    EXPECT_EQ(report.iterations, 1) << method;
    EXPECT_LT((velocity - problem.G * lambda - problem.g).norm(), 1e-14) << method;  // of the λ returned, not another
  }
}

TEST(Solver, SolvesWhatItsReserveDoesNotCover) {
  std::mt19937 rng(22);
  Solver solver("auto");
  solver.reserve(3);
  for (const int cubes : {1, 3, 2}) {
    const OwnedProblem problem = stack(cubes, 1.0, 0.5, 1e-3, rng);
    VectorXd lambda = VectorXd::Zero(12 * cubes), velocity(12 * cubes);
    EXPECT_EQ(solver.solve(problem.view(), lambda, velocity).status, Status::converged);
  }
}

TEST(Solver, SameProblemSameBits) {
  std::mt19937 rng(23);
  const OwnedProblem problem = stack(2, 10.0, 0.5, 1e-2, rng), other = stack(3, 0.1, 0.2, 1e-2, rng);
  for (const std::string& method : all_methods()) {
    Solver solver(method);
    const auto run = [&](const OwnedProblem& p) {
      VectorXd lambda = VectorXd::Zero(p.g.size()), velocity(p.g.size());
      solver.solve(p.view(), lambda, velocity);
      return lambda;
    };
    const VectorXd first = run(problem);
    run(other);  // whatever a workspace remembers must not reach a cold start
    EXPECT_EQ(first, run(problem)) << method;
  }
}

TEST(Status, HasAName) {
  EXPECT_STREQ(to_string(Status::converged), "converged");
  EXPECT_STREQ(to_string(Status::iteration_limit), "iteration_limit");
  EXPECT_STREQ(to_string(Status::stalled), "stalled");
  EXPECT_STREQ(to_string(Status::not_finite), "not_finite");
}

}  // namespace
}  // namespace taut::testing
