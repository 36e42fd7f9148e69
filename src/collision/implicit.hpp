#pragma once

#include <Eigen/Core>

namespace taut {

/// One shape's part in the conditions that place a normal and two witness points, seen in the contact's tangent plane.
struct TangentFeature {
  Eigen::Matrix2d curvature = Eigen::Matrix2d::Zero();
  Eigen::Matrix2d flat = Eigen::Matrix2d::Zero();  ///< columns, `flats` of them
  int flats = 0;
};

/// The linearized conditions of collision, solved once for every right-hand side.
///
/// With a the turn of the normal (δn = T a), e the tangential part of δp_1 − δp_2 at fixed n and fixed places on the
/// flats, W = (U_1, U_2) the flat directions, b what their own motion does to n · W, and γ the slides along them:
///
///   e + W γ = K a,   K = C_1 + C_2 + φ I,      Wᵀ a = −b
///
/// All of it is two by two. Flats decide the normal first; what they leave free the curvatures decide. Flats that
/// repeat each other (a face on a face) leave the slides open: the shortest are taken.
struct CollisionResponse {
  /// `floor` is the least that K may be along any direction: below it there is no derivative, only a finite number.
  /// What is missing is given to both shapes, half and half, as curvature.
  CollisionResponse(TangentFeature& one, TangentFeature& two, double phi, double floor);

  Eigen::Matrix2d K;
  Eigen::Matrix2d by_slip;              ///< a per e
  Eigen::Matrix<double, 2, 4> by_tilt;  ///< a per b
  Eigen::Matrix2d slide_1, slide_2;     ///< slides U_1 α and U_2 β of the two points per K a − e
  int flats_1, flats_2;
  bool unique;

  Eigen::Matrix2d tilt_1(const TangentFeature& one) const {  ///< a per turn of the first shape's flats
    return by_tilt.leftCols<2>() * one.flat.transpose();
  }
  Eigen::Matrix2d tilt_2(const TangentFeature& two) const { return by_tilt.rightCols<2>() * two.flat.transpose(); }
};

}  // namespace taut
