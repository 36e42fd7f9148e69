#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "taut/solvers/report.hpp"

namespace taut {

struct SolverInfo {
  std::string_view name;
  Model model;
  std::string_view what;  ///< one line
};

/// Every method taut has, in the order of presentation.
std::span<const SolverInfo> solvers();

/// What a method can be told. Zero means the method's own default; what a method has no use for it ignores.
struct SolverOptions {
  double tolerance = 1e-6;  ///< on the worst residual of the method's model
  int max_iterations = 0;
  double relaxation = 0.0;  ///< ω in (0, 2), over-relaxation of sweeps and of ADMM
  int sides = 4;            ///< of the pyramid of an LCP, ≥ 3
  double alpha = 0.0;       ///< ccp_newton_mujoco: compliance as a share of diag G
  double rho = 0.0;         ///< ADMM: the penalty to start from, in the scaled problem

  bool operator==(const SolverOptions&) const = default;
};

/// A method by name with its workspace: one per thread. Copies share nothing.
class Solver {
 public:
  /// Throws std::invalid_argument naming the value if the name is unknown or an option is out of range.
  explicit Solver(std::string_view name, SolverOptions options = {});
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Room for problems of up to `rows` rows: below it `solve` does not allocate.
  void reserve(int rows);

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c = (G + R) λ + g. Throws
  /// std::invalid_argument, before anything changes, if the method cannot take a block of the problem.
  SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity);

  /// Factors the bilateral rows of G + R; `g` is not looked at. Until the next problem, `solve_factored` has no need
  /// to.
  void factor_joints(const Problem& problem);
  /// After it: x, something asked of the bilateral rows, made consistent. Where rows repeat others, as in every planar
  /// loop, it becomes what the others say.
  void reconcile(VectorRef x);
  /// After it: x ← (G + R)⁺ x of the bilateral rows, zero where rows repeat others; other rows stay as they are. False
  /// if they could not be factored.
  bool solve_joints(VectorRef x);
  /// `solve` after `factor_joints` of a problem with the same G and R.
  SolveReport solve_factored(const Problem& problem, VectorRef lambda, VectorRef velocity);

  /// What the method carries from one solve to the next beside the caller's λ: ADMM's ρ, 0 for the others and for a
  /// fresh start. Part of a simulator's state.
  double penalty() const;
  void set_penalty(double rho);

  std::string_view name() const;
  Model model() const;
  const SolverOptions& options() const;

  struct Method;  ///< of solver.cpp: a method and its workspace behind one interface

 private:
  std::unique_ptr<Method> method_;
};

}  // namespace taut
