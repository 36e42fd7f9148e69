#pragma once

#include "taut/collision/patch.hpp"

namespace taut {

/// What Frank-Wolfe found: a baseline for GJK, which is the same with a simplex instead of a segment [GJK, Sec. II].
struct FrankWolfeReport {
  double distance = 0.0;  ///< |x|, an upper bound; 0 if the shapes share a point to within the tolerance
  int iterations = 0;
  bool converged = false;
};

/// The distance of two convex shapes by Frank-Wolfe with line search [GJK, Alg. 1]: x is projected from the origin onto
/// the segment to the support point s along −x, until the duality gap 2 x·(x − s) is below `tolerance` (m²) or |x|² is.
/// Throws std::invalid_argument if the tolerance or the limit is not positive.
FrankWolfeReport frank_wolfe(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                             double tolerance = 1e-8, int max_iterations = 100'000);

}  // namespace taut
