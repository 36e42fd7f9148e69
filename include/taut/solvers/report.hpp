#pragma once

#include "taut/problem/residuals.hpp"

namespace taut {

/// How a solve ended. A numerical outcome is never an exception.
enum class Status {
  converged,        ///< the judge is within the tolerance
  iteration_limit,  ///< ran out of iterations
  stalled,          ///< stopped making progress above the tolerance
  not_finite,       ///< the problem or the iterate is not finite; λ is zero
};

const char* to_string(Status status);

struct SolveReport {
  Status status = Status::converged;
  int iterations = 0;
  Residuals residuals;  ///< the judge's, of the returned λ
};

}  // namespace taut
