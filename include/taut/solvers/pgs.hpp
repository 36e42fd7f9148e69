#pragma once

#include <vector>

#include "taut/solvers/report.hpp"

namespace taut {

/// Up to this many rows a full column of G is updated faster than its zeros are skipped: a robot, not a pile.
inline constexpr int kDenseRows = 72;

/// Projected Gauss-Seidel.
///
///   find λ such that  K_μ ∋ λ ⊥ c + Γ(c, μ) ∈ K_μ*,   c = (G + R) λ + g          [CB, eq. (15)]
///
/// A sweep visits the blocks in order and, the others frozen, corrects the block's impulse: exactly for bilateral
/// blocks, limits and joint friction; for a contact the normal impulse, then the tangential one [CB, Alg. 6]. Cheap
/// and easy to warm start; slow when masses in contact differ by orders of magnitude or contacts are redundant, where
/// `Newton` and `Admm` do better.
struct PgsOptions {
  double tolerance = 1e-6;  ///< on `Residuals::worst()`
  int max_sweeps = 10'000;
  double relaxation = 1.0;  ///< ω in (0, 2), applied to the new iterate
  int patience = 500;       ///< sweeps without gaining 1 % before the solve counts as stalled
};

/// Buffers of `Pgs`, for problems of up to the reserved number of rows.
struct PgsWorkspace {
  void reserve(int rows);

  struct Step {
    double normal = 0.0;      ///< 1/G_nn; of a scalar block 1/G_ii
    double tangential = 0.0;  ///< 1/max(G_xx, G_yy)
    double stiffness = 0.0;   ///< what turns an impulse into a velocity
  };
  struct Run {
    int start = 0, size = 0;  ///< consecutive rows that a block's impulse moves
  };
  std::vector<Step> steps;
  std::vector<Run> runs;        ///< of every block, one after the other
  std::vector<int> run_end;     ///< of block i: runs [run_end[i − 1], run_end[i])
  std::vector<double> factors;  ///< of bilateral blocks, one after the other
  std::vector<double> change;   ///< λ⁺ − λ of the block at hand
  std::vector<double> best;     ///< the best λ the judge has seen
};

class Pgs {
 public:
  explicit Pgs(PgsOptions options = {});  ///< throws std::invalid_argument if ω is outside (0, 2)

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, PgsWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const PgsOptions& options() const { return options_; }

 private:
  PgsOptions options_;
};

/// What the sweeps of one problem share: steps, factors of bilateral blocks, the pattern of G.
void prepare_sweeps(const Problem& problem, PgsWorkspace& workspace);

/// One sweep over the blocks; keeps `velocity` = (G + R) λ + g. Returns the largest change, as a velocity: an
/// estimate of the natural map that costs nothing, good enough to decide when to call the judge.
double sweep(const Problem& problem, PgsWorkspace& workspace, double relaxation, VectorRef lambda, VectorRef velocity);

}  // namespace taut
