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

}  // namespace taut
