#include "taut/derivatives/row_motion.hpp"

#include <pinocchio/spatial.hpp>

#include <Eigen/Geometry>

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::Force;
using pinocchio::Motion;
using Vector6 = Eigen::Matrix<double, 6, 1>;

}  // namespace

RowMotion::RowMotion(const pinocchio::Model& model) {
  twists_.resize(static_cast<std::size_t>(model.njoints), Motion::Zero());
  approach_ = twists_;
  impulses_.resize(twists_.size(), Force::Zero());
  torques_.resize(model.nv, model.nv);
  joint_of_.resize(static_cast<std::size_t>(model.nv));
  for (int joint = 1; joint < model.njoints; ++joint) {
    for (int k = 0; k < model.nvs[joint]; ++k) joint_of_[static_cast<std::size_t>(model.idx_vs[joint] + k)] = joint;
  }
}

void RowMotion::spread(const Simulator& simulator, const ConstVectorRef& v, std::vector<Motion>& twists) const {
  const auto& model = simulator.scene().model;
  const auto& columns = simulator.dynamics().columns();
  for (int joint = 1; joint < model.njoints; ++joint) {
    Vector6 twist = twists[model.parents[joint]].toVector();
    for (int k = 0; k < model.nvs[joint]; ++k) {
      twist += v[model.idx_vs[joint] + k] * columns.col(model.idx_vs[joint] + k);
    }
    twists[static_cast<std::size_t>(joint)] = Motion(twist);
  }
}

void RowMotion::update(const Simulator& simulator, const ImpulseResponse& response,
                       const CollisionDerivativeOptions& collision, bool move_contacts) {
  const Record& record = simulator.record();
  const int n = record.rows.rows(), nv = simulator.scene().model.nv;
  spread(simulator, record.v_plus, twists_);
  wants_approach_ = !simulator.bouncing().empty() || record.loop_start < n;
  if (wants_approach_) {
    spread(simulator, record.v_look, approach_);
    approach_rates_.setZero(n, nv);
  }
  rates_.setZero(n, nv);
  gaps_.setZero(n, nv);
  torques_.setZero();
  for (Force& impulse : impulses_) impulse.setZero();
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    if (response.mode(static_cast<int>(i)) == Mode::open) continue;
    ContactDerivatives moves;
    if (move_contacts) {
      moves = simulator.detector().derivatives(record.contacts[i], collision);
    } else {  // a point and a frame that stand still, with a gap that the normal alone changes
      for (auto* body : {&moves.body_1, &moves.body_2}) {
        body->gap.setZero();
        body->point.setZero();
        body->frame.setZero();
      }
      const Contact& contact = record.contacts[i];
      const Vector3d n_c = contact.frame.col(2);
      moves.body_1.gap << n_c.transpose(), contact.point.cross(n_c).transpose();
      moves.body_2.gap = -moves.body_1.gap;
    }
    add_contact(simulator, static_cast<int>(i), moves);
  }
  for (std::size_t i = 0; i < record.joint_rows.size(); ++i) {
    const auto block = static_cast<int>(record.contacts.size() + i);
    if (response.mode(block) != Mode::open) add_joint_row(simulator, static_cast<int>(i));
  }
  int row = record.loop_start;
  if (row == n) return;
  for (const Loop& loop : simulator.scene().loops) {
    add_loop(simulator, loop, row);
    row += rows_of(loop.kind).size();
  }
  for (const Coupling& coupling : simulator.scene().couplings) add_coupling(simulator, coupling, row++);
}

void RowMotion::add_contact(const Simulator& simulator, int index, const ContactDerivatives& moves) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& dynamics = simulator.dynamics();
  const auto& columns = dynamics.columns();
  const Contact& contact = record.contacts[static_cast<std::size_t>(index)];
  const int row = 3 * index;
  const Vector3d& x = contact.point;
  const Matrix3d Rt = contact.frame.transpose();
  const Vector3d f = contact.frame * record.impulse.segment<3>(row);
  const bool pushes = !f.isZero(0.0);
  const Force F(f, Vector3d(x.cross(f)));
  if (pushes) {
    for (const auto& [joint, sign] : {std::pair(contact.joint_1, 1.0), std::pair(contact.joint_2, -1.0)}) {
      if (joint != 0) impulses_[joint] += dynamics.placements()[joint].actInv(Force(Vector6(sign * F.toVector())));
    }
  }
  const auto velocity = [&](const std::vector<Motion>& twists) {
    const Motion &one = twists[contact.joint_1], &two = twists[contact.joint_2];
    return std::pair(Vector3d(one.linear() - two.linear() + (one.angular() - two.angular()).cross(x)),
                     Vector3d(one.angular() - two.angular()));
  };
  const auto [u, spin] = velocity(twists_);
  const auto [u_old, spin_old] = velocity(approach_);

  for (const auto& [joint, sign, body] :
       {std::tuple(contact.joint_1, 1.0, &moves.body_1), std::tuple(contact.joint_2, -1.0, &moves.body_2)}) {
    if (joint == 0) continue;
    for (const int j : dynamics.chain(joint)) {
      const Vector6 column = columns.col(j);
      const Motion twist(column);
      const Vector3d dx = body->point * column, turn = body->frame * column;
      gaps_(row + 2, j) += body->gap.dot(column);
      const auto parent = model.parents[static_cast<std::size_t>(joint_of_[static_cast<std::size_t>(j)])];
      const auto rate = [&](const std::vector<Motion>& twists, const Vector3d& relative, const Vector3d& turning) {
        const Motion carried = twist.cross(twists[joint] - twists[parent]);
        const Vector3d moved = sign * (carried.linear() + carried.angular().cross(x)) + turning.cross(dx);
        return Vector3d(Rt * (moved - turn.cross(relative)));
      };
      rates_.block<3, 1>(row, j) += rate(twists_, u, spin);
      if (wants_approach_) approach_rates_.block<3, 1>(row, j) += rate(approach_, u_old, spin_old);
      if (!pushes) continue;
      const Vector3d df = turn.cross(f);
      const Vector6 moved = (Vector6() << df, dx.cross(f) + x.cross(df)).finished();
      const Vector6 carried = twist.cross(F).toVector();  // what a wrench fixed in this body's frame does
      const auto add = [&](int body_joint, const Vector6& wrench) {
        for (const int k : dynamics.chain(body_joint)) torques_(k, j) += columns.col(k).dot(wrench);
      };
      add(contact.joint_1, joint == contact.joint_1 ? Vector6(moved - carried) : moved);
      if (contact.joint_2 != 0)
        add(contact.joint_2, joint == contact.joint_2 ? Vector6(carried - moved) : Vector6(-moved));
    }
  }
}

// A limit's gap grows with its own row; the row itself turns only on joints that turn.
void RowMotion::add_joint_row(const Simulator& simulator, int index) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const JointRow& joint_row = simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[index])];
  const int row = record.joint_start + index;
  if (joint_row.kind == JointRow::Kind::dry_friction) return;
  const RowSlope slope = joint_row_slope(model, joint_row, record.q_look);
  const double lambda = record.impulse[row];
  for (int k = 0; k < slope.count; ++k) gaps_(row, slope.first + k) = slope.values[k];
  if (slope.turning == 0) return;
  // Coefficients c(q) on dofs [first, first + count): dc = slope.change δ on the dofs that turn.
  for (int j = 0; j < slope.turning; ++j) {
    const int at = slope.first_turning + j;
    for (int k = 0; k < slope.count; ++k) {
      const double change = slope.change(k, j);
      rates_(row, at) += change * record.v_plus[slope.first + k];
      if (wants_approach_) approach_rates_(row, at) += change * record.v_look[slope.first + k];
      torques_(slope.first + k, at) += change * lambda;
    }
  }
}

void RowMotion::add_loop(const Simulator& simulator, const Loop& loop, int row) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& dynamics = simulator.dynamics();
  const auto& columns = dynamics.columns();
  const auto &oM1 = dynamics.placements()[loop.joint_1], &oM2 = dynamics.placements()[loop.joint_2];
  const LoopMatrix W = loop_wrenches(loop, oM1, oM2);
  const int size = static_cast<int>(W.rows());
  const auto lambda = record.impulse.segment(row, size);
  const Force F(Vector6(W.transpose() * lambda));
  if (loop.joint_2 != 0) impulses_[loop.joint_2] += oM2.actInv(F);
  if (loop.joint_1 != 0) impulses_[loop.joint_1] -= oM1.actInv(F);
  // Both bodies, one after the other: what moves them together is counted for each.
  for (const auto& [joint, sign] : {std::pair(loop.joint_2, 1.0), std::pair(loop.joint_1, -1.0)}) {
    if (joint == 0) continue;
    for (const int j : dynamics.chain(joint)) {
      const Vector6 column = columns.col(j);
      const Motion twist(column), none = Motion::Zero();
      const LoopMatrix dW = loop_wrench_rates(loop, oM1, oM2, sign < 0.0 ? twist : none, sign < 0.0 ? none : twist);
      const auto parent = model.parents[static_cast<std::size_t>(joint_of_[static_cast<std::size_t>(j)])];
      const auto rate = [&](const std::vector<Motion>& twists) {
        const Vector6 relative = (twists[loop.joint_2] - twists[loop.joint_1]).toVector();
        const Vector6 carried = twist.cross(twists[joint] - twists[parent]).toVector();
        return LoopVector(dW * relative + sign * (W * carried));
      };
      gaps_.block(row, j, size, 1) += sign * (W * column);
      rates_.block(row, j, size, 1) += rate(twists_);
      approach_rates_.block(row, j, size, 1) += rate(approach_);
      const Vector6 moved = dW.transpose() * lambda, carried = twist.cross(F).toVector();
      for (const auto& [other, side] : {std::pair(loop.joint_2, 1.0), std::pair(loop.joint_1, -1.0)}) {
        if (other == 0) continue;
        const Vector6 wrench = side * (other == joint && side == sign ? Vector6(moved - carried) : moved);
        for (const int k : dynamics.chain(other)) torques_(k, j) += columns.col(k).dot(wrench);
      }
    }
  }
}

// Its row has one coefficient that changes, that of the second joint.
void RowMotion::add_coupling(const Simulator& simulator, const Coupling& coupling, int row) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  if (is_endless(coupling, model)) return;  // coupled by velocity: no position, and a row that does not change
  gaps_(row, model.idx_vs[coupling.joint_1]) = 1.0;
  if (coupling.joint_2 == 0) return;
  const int two = model.idx_vs[coupling.joint_2];
  gaps_(row, two) = coupling_slope(coupling, model, record.q_look);
  const double bend = coupling_bend(coupling, model, record.q_look);
  rates_(row, two) = bend * record.v_plus[two];
  approach_rates_(row, two) = bend * record.v_look[two];
  torques_(two, two) += bend * record.impulse[row];
}

}  // namespace taut
