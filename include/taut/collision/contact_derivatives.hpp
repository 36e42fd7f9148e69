#pragma once

#include "taut/collision/patch_derivatives.hpp"

namespace taut {

/// How a contact moves with its two bodies: per world twist (linear at the world's origin, angular) of each.
struct ContactDerivatives {
  using Row = Eigen::Matrix<double, 1, 6>;
  using Rows = Eigen::Matrix<double, 3, 6>;
  struct Body {
    Row gap;
    Rows point;  ///< of `Contact::point`
    Rows frame;  ///< of `Contact::frame`: a rotation vector
  };
  Body body_1, body_2;
  CollisionMethod method = CollisionMethod::exact;
};

/// How it moves with the sizes of the two shapes, those of `size_names`: columns 0 … 2 of the one on body 1, 3 … 5 of
/// the one on body 2.
struct ContactSizeDerivatives {
  Eigen::Matrix<double, 1, 6> gap;
  Eigen::Matrix<double, 3, 6> point, frame;
};

}  // namespace taut
