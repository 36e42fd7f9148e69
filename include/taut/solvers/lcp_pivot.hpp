#pragma once

#include <vector>

#include "taut/math/dense.hpp"
#include "taut/problem/lcp_residuals.hpp"
#include "taut/solvers/lemke.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// Lemke's pivots for the LCP model: exact up to rounding, whatever the conditioning, at a dense cost.
///
/// A contact with friction becomes the complementarity problem of Stewart and Trinkle, and of Anitescu and Potra, in
/// its normal impulse, one impulse β_k for each vertex d_k of the polygon, and the sliding speed σ:
///
///   0 ≤ λ_n ⊥ c_n ≥ 0,    0 ≤ β_k ⊥ d_k · c_t + σ ≥ 0,    0 ≤ σ ⊥ μ λ_n − Σ_k β_k ≥ 0,    λ_t = Σ_k β_k d_k.
///
/// Its matrix is copositive, whatever the rank of G. Joint friction makes two unknowns, a limit one; bilateral blocks
/// are eliminated beforehand. A warm start helps only if it is a solution already.
struct LcpPivotOptions {
  double tolerance = 1e-6;   ///< on the worst of `lcp_residuals`
  int sides = 4;             ///< of the pyramid
  int max_pivots = 0;        ///< 0: fifty for each unknown
  int max_unknowns = 1'500;  ///< of the LCP, sides + 2 for each contact; 1 500 take 40 MB
};

/// Buffers of `LcpPivot`.
struct LcpPivotWorkspace {
  void reserve(int rows, int unknowns);

  /// An impulse, or the multiplier σ of a bound on the sum of some.
  struct Unknown {
    int row = 0;          ///< of the impulse; of β_k the first of the two tangential ones
    int vertex = -1;      ///< k of β_k, −1 for other impulses
    bool impulse = true;  ///< not a multiplier
    int bound = -1;       ///< the multiplier of the impulse's bound, −1 if it has none
    double weight = 0.0;  ///< what one unit of the impulse adds to the slack of its bound: μ of λ_n, else −1
  };
  std::vector<Unknown> unknowns;
  std::vector<double> matrix, q;              ///< scaled G + R and g, bilateral rows eliminated
  std::vector<double> scale, offset, column;  ///< λ = scale · x;  x where every unknown is zero;  one column
  std::vector<char> eliminated;               ///< bilateral rows that the others determine
  std::vector<double> best;
  Lemke lemke;
};

class LcpPivot {
 public:
  explicit LcpPivot(LcpPivotOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// Room for problems of up to `rows` rows, as far as `max_unknowns` admits them.
  void reserve(int rows, LcpPivotWorkspace& workspace) const;

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. `stalled` where the pivots
  /// end on a ray: rows that contradict each other. Throws std::invalid_argument if the problem has more unknowns than
  /// `max_unknowns`. Does not allocate once `workspace` has the rows.
  SolveReport solve(const Problem& problem, LcpPivotWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const LcpPivotOptions& options() const { return options_; }
  const Pyramid& pyramid() const { return pyramid_; }

 private:
  LcpPivotOptions options_;
  Pyramid pyramid_;
};

}  // namespace taut
