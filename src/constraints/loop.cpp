#include "taut/constraints/loop.hpp"

#include <pinocchio/spatial.hpp>

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "taut/constraints/bias.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::SE3;
using Kind = Loop::Kind;

constexpr std::array<std::pair<Kind, const char*>, 7> kNames{{{Kind::point, "point"},
                                                              {Kind::hinge, "hinge"},
                                                              {Kind::weld, "weld"},
                                                              {Kind::slider, "slider"},
                                                              {Kind::cylindrical, "cylindrical"},
                                                              {Kind::universal, "universal"},
                                                              {Kind::distance, "distance"}}};

// The frames of a loop in the world.
struct Frames {
  SE3 one, two;
  Frames(const Loop& loop, const SE3& oM1, const SE3& oM2) : one(oM1 * loop.placement_1), two(oM2 * loop.placement_2) {}
  auto axis_1(int k) const { return one.rotation().col(k); }
  auto axis_2(int k) const { return two.rotation().col(k); }
  Vector3d apart() const { return two.translation() - one.translation(); }
};

// e · (velocity of frame 2's origin − that of the point of body 1 which is there).
WrenchRow along(const Vector3d& e, const Vector3d& point) {
  WrenchRow row;
  row << e.transpose(), point.cross(e).transpose();
  return row;
}

WrenchRow about(const Vector3d& axis) {
  WrenchRow row;
  row << 0.0, 0.0, 0.0, axis.transpose();
  return row;
}

constexpr double kRounding = 1e-14;

// An arm for each body that moves: body 2 with W, body 1 with −W. What both hang on moves them alike.
template <typename Wrenches>
void add_arms(const Loop& loop, const Wrenches& W, const Dynamics& dynamics, Rows& rows) {
  const auto& columns = dynamics.columns();
  const LoopVector sizes = W.rowwise().norm();
  const int shared =
      loop.joint_1 != 0 && loop.joint_2 != 0 ? dynamics.forest().shared_with(loop.joint_1)(loop.joint_2) : 0;
  for (const auto& [joint, sign] : {std::pair(loop.joint_2, 1.0), std::pair(loop.joint_1, -1.0)}) {
    if (joint == 0) continue;
    const auto dofs = dynamics.chain(joint);
    auto J = rows.add_arm(joint, static_cast<int>(dofs.size()));
    J.leftCols(shared).setZero();
    // What a joint of the tree cannot do, such as moving a planar linkage out of its plane, comes out as rounding. As
    // exact zeros such rows are seen to be redundant; as rounding they would ask for any impulse whatsoever.
    for (std::size_t k = static_cast<std::size_t>(shared); k < dofs.size(); ++k) {
      const Eigen::Matrix<double, 6, 1> column = sign * columns.col(dofs[k]);
      const LoopVector rates = W * column;
      const double least = kRounding * column.norm();
      for (Eigen::Index r = 0; r < W.rows(); ++r) {
        J(r, static_cast<Eigen::Index>(k)) = std::abs(rates[r]) > least * sizes[r] ? rates[r] : 0.0;
      }
    }
  }
}

}  // namespace

const char* to_string(Kind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "?";
}

Kind loop_kind(const std::string& name) {
  std::string known;
  for (const auto& [kind, text] : kNames) {
    if (name == text) return kind;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw std::invalid_argument("loop: kind '" + name + "' is not one of " + known);
}

LoopRows rows_of(Kind kind) {
  switch (kind) {
    case Kind::point:
      return {3, 0};
    case Kind::hinge:
      return {3, 2};
    case Kind::weld:
      return {3, 3};
    case Kind::slider:
      return {2, 3};
    case Kind::cylindrical:
      return {2, 2};
    case Kind::universal:
      return {3, 1};
    case Kind::distance:
      return {1, 0};
  }
  return {0, 0};
}

int drives_of(Kind kind) {
  if (kind == Kind::hinge || kind == Kind::slider) return 1;
  return kind == Kind::cylindrical || kind == Kind::universal ? 2 : 0;
}

LoopVector loop_error(const Loop& loop, const SE3& oM1, const SE3& oM2) {
  const Frames frames(loop, oM1, oM2);
  const LoopRows size = rows_of(loop.kind);
  LoopVector error(size.size());
  if (loop.kind == Kind::distance) {
    error[0] = frames.apart().norm() - loop.length;
    return error;
  }
  const Vector3d apart = frames.one.rotation().transpose() * frames.apart();
  error.head(size.linear) = apart.head(size.linear);
  if (size.angular == 3) {
    error.tail<3>() = pinocchio::log3(Matrix3d(frames.one.rotation().transpose() * frames.two.rotation()));
  } else if (size.angular == 2) {
    error.tail<2>() << frames.axis_1(0).dot(frames.axis_2(2)), frames.axis_1(1).dot(frames.axis_2(2));
  } else if (size.angular == 1) {
    error[3] = frames.axis_1(0).dot(frames.axis_2(1));
  }
  return error;
}

LoopMatrix loop_wrenches(const Loop& loop, const SE3& oM1, const SE3& oM2) {
  const Frames frames(loop, oM1, oM2);
  const LoopRows size = rows_of(loop.kind);
  const Vector3d& point = frames.two.translation();
  LoopMatrix W(size.size(), 6);
  if (loop.kind == Kind::distance) {
    W.row(0) = along(frames.apart().normalized(), point);
    return W;
  }
  for (int k = 0; k < size.linear; ++k) W.row(k) = along(frames.axis_1(k), point);
  if (size.angular == 3) {
    Matrix3d turned;
    pinocchio::Jlog3(Matrix3d(frames.one.rotation().transpose() * frames.two.rotation()), turned);
    turned = Matrix3d(turned * frames.two.rotation().transpose());
    for (int k = 0; k < 3; ++k) W.row(size.linear + k) = about(turned.row(k).transpose());
  } else if (size.angular == 2) {  // d(a · b)/dt = (ω2 − ω1) · (b × a)
    W.row(size.linear) = about(frames.axis_2(2).cross(frames.axis_1(0)));
    W.row(size.linear + 1) = about(frames.axis_2(2).cross(frames.axis_1(1)));
  } else if (size.angular == 1) {
    W.row(3) = about(frames.axis_2(1).cross(frames.axis_1(0)));
  }
  return W;
}

LoopMatrix loop_wrench_rates(const Loop& loop, const SE3& oM1, const SE3& oM2, const pinocchio::Motion& one,
                             const pinocchio::Motion& two) {
  const Frames frames(loop, oM1, oM2);
  const LoopRows size = rows_of(loop.kind);
  const Vector3d &p = frames.two.translation(), &p_1 = frames.one.translation();
  const Vector3d &w_1 = one.angular(), &w_2 = two.angular();
  const Vector3d dp = two.linear() + w_2.cross(p);
  LoopMatrix W(size.size(), 6);
  const auto along_rate = [&](const Vector3d& e, const Vector3d& de) {
    WrenchRow row;
    row << de.transpose(), (dp.cross(e) + p.cross(de)).transpose();
    return row;
  };
  if (loop.kind == Kind::distance) {
    const double length = frames.apart().norm();
    const Vector3d e = frames.apart() / length, moved = dp - one.linear() - w_1.cross(p_1);
    W.row(0) = along_rate(e, (moved - e.dot(moved) * e) / length);
    return W;
  }
  for (int k = 0; k < size.linear; ++k) W.row(k) = along_rate(frames.axis_1(k), w_1.cross(frames.axis_1(k)));
  if (size.angular == 3) {
    const Matrix3d apart = frames.one.rotation().transpose() * frames.two.rotation();
    const Matrix3d back = frames.two.rotation().transpose();
    Matrix3d log;
    pinocchio::Jlog3(apart, log);
    // Jlog(r) = I + [r]/2 + [r]²/12 + …
    const Matrix3d r = pinocchio::skew(Vector3d(pinocchio::log3(apart)));
    const Matrix3d dr = pinocchio::skew(Vector3d(log * back * (w_2 - w_1)));
    const Matrix3d turned = (0.5 * dr + (dr * r + r * dr) / 12.0) * back - log * back * pinocchio::skew(w_2);
    for (int k = 0; k < 3; ++k) W.row(size.linear + k) = about(turned.row(k).transpose());
    return W;
  }
  const auto about_rate = [&](const Vector3d& b, const Vector3d& a) {
    return about(w_2.cross(b).cross(a) + b.cross(w_1.cross(a)));
  };
  if (size.angular == 2) {
    W.row(size.linear) = about_rate(frames.axis_2(2), frames.axis_1(0));
    W.row(size.linear + 1) = about_rate(frames.axis_2(2), frames.axis_1(1));
  } else if (size.angular == 1) {
    W.row(3) = about_rate(frames.axis_2(1), frames.axis_1(0));
  }
  return W;
}

LoopGap loop_gap(const Loop& loop, const SE3& oM1, const SE3& oM2) {
  const LoopVector error = loop_error(loop, oM1, oM2);
  const LoopRows size = rows_of(loop.kind);
  LoopGap gap{error.head(size.linear).norm(), error.tail(size.angular).norm()};
  if (size.angular == 2) {  // two cosines do not tell an axis from its opposite
    const Frames frames(loop, oM1, oM2);
    gap.angular = std::atan2(gap.angular, frames.axis_1(2).dot(frames.axis_2(2)));
  }
  return gap;
}

double loop_coordinate(const Loop& loop, int drive, const SE3& oM1, const SE3& oM2) {
  const Frames frames(loop, oM1, oM2);
  if (loop.kind == Kind::slider || (loop.kind == Kind::cylindrical && drive == 0)) {
    return frames.axis_1(2).dot(frames.apart());
  }
  // The angle of an axis of the second frame in a plane of the first, or the other way round.
  if (loop.kind == Kind::universal && drive == 0) {
    return std::atan2(frames.axis_1(2).dot(frames.axis_2(1)), frames.axis_1(1).dot(frames.axis_2(1)));
  }
  if (loop.kind == Kind::universal) {
    return std::atan2(frames.axis_1(0).dot(frames.axis_2(2)), frames.axis_1(0).dot(frames.axis_2(0)));
  }
  return std::atan2(frames.axis_1(1).dot(frames.axis_2(0)), frames.axis_1(0).dot(frames.axis_2(0)));
}

WrenchRow loop_drive(const Loop& loop, int drive, const SE3& oM1, const SE3& oM2) {
  const Frames frames(loop, oM1, oM2);
  if (loop.kind == Kind::slider || (loop.kind == Kind::cylindrical && drive == 0)) {
    return along(frames.axis_1(2), frames.two.translation());
  }
  if (loop.kind == Kind::universal) return about(drive == 0 ? frames.axis_1(0) : frames.axis_2(1));
  return about(frames.axis_1(2));
}

void add_loop(const Loop& loop, const Dynamics& dynamics, const Instant& instant, Rows& rows) {
  const LoopRows size = rows_of(loop.kind);
  rows.add_block({.kind = SetKind::free, .size = size.size()});
  if (loop.compliance > 0.0) {
    rows.last_compliance().head(size.linear).setConstant(spring_compliance(loop.compliance, instant));
  }
  if (loop.angular_compliance > 0.0) {
    rows.last_compliance().tail(size.angular).setConstant(spring_compliance(loop.angular_compliance, instant));
  }
  const auto& placements = dynamics.placements();
  add_arms(loop, loop_wrenches(loop, placements[loop.joint_1], placements[loop.joint_2]), dynamics, rows);
}

void add_loop_drive(const Loop& loop, int drive, const Dynamics& dynamics, Rows& rows) {
  rows.add_block({.kind = SetKind::free, .size = 1});
  const auto& placements = dynamics.placements();
  add_arms(loop, loop_drive(loop, drive, placements[loop.joint_1], placements[loop.joint_2]), dynamics, rows);
}

LoopVector loop_correction(const LoopVector& error, const Instant& instant, const Stabilization& stabilization) {
  return bias_of_closure(error, LoopVector::Zero(error.size()), instant, stabilization).closing;
}

void loop_bend(const ConstVectorRef& error, const ConstVectorRef& ahead, const ConstVectorRef& rate,
               const Instant& instant, VectorRef bend) {
  bend = (bend_share(instant) / instant.dt) * (ahead - error - instant.ahead * rate);
}

}  // namespace taut
