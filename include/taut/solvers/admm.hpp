#pragma once

#include <vector>

#include "taut/math/dense.hpp"
#include "taut/solvers/report.hpp"
#include "taut/solvers/sparse_system.hpp"

namespace taut {

/// How ADMM's penalty ρ moves with the ratio of its two residuals.
enum class PenaltyRule {
  fixed,     ///< not at all                                                     [KL, Sec. VI, FP]
  linear,    ///< by a factor of 1.5                                             [KL, eq. (171), LA]
  spectral,  ///< by a power of the condition number, which also gives the start  [KL, eq. (172), SA], [CB, Sec. III-E]
};

/// Proximal ADMM [KL, Alg. 6], with De Saxcé's term refreshed at every iteration.
///
/// Alternates a linear solve with (G + R + (η + ρ) I) and a projection of each block. The matrix is factored once per
/// ρ, densely or as a sparse one; where that would fill up, conjugate gradients start where the last ones ended.
/// Indifferent to redundant contacts and to mass ratios, which only move ρ; slow in the last digits, which are better
/// left to `Newton`. Works on the problem scaled by 1/√(mean diagonal) per block: one number a contact, so that cones
/// stay cones.
struct AdmmOptions {
  double tolerance = 1e-6;  ///< on the model's worst residual, of the projected iterate
  int max_iterations = 20'000;
  bool de_saxce = true;  ///< without it the fixed point is the convex relaxation, CCP
  PenaltyRule penalty = PenaltyRule::spectral;
  double rho = 0.0;   ///< to start from, in the scaled problem; 0: 1, or what the spectrum says
  double eta = 1e-6;  ///< proximal term, in the scaled problem, where G has ones on its diagonal
  /// ω in (0, 2) on the new iterate [KL, Alg. 6, l. 7]. 1.6 is faster on most problems and stalls on some piles and
  /// stacks, where 1.3 did not.
  double over_relaxation = 1.3;
  double ratio = 10.0;           ///< of the two residuals before ρ moves [CB, Sec. III-E]
  double linear_factor = 1.5;    ///< of the linear rule [KL, eq. (171)]
  double spectral_power = 0.05;  ///< of the spectral rule: ρ moves by κ to this power [CB, Sec. III-E]
  int patience = 2'000;          ///< iterations without gaining 1 % before the solve counts as stalled
};

/// Buffers of `Admm` and what a warm start remembers.
struct AdmmWorkspace {
  void reserve(int rows);
  MatrixView factor(int rows) { return {matrix.data(), rows, rows, Eigen::OuterStride<>(rows)}; }

  double rho = 0.0;  ///< last penalty; 0: choose one
  double rho_factored = 0.0;
  bool iterative = false;  ///< too much fill for factors
  SparseSystem system;
  double condition = 1.0;  ///< κ = λ_max / η of the scaled problem
  std::vector<double> matrix;
  std::vector<double> scale;  ///< per row: λ = scale · x
  std::vector<double> x, x_old, y, y_old, z, work, best, solved, diagonal, krylov;
};

class Admm {
 public:
  explicit Admm(AdmmOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. The dual starts from the
  /// velocity of the warm start, ρ from the last solve unless λ is zero. Does not allocate once `workspace` has the
  /// rows.
  SolveReport solve(const Problem& problem, AdmmWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const AdmmOptions& options() const { return options_; }

 private:
  AdmmOptions options_;
};

}  // namespace taut
