#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "taut/solvers/report.hpp"

namespace taut {

struct SolverInfo {
  std::string_view name;
  std::string_view what;  ///< one line
};

/// Every method taut has, in the order of presentation.
std::span<const SolverInfo> solvers();

/// What all methods understand. `max_iterations` 0 means the method's own default.
struct SolverOptions {
  double tolerance = 1e-6;  ///< on `Residuals::worst()`
  int max_iterations = 0;
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

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c = (G + R) λ + g.
  SolveReport solve(const Problem& problem, VectorRef lambda, VectorRef velocity);

  /// What the method carries from one solve to the next beside the caller's λ: ADMM's ρ, 0 for the others and for a
  /// fresh start. Part of a simulator's state.
  double penalty() const;
  void set_penalty(double rho);

  std::string_view name() const;
  const SolverOptions& options() const;

 private:
  struct Method;
  std::unique_ptr<Method> method_;
};

}  // namespace taut
