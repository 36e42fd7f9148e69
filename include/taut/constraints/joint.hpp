#pragma once

#include <vector>

#include "taut/constraints/stabilization.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// What a joint can ask for: one row on its degrees of freedom.
struct JointRow {
  enum class Kind { lower_limit, upper_limit, ball_limit, dry_friction };
  Kind kind;
  int joint;
  int dof;
  int q_index;         ///< limits: where the coordinate stands in q; of a ball joint: its quaternion
  double angle = 0.0;  ///< ball_limit: the largest
};

/// What a limit does beside stopping: per degree of freedom of the model.
struct LimitSurface {
  Eigen::VectorXd restitution;  ///< Newton's e of the stop
  Eigen::VectorXd compliance;   ///< rad/(N m) or m/N
};

/// The largest angle that a ball joint may be turned by, in any direction.
struct BallLimit {
  int joint;
  double angle;
};

bool is_ball(const pinocchio::Model& model, int joint);

/// The rows of a model: limits of every coordinate with a finite bound whose rate is a velocity or, for a floating base
/// and a planar joint, a point's; limits of ball joints; dry friction where it is positive.
std::vector<JointRow> joint_rows(const pinocchio::Model& model, std::span<const BallLimit> ball_limits = {});

/// Distance to the limit of a row; it does not matter for dry friction.
double limit_gap(const pinocchio::Model& model, const JointRow& row, const ConstVectorRef& q);

/// Appends the rows of `candidates` that matter in this state and notes which in `active` (indices into
/// `candidates`): limits within the margin plus what the joint travels in dt, every dry friction. A negative margin
/// means limits that are violated alone.
void add_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, const LimitSurface& surface,
                    const Dynamics& dynamics, const ConstVectorRef& q, const ConstVectorRef& v, const Instant& instant,
                    const Stabilization& stabilization, Rows& rows, std::vector<int>& active);

/// Bias of these rows, the first of which is row `first`.
void bias_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, std::span<const int> active,
                     int first, const ConstVectorRef& q, const ConstVectorRef& approach, const Instant& instant,
                     const Stabilization& stabilization, Rows& rows);

/// The row of a limit on the joint's velocity, and how it turns with the joint.
struct RowSlope {
  Eigen::Vector3d values = Eigen::Vector3d::Zero();  ///< on the degrees of freedom [first, first + count)
  int first = 0, count = 1;
  Eigen::Matrix3d change = Eigen::Matrix3d::Zero();  ///< of the values, per tangent of [first_turning, + turning)
  int first_turning = 0, turning = 0;
};
RowSlope joint_row_slope(const pinocchio::Model& model, const JointRow& row, const ConstVectorRef& q);

}  // namespace taut
