#pragma once

#include <cstdint>
#include <optional>

#include "taut/collision/distance.hpp"

namespace taut {

/// How derivatives of collision are found.
enum class CollisionMethod {
  automatic,           ///< exact, but Gumbel's where a convex mesh takes part
  exact,               ///< of the features that touch; at a change of features, of one side
  gumbel,              ///< first order, soft-max over the neighbours of a mesh's or a box's active vertices
  gaussian,            ///< first order, the curvature of shapes with corners estimated by random directions
  gaussian_0,          ///< zeroth order: distances at random poses
  finite_differences,  ///< central, for reference
};

const char* name_of(CollisionMethod method);
CollisionMethod collision_method(const std::string& name);  ///< throws std::invalid_argument naming the choices

struct CollisionDerivativeOptions {
  CollisionMethod method = CollisionMethod::automatic;
  int samples = 20;  ///< of the Gaussian estimators
  int depth = 1;     ///< of Gumbel's: edges between an active vertex and those it takes in
  /// The blur: of Gumbel's a height in radii of the shape, of the first-order Gaussian an angle, of the zeroth order
  /// an angle for turns and a share of the smaller radius for moves. Unset, 0.02, 0.1 and 0.01.
  std::optional<double> temperature{};
  std::uint64_t seed = 0;
  double step = 1e-6;  ///< of finite differences: rad and m

  double blur(CollisionMethod used) const;
};

/// Throws std::invalid_argument naming the value.
void validate(const CollisionDerivativeOptions& options);

/// The method `automatic` stands for on this pair; any other stands for itself.
CollisionMethod chosen_method(CollisionMethod method, const Shape& first, const Shape& second);

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
  /// slides least. Normal and distance are unique all the same. Also false where a corner just touches another: the
  /// normal then has no derivative, and what stands here is finite.
  bool unique = true;
  CollisionMethod method = CollisionMethod::exact;  ///< the one that was used
};

/// Implicit differentiation of
///
///   p_1(n) − p_2(n) = φ n,   n · (directions in which a feature is flat) = 0,   |n| = 1
///
/// which holds for vertices, edges, faces and round surfaces alike ([DCD, Sec. IV] has the strictly convex case). The
/// estimators of first order replace the features of shapes with corners by a curvature. Those of zeroth order call
/// `distance`.
DistanceDerivatives derivatives(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                const pinocchio::SE3& oM2, const Distance& at,
                                const CollisionDerivativeOptions& options = {});

/// With respect to sizes, those of `size_names`: columns 0 … 2 of the first shape, 3 … 5 of the second; what a shape
/// does not have is zero. Always exact.
struct SizeDerivatives {
  using Row = Eigen::Matrix<double, 1, 6>;
  using Rows = Eigen::Matrix<double, 3, 6>;
  Row distance = Row::Zero();
  Rows normal = Rows::Zero(), point_1 = Rows::Zero(), point_2 = Rows::Zero(), frame = Rows::Zero();
  bool unique = true;
};
SizeDerivatives size_derivatives(const Shape& first, const pinocchio::SE3& oM1, const Shape& second,
                                 const pinocchio::SE3& oM2, const Distance& at);

/// How the contact frame turns when its normal changes by dn: the rotation vector of its motion.
Eigen::Vector3d frame_rotation(const Eigen::Vector3d& n, const Eigen::Vector3d& dn);

}  // namespace taut
