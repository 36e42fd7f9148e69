#pragma once

#include "taut/problem/residuals.hpp"

namespace taut {

/// How a solve ended. A numerical outcome is never an exception.
enum class Status {
  converged,        ///< the judge of the method's model is within the tolerance
  iteration_limit,  ///< ran out of iterations
  stalled,          ///< stopped making progress above the tolerance
  not_finite,       ///< problem or iterate is not finite, or so large or small that its squares are not; λ is zero
};

const char* to_string(Status status);

/// The contact law a method solves. Only `ncp` is Signorini, Coulomb and maximum dissipation; the others relax one of
/// them (docs/models.md).
enum class Model {
  ncp,     ///< the exact law                                                    [CB, eq. (15)]
  ccp,     ///< without De Saxcé's term: sliding contacts lift off               [CB, eq. (16)]
  lcp,     ///< a pyramid for the cone: friction depends on the direction        [CB, Sec. III-A]
  raisim,  ///< Signorini kept, dissipation given up                             [CB, eq. (23)]
};

/// "NCP", "CCP", "LCP" or "RaiSim".
const char* to_string(Model model);

struct SolveReport {
  Status status = Status::converged;
  int iterations = 0;
  /// Of the returned λ. A method reports what its own model is left with; `Solver` replaces it by the judge's of the
  /// exact law, whatever the model, and keeps the model's worst number below.
  Residuals residuals;
  double model_residual = 0.0;
};

}  // namespace taut
