#include "taut/solvers/solver.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/solvers/auto.hpp"

namespace taut {
namespace {

constexpr std::array kSolvers{
    SolverInfo{"auto", "Newton on the modes of the warm start, helped by PGS and ADMM where they are wrong"},
    SolverInfo{"pgs", "projected Gauss-Seidel: cheap sweeps, slow on large mass ratios and redundant contacts"},
    SolverInfo{"admm", "proximal ADMM with spectral penalty: robust, slow in the last digits"},
    SolverInfo{"newton", "semi-smooth Newton on identified modes: exact near a solution, may stall far from one"},
};

// Zero times anything finite is zero, and sums of zeros vectorize: cheaper than asking every entry.
bool all_finite(const Problem& problem, const ConstVectorRef& lambda) {
  return (0.0 * problem.G).sum() == 0.0 && (0.0 * problem.g).sum() == 0.0 && (0.0 * problem.R).sum() == 0.0 &&
         (0.0 * lambda).sum() == 0.0;
}

}  // namespace

const char* to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::iteration_limit:
      return "iteration_limit";
    case Status::stalled:
      return "stalled";
    case Status::not_finite:
      return "not_finite";
  }
  return "unknown";
}

std::span<const SolverInfo> solvers() { return kSolvers; }

struct Solver::Method {
  Method(std::string_view name_, SolverOptions options_) : name(name_), options(options_) {}
  virtual ~Method() = default;
  virtual void reserve(int rows) = 0;
  virtual SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity) = 0;
  virtual double* penalty() = 0;

  std::string_view name;
  SolverOptions options;
  int capacity = 0;
};

namespace {

// A method of taut::solvers and its workspace behind the common interface.
template <class Base, class Algorithm, class Workspace>
struct MethodOf final : Base {
  MethodOf(std::string_view name_, SolverOptions options_, Algorithm algorithm_)
      : Base(name_, options_), algorithm(algorithm_) {}
  void reserve(int rows) override { workspace.reserve(rows); }
  SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity) override {
    return algorithm.solve(problem, workspace, lambda, velocity);
  }
  double* penalty() override {
    if constexpr (requires { workspace.rho; }) return &workspace.rho;
    return nullptr;
  }

  Algorithm algorithm;
  Workspace workspace;
};

}  // namespace

Solver::Solver(std::string_view name, SolverOptions options) {
  if (!(options.tolerance > 0.0) || !std::isfinite(options.tolerance)) {
    throw std::invalid_argument("Solver: tolerance is " + std::to_string(options.tolerance) + ", not positive");
  }
  if (options.max_iterations < 0) {
    throw std::invalid_argument("Solver: max_iterations is " + std::to_string(options.max_iterations) + ", negative");
  }
  const auto limit = [&](int fallback) { return options.max_iterations > 0 ? options.max_iterations : fallback; };
  const double tolerance = options.tolerance;
  if (name == "auto") {
    const Auto algorithm({.tolerance = tolerance, .max_iterations = limit(AutoOptions{}.max_iterations)});
    method_ = std::make_unique<MethodOf<Method, Auto, AutoWorkspace>>(kSolvers[0].name, options, algorithm);
  } else if (name == "pgs") {
    const Pgs algorithm({.tolerance = tolerance, .max_sweeps = limit(PgsOptions{}.max_sweeps)});
    method_ = std::make_unique<MethodOf<Method, Pgs, PgsWorkspace>>(kSolvers[1].name, options, algorithm);
  } else if (name == "admm") {
    const Admm algorithm({.tolerance = tolerance, .max_iterations = limit(AdmmOptions{}.max_iterations)});
    method_ = std::make_unique<MethodOf<Method, Admm, AdmmWorkspace>>(kSolvers[2].name, options, algorithm);
  } else if (name == "newton") {
    const Newton algorithm({.tolerance = tolerance, .max_iterations = limit(NewtonOptions{}.max_iterations)});
    method_ = std::make_unique<MethodOf<Method, Newton, NewtonWorkspace>>(kSolvers[3].name, options, algorithm);
  } else {
    std::string known;
    for (const SolverInfo& info : kSolvers) known += (known.empty() ? "" : ", ") + std::string(info.name);
    throw std::invalid_argument("Solver: no method '" + std::string(name) + "'; there are " + known);
  }
}

Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

void Solver::reserve(int rows) {
  if (rows <= method_->capacity) return;
  method_->capacity = rows;
  method_->reserve(rows);
}

SolveReport Solver::solve(const Problem& problem, VectorRef lambda, VectorRef velocity) {
  const int rows = problem.rows();
  if (rows == 0) return {};
  if (!all_finite(problem, lambda)) {
    lambda.setZero();
    velocity = problem.g;
    return {.status = Status::not_finite, .residuals = residuals(problem, lambda, velocity)};
  }
  // Half as much again: a pile that grows by one contact a step must not allocate at each.
  if (rows > method_->capacity) reserve(rows + rows / 2);
  return method_->solve(problem, lambda, velocity);
}

double Solver::penalty() const {
  const double* rho = method_->penalty();
  return rho ? *rho : 0.0;
}

void Solver::set_penalty(double rho) {
  if (double* current = method_->penalty()) *current = rho;
}

std::string_view Solver::name() const { return method_->name; }
const SolverOptions& Solver::options() const { return method_->options; }

}  // namespace taut
