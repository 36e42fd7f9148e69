#pragma once

#include <memory>

#include "taut/solvers/admm.hpp"
#include "taut/solvers/cluster.hpp"
#include "taut/solvers/elimination.hpp"
#include "taut/solvers/lcp_pivot.hpp"
#include "taut/solvers/newton.hpp"
#include "taut/solvers/pgs.hpp"
#include "taut/solvers/proximal.hpp"

namespace taut {

/// Newton on the modes of the warm start, helped where they are wrong: the default of a simulation.
///
/// From one step to the next modes rarely change and one or two Newton steps end the solve. When Newton stalls, or
/// there is no warm start, Gauss-Seidel sweeps find better modes; when neither gets anywhere, pivots on the pyramid
/// give another start, and ADMM has the last word. The judge picks the iterate that is returned. Bilateral blocks are
/// eliminated first and all of this happens without them, unless they are part of a sparse problem with hundreds of
/// other rows.
struct AutoOptions {
  double tolerance = 1e-6;      ///< on `Residuals::worst()`
  int max_iterations = 50'000;  ///< Newton steps, sweeps and ADMM iterations together
};

/// Buffers of all methods; `newton` keeps the linearization of the last step.
struct AutoWorkspace {
  void reserve(int rows);

  NewtonWorkspace newton;
  SweepWorkspace sweeps;
  ProximalWorkspace proximal;
  AdmmWorkspace admm;
  Cluster cluster;
  std::unique_ptr<AutoWorkspace> local;  ///< of the cluster's own solves
  /// Pivots on pyramids of four and of eight sides; made when first needed, for they are large.
  struct Pivots {
    LcpPivot four{{.sides = 4, .max_pivots = 2'000}}, eight{{.sides = 8, .max_pivots = 2'000}};
    LcpPivotWorkspace workspace;
  };
  std::unique_ptr<Pivots> pivots;
  Elimination elimination;
  bool joints_factored = false;            ///< by the caller, of the very problem to be solved
  std::vector<double> best, best_reduced;  ///< of the whole problem and without its bilateral blocks
};

class Auto {
 public:
  explicit Auto(AutoOptions options = {});

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, AutoWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  const AutoOptions& options() const { return options_; }

 private:
  AutoOptions options_;
};

}  // namespace taut
