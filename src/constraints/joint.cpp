#include "taut/constraints/joint.hpp"

#include <pinocchio/spatial.hpp>

#include <Eigen/Geometry>
#include <cmath>

#include "taut/constraints/bias.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;
using Kind = JointRow::Kind;

// Of a row on the dofs [first, first + count) of a joint: its coefficients.
struct Coefficients {
  Vector3d values = Vector3d::Zero();
  int first = 0, count = 1;
};

bool is(const pinocchio::Model& model, int joint, const char* kind) {
  return model.joints[static_cast<std::size_t>(joint)].shortname() == kind;
}

Vector3d ball_turn(const JointRow& row, const ConstVectorRef& q) {
  return pinocchio::quaternion::log3(Eigen::Map<const Eigen::Quaterniond>(q.data() + row.q_index));
}

// The rate of the coordinate, as a row on the joint's velocity.
Coefficients rate_of(const pinocchio::Model& model, const JointRow& row, const ConstVectorRef& q) {
  const int first = model.idx_vs[row.joint], start = model.idx_qs[row.joint];
  if (row.kind == Kind::ball_limit) {  // d|log R|/dt = ω along the axis of the turn
    return {-ball_turn(row, q).normalized(), first, 3};
  }
  const double sign = row.kind == Kind::upper_limit ? -1.0 : 1.0;
  if (model.nqs[row.joint] == model.nvs[row.joint]) return {Vector3d(sign, 0.0, 0.0), row.dof, 1};
  if (model.nqs[row.joint] == 7) {
    const Eigen::Matrix3d R = Eigen::Map<const Eigen::Quaterniond>(q.data() + start + 3).toRotationMatrix();
    return {sign * R.row(row.q_index - start).transpose(), first, 3};
  }
  const double c = q[start + 2], s = q[start + 3];  // planar: (x, y, cos, sin)
  return {sign * (row.q_index == start ? Vector3d(c, -s, 0.0) : Vector3d(s, c, 0.0)), first, 2};
}

void add_row(const JointRow& row, const Coefficients& coefficients, const Dynamics& dynamics, Rows& rows) {
  const auto dofs = dynamics.chain(row.joint);
  auto J = rows.add_arm(row.joint, static_cast<int>(dofs.size()));
  for (std::size_t k = 0; k < dofs.size(); ++k) {
    const int at = dofs[k] - coefficients.first;
    J(0, static_cast<Eigen::Index>(k)) = at >= 0 && at < coefficients.count ? coefficients.values[at] : 0.0;
  }
}

}  // namespace

bool is_ball(const pinocchio::Model& model, int joint) { return is(model, joint, "JointModelSpherical"); }

std::vector<JointRow> joint_rows(const pinocchio::Model& model, std::span<const BallLimit> ball_limits) {
  std::vector<JointRow> found;
  for (int joint = 1; joint < model.njoints; ++joint) {
    const int dof = model.idx_vs[joint], q_index = model.idx_qs[joint];
    const int nq = model.nqs[joint], nv = model.nvs[joint];
    // The coordinates that a bound means something for: all of a joint whose v is the rate of q, the position of one
    // that floats. (cos, sin) and quaternions have none.
    int bounded = nq == nv ? nq : 0;
    if (is(model, joint, "JointModelFreeFlyer")) bounded = 3;
    if (is(model, joint, "JointModelPlanar")) bounded = 2;
    for (int k = 0; k < bounded; ++k) {
      // Pinocchio's stand-in for "no limit" is the largest double.
      const int on = dof + k;
      if (model.lowerPositionLimit[q_index + k] > -1e30) {
        found.push_back({Kind::lower_limit, joint, on, q_index + k});
      }
      if (model.upperPositionLimit[q_index + k] < 1e30) {
        found.push_back({Kind::upper_limit, joint, on, q_index + k});
      }
    }
    for (const BallLimit& limit : ball_limits) {
      if (limit.joint == joint) found.push_back({Kind::ball_limit, joint, dof, q_index, limit.angle});
    }
    for (int k = 0; k < nv; ++k) {
      if (model.upperDryFrictionLimit[dof + k] > 0.0) found.push_back({Kind::dry_friction, joint, dof + k, q_index});
    }
  }
  return found;
}

double limit_gap(const pinocchio::Model& model, const JointRow& row, const ConstVectorRef& q) {
  if (row.kind == Kind::ball_limit) return row.angle - ball_turn(row, q).norm();
  return row.kind == Kind::lower_limit ? q[row.q_index] - model.lowerPositionLimit[row.q_index]
                                       : model.upperPositionLimit[row.q_index] - q[row.q_index];
}

void add_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, const LimitSurface& surface,
                    const Dynamics& dynamics, const ConstVectorRef& q, const ConstVectorRef& v, const Instant& instant,
                    const Stabilization& stabilization, Rows& rows, std::vector<int>& active) {
  active.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const JointRow& row = candidates[i];
    if (row.kind == Kind::dry_friction) {
      rows.add_block(
          {.kind = SetKind::interval, .size = 1, .bound = instant.dt * model.upperDryFrictionLimit[row.dof]});
      add_row(row, {Vector3d::UnitX(), row.dof, 1}, dynamics, rows);
    } else {
      const double gap = limit_gap(model, row, q);
      const double speed = v.segment(model.idx_vs[row.joint], model.nvs[row.joint]).norm();
      if (gap > (stabilization.limit_margin < 0.0 ? 0.0 : stabilization.limit_margin + instant.dt * speed)) continue;
      rows.add_block({.kind = SetKind::positive, .size = 1});
      if (surface.compliance[row.dof] > 0.0) {
        rows.last_compliance()[0] = spring_compliance(surface.compliance[row.dof], instant);
      }
      add_row(row, rate_of(model, row, q), dynamics, rows);
    }
    active.push_back(static_cast<int>(i));
  }
}

void bias_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, std::span<const int> active,
                     int first, const ConstVectorRef& q, const ConstVectorRef& approach, const Instant& instant,
                     const Stabilization& stabilization, Rows& rows) {
  auto bias = rows.bias();
  const auto compliance = rows.compliance();
  Stabilization exact = stabilization;  // the allowed penetration is the contacts'
  exact.penetration = 0.0;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const JointRow& candidate = candidates[static_cast<std::size_t>(active[i])];
    if (candidate.kind == Kind::dry_friction) continue;
    const auto row = first + static_cast<Eigen::Index>(i);
    const double gap = limit_gap(model, candidate, q);
    bias[row] = bias_of_gap(gap, approach.size() > 0 ? approach[row] : 0.0, compliance[row] > 0.0,
                            stabilization.limit_correction, instant, exact)
                    .value;
  }
}

RowSlope joint_row_slope(const pinocchio::Model& model, const JointRow& row, const ConstVectorRef& q) {
  const Coefficients rate = rate_of(model, row, q);
  RowSlope slope{.values = rate.values, .first = rate.first, .count = rate.count};
  if (row.kind == Kind::ball_limit) {  // minus the axis of log R
    const Vector3d turn = ball_turn(row, q), axis = turn.normalized();
    Eigen::Matrix3d log;
    pinocchio::Jlog3(pinocchio::exp3(turn), log);
    slope.change = -(Eigen::Matrix3d::Identity() - axis * axis.transpose()) * log / turn.norm();
    slope.first_turning = rate.first;
    slope.turning = 3;
  } else if (model.nqs[row.joint] == 7) {  // a row of R, which turns: δ(Rᵀ e) = Rᵀ e × δθ
    slope.change = pinocchio::skew(rate.values);
    slope.first_turning = rate.first + 3;
    slope.turning = 3;
  } else if (model.nqs[row.joint] != model.nvs[row.joint]) {  // planar
    slope.change.col(0) = Vector3d(rate.values.y(), -rate.values.x(), 0.0);
    slope.first_turning = rate.first + 2;
    slope.turning = 1;
  }
  return slope;
}

}  // namespace taut
