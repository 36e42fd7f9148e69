#pragma once

#include <pinocchio/spatial.hpp>

#include <Eigen/Core>
#include <string>

#include "taut/constraints/stabilization.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// A joint that is not part of a kinematic tree: it holds a frame of one body to a frame of another, or of the world,
/// and so closes a loop [KL, Sec. IV-B]. Its rows are `free` blocks, kept closed at every step.
///
/// The axis of a joint is the z axis of both frames; a universal joint turns about x of the first and y of the second,
/// which stay at a right angle. A slider moves along z of the first frame.
struct Loop {
  enum class Kind { point, hinge, weld, slider, cylindrical, universal, distance };
  std::string name{};
  Kind kind = Kind::point;
  int joint_1 = 0, joint_2 = 0;  ///< joints of the model that carry the frames; 0 is the world
  pinocchio::SE3 placement_1 = pinocchio::SE3::Identity(), placement_2 = pinocchio::SE3::Identity();
  double length = 0.0;              ///< of `distance`, between the two origins
  double compliance = 0.0;          ///< m/N of the rows that hold a position; 0: rigid
  double angular_compliance = 0.0;  ///< rad/(N m) of the rows that hold a direction
};

/// "point", "hinge", … and back; throws std::invalid_argument naming an unknown one.
const char* to_string(Loop::Kind kind);
Loop::Kind loop_kind(const std::string& name);

/// How many rows hold a position and how many a direction; together they are the size of the block.
struct LoopRows {
  int linear, angular;
  int size() const { return linear + angular; }
};
LoopRows rows_of(Loop::Kind kind);
/// Directions a motor can drive: turning or sliding about the axis of a hinge (1) or slider (1), sliding and turning of
/// a cylindrical joint (2), the two angles of a universal one (2).
int drives_of(Loop::Kind kind);

using LoopVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1>;
using LoopMatrix = Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6>;
using WrenchRow = Eigen::Matrix<double, 1, 6>;

/// φ: zero where the loop is closed. Metres first, then what is radians for small errors. oM1 and oM2 are the
/// placements of the joints that carry the frames.
LoopVector loop_error(const Loop& loop, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2);

/// dφ/dt = W (V2 − V1) for the bodies' spatial velocities in the world, anywhere, not only where the loop is closed.
LoopMatrix loop_wrenches(const Loop& loop, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2);

/// dW/dt while the bodies move by these twists of the world. The angular rows of welds and sliders to second order in
/// the error, which a closed loop does not have.
LoopMatrix loop_wrench_rates(const Loop& loop, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2,
                             const pinocchio::Motion& one, const pinocchio::Motion& two);

/// How far a loop is open: m and rad. A weld or slider turned by any angle and a hinge turned over are seen.
struct LoopGap {
  double linear = 0.0, angular = 0.0;
};
LoopGap loop_gap(const Loop& loop, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2);

/// Coordinate `drive` of a closed loop (m or rad) and the row of its rate.
double loop_coordinate(const Loop& loop, int drive, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2);
WrenchRow loop_drive(const Loop& loop, int drive, const pinocchio::SE3& oM1, const pinocchio::SE3& oM2);

/// Appends the rows of a loop.
void add_loop(const Loop& loop, const Dynamics& dynamics, const Instant& instant, Rows& rows);

/// Appends one row W (V2 − V1): a motor on a loop's coordinate.
void add_loop_drive(const Loop& loop, int drive, const Dynamics& dynamics, Rows& rows);

/// Bias that closes a loop: the share `loop_correction` of φ, not faster than allowed.
LoopVector loop_correction(const LoopVector& error, const Instant& instant, const Stabilization& stabilization);

/// `bend` receives a bias for what φ bends on the way: `error` is φ where the step looks, `ahead` is φ where the old
/// velocity would lead from there, `rate` is J v of that velocity.
void loop_bend(const ConstVectorRef& error, const ConstVectorRef& ahead, const ConstVectorRef& rate,
               const Instant& instant, VectorRef bend);

}  // namespace taut
