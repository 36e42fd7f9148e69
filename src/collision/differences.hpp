#pragma once

#include "taut/collision/derivatives.hpp"

namespace taut {

/// Central differences of `distance` in the pose of the second shape, twelve calls. Moving both shapes by one motion
/// moves the answer with them, which gives what the first does.
DistanceDerivatives central_differences(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                        const pinocchio::SE3& oM2, const Distance& at,
                                        const CollisionDerivativeOptions& options);

/// The zeroth-order estimator [DCD, eq. (6)]: the mean of (x(M ε z) − x(M)) zᵀ / ε over normal z, for the pose of the
/// second shape; of the first as above. x(M), which has mean zero there, takes most of the noise away.
DistanceDerivatives random_differences(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                       const pinocchio::SE3& oM2, const Distance& at,
                                       const CollisionDerivativeOptions& options);

}  // namespace taut
