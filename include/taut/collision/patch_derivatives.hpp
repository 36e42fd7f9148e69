#pragma once

#include "taut/collision/derivatives.hpp"
#include "taut/collision/patch.hpp"

namespace taut {

/// Where two shapes touch or are closer than `margin`: at most four points, the same whichever shape comes first.
/// Throws std::invalid_argument as `distance` does.
Patch contact_patch(const Shape& first, const pinocchio::SE3& oM1, const Shape& second, const pinocchio::SE3& oM2,
                    double margin);

/// Derivatives of one point of a patch with respect to the poses of its two shapes: columns as in
/// `DistanceDerivatives`, vectors in the world.
struct PatchPointDerivatives {
  using Row = DistanceDerivatives::Row;
  using Rows = DistanceDerivatives::Rows;
  Row gap = Row::Zero();
  Rows point = Rows::Zero();                        ///< half-way between the surfaces
  Rows normal = Rows::Zero();                       ///< to the first shape
  Rows frame = Rows::Zero();                        ///< of the contact frame of that normal: a rotation vector
  CollisionMethod method = CollisionMethod::exact;  ///< that of the witness, where the point is one
};

/// Exact for points that a face gives (its normal turns with its shape, gaps are heights above it): the same corner,
/// edge or rim goes on touching. Where no face does, the point is a witness of the distance and `options` say how.
PatchPointDerivatives derivatives(const Shape& first, const Pose& first_pose, const Shape& second,
                                  const Pose& second_pose, const Patch& patch, int point,
                                  const CollisionDerivativeOptions& options = {});

/// The same with respect to the sizes of the shapes, those of `size_names`: columns as in `SizeDerivatives`. Exact; a
/// height field has none.
struct PatchPointSizeDerivatives {
  using Row = SizeDerivatives::Row;
  using Rows = SizeDerivatives::Rows;
  Row gap = Row::Zero();
  Rows point = Rows::Zero(), normal = Rows::Zero(), frame = Rows::Zero();
};
PatchPointSizeDerivatives size_derivatives(const Shape& first, const Pose& first_pose, const Shape& second,
                                           const Pose& second_pose, const Patch& patch, int point);

}  // namespace taut
