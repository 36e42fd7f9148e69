#pragma once

#include <pinocchio/spatial.hpp>

#include "taut/collision/feature.hpp"

namespace taut {

/// The signed distance of two convex shapes and where it is attained. φ is the largest separation over all directions,
/// point_1 − point_2 = φ n, and n points to the first shape.
struct Distance {
  double distance = 0.0;                              ///< φ, negative in penetration
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();  ///< n, world
  Eigen::Vector3d point_1 = Eigen::Vector3d::Zero();  ///< on the first shape, world
  Eigen::Vector3d point_2 = Eigen::Vector3d::Zero();  ///< on the second
};

/// By Coal's GJK and EPA, then by Newton's method on the features they found: where a feature is curved GJK is good to
/// the root of its tolerance, Newton's to rounding. Throws std::invalid_argument for height fields, for two
/// half-spaces, and for poses that are not finite.
Distance distance(const Shape& first, const pinocchio::SE3& oM1, const Shape& second, const pinocchio::SE3& oM2);

/// Derivatives with respect to the two poses: columns 0 … 5 are (linear, angular) of the first in its own frame, as
/// Pinocchio's tangents are, columns 6 … 11 of the second. All vectors are in the world.
struct DistanceDerivatives {
  using Row = Eigen::Matrix<double, 1, 12>;
  using Rows = Eigen::Matrix<double, 3, 12>;
  Row distance = Row::Zero();
  Rows normal = Rows::Zero(), point_1 = Rows::Zero(), point_2 = Rows::Zero();
  /// Of the contact frame (t1, t2, n): the rotation vector of its motion.
  Rows frame = Rows::Zero();
  /// False where features are parallel (a face on a face): the points may then slide, and theirs is the derivative that
  /// slides least. Normal and distance are unique all the same.
  bool unique = true;
};

/// Exact where the features do not change: implicit differentiation of
///
///   p_1(n) − p_2(n) = φ n,   n · (directions in which a feature is flat) = 0,   |n| = 1
///
/// which holds for vertices, edges, faces and round surfaces alike ([DCD, Sec. IV] has the strictly convex case). At a
/// change of features it is the derivative of one side.
DistanceDerivatives derivatives(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                const pinocchio::SE3& oM2, const Distance& at);

/// The same by central differences of `distance`, 24 calls of it: for reference. Throws std::invalid_argument for h ≤
/// 0.
DistanceDerivatives central_differences(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                        const pinocchio::SE3& oM2, double h = 1e-6);

}  // namespace taut
