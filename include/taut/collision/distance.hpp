#pragma once

#include <pinocchio/spatial.hpp>

#include "taut/collision/feature.hpp"
#include "taut/collision/gjk.hpp"

namespace taut {

/// The signed distance of two convex shapes and where it is attained. φ is the largest separation over all directions,
/// point_1 − point_2 = φ n, and n points to the first shape.
struct Distance {
  double distance = 0.0;                              ///< φ, negative in penetration
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();  ///< n, world
  Eigen::Vector3d point_1 = Eigen::Vector3d::Zero();  ///< on the first shape, world
  Eigen::Vector3d point_2 = Eigen::Vector3d::Zero();  ///< on the second
  int vertex_1 = 0, vertex_2 = 0;                     ///< of a mesh: near what a search along n finds
};

/// Of spheres and capsules in closed form. Of others by Coal's GJK and EPA, then by Newton's method on the features
/// they found: where a feature is curved GJK is good to the root of its tolerance, Newton's to rounding. Deep in each
/// other curved shapes are searched from several directions. Throws std::invalid_argument for height fields, for two
/// half-spaces, and for poses that are not finite.
Distance distance(const Shape& first, const pinocchio::SE3& oM1, const Shape& second, const pinocchio::SE3& oM2,
                  Gjk& gjk);
/// With a GJK of its own, one per thread.
Distance distance(const Shape& first, const pinocchio::SE3& oM1, const Shape& second, const pinocchio::SE3& oM2);

/// Whether two shapes, one of them curved, overlap by so much that several directions may each separate them more than
/// all nearby, and EPA's may be the wrong one.
bool deep(const Shape& first, const Shape& second, double distance);

/// Newton's method from an answer that is nearly right; true if the normal then separates the shapes by the distance.
bool refine(const Shape& first, const pinocchio::SE3& oM1, const Shape& second, const pinocchio::SE3& oM2,
            Distance& at);

}  // namespace taut
