#pragma once

#include <memory>

#include "taut/solvers/admm.hpp"
#include "taut/solvers/cluster.hpp"
#include "taut/solvers/newton.hpp"
#include "taut/solvers/pgs.hpp"
#include "taut/solvers/proximal.hpp"

namespace taut {

/// Newton on the modes of the warm start, helped where they are wrong: the default of a simulation.
///
/// From one step to the next modes rarely change and one or two Newton steps end the solve. When Newton stalls, or
/// there is no warm start, Gauss-Seidel sweeps find better modes; when neither gets anywhere, ADMM does. The judge
/// picks the iterate that is returned.
struct AutoOptions {
  double tolerance = 1e-6;      ///< on `Residuals::worst()`
  int max_iterations = 50'000;  ///< Newton steps, sweeps and ADMM iterations together
};

/// Buffers of the three methods; `newton` keeps the linearization of the last step.
struct AutoWorkspace {
  void reserve(int rows);

  NewtonWorkspace newton;
  SweepWorkspace sweeps;
  ProximalWorkspace proximal;
  AdmmWorkspace admm;
  Cluster cluster;
  std::unique_ptr<AutoWorkspace> local;  ///< of the cluster's own solves
  std::vector<double> best;
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
