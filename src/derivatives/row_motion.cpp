#include "taut/derivatives/row_motion.hpp"

#include <pinocchio/spatial.hpp>

#include <Eigen/Geometry>
#include <algorithm>

#include "taut/math/interruption.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::Force;
using pinocchio::Motion;

}  // namespace

Matrix6 BlockMotion::wrenches(const Body& body, const ConstVectorRef& lambda) const {
  Matrix6 result;
  if (!is_contact) {
    for (int k = 0; k < 6; ++k) result.col(k).noalias() = body.rates[k].transpose() * lambda;
    return result;
  }
  // f = R λ turns with the frame, its moment x × f with the point, too.
  const Vector3d f = R * lambda;
  const Matrix3d F = pinocchio::skew(f);
  result.topRows<3>().noalias() = -F * body.frame;
  result.bottomRows<3>().noalias() = pinocchio::skew(x) * result.topRows<3>();
  result.bottomRows<3>().noalias() -= F * body.point;
  return result;
}

LoopMatrix BlockMotion::velocities(const Body& body, const Vector6& relative) const {
  LoopMatrix result(size(), 6);
  if (!is_contact) {
    for (int k = 0; k < 6; ++k) result.col(k).noalias() = body.rates[k] * relative;
    return result;
  }
  const Vector3d spin = relative.tail<3>(), u = relative.head<3>() + spin.cross(x);
  Eigen::Matrix<double, 3, 6> world = pinocchio::skew(u) * body.frame;
  world.noalias() += pinocchio::skew(spin) * body.point;
  result.noalias() = R.transpose() * world;
  return result;
}

RowMotion::RowMotion(const pinocchio::Model& model) {
  twists_.resize(static_cast<std::size_t>(model.njoints), Vector6::Zero());
  approach_ = twists_;
  impulses_.resize(twists_.size(), Force::Zero());
  torques_.resize(model.nv, model.nv);
  joint_of_.resize(static_cast<std::size_t>(model.nv));
  for (int joint = 1; joint < model.njoints; ++joint) {
    for (int k = 0; k < model.nvs[joint]; ++k) joint_of_[static_cast<std::size_t>(model.idx_vs[joint] + k)] = joint;
  }
}

void RowMotion::spread(const Simulator& simulator, const ConstVectorRef& v, std::vector<Vector6>& twists) {
  const auto& model = simulator.scene().model;
  const auto& columns = simulator.dynamics().columns();
  twists.resize(static_cast<std::size_t>(model.njoints));
  twists[0].setZero();
  for (int joint = 1; joint < model.njoints; ++joint) {
    Vector6 twist = twists[model.parents[joint]];
    for (int k = 0; k < model.nvs[joint]; ++k) {
      twist += v[model.idx_vs[joint] + k] * columns.col(model.idx_vs[joint] + k);
    }
    twists[static_cast<std::size_t>(joint)] = twist;
  }
}

// Blocks keep their memory from step to step.
BlockMotion& RowMotion::next() {
  if (static_cast<std::size_t>(count_) == blocks_.size()) blocks_.emplace_back();
  return blocks_[static_cast<std::size_t>(count_++)];
}

void RowMotion::update(const Simulator& simulator, const ImpulseResponse& response,
                       const CollisionDerivativeOptions& collision, bool move_contacts) {
  const Record& record = simulator.record();
  const int n = record.rows.rows();
  count_ = 0;
  spread(simulator, record.v_plus, twists_);
  looks_back_ =
      !simulator.bouncing().empty() || record.loop_start < n || simulator.options().integrator == Integrator::moreau;
  if (looks_back_) spread(simulator, record.v_look, approach_);
  for (Force& impulse : impulses_) impulse.setZero();
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    if (response.mode(static_cast<int>(i)) == Mode::open) continue;
    add_contact(simulator, static_cast<int>(i), collision, move_contacts);
  }
  int row = record.loop_start, block = static_cast<int>(record.contacts.size() + record.joint_rows.size());
  for (const Loop& loop : simulator.scene().loops) {
    if (row == n) break;
    add_loop(simulator, loop, block++, row);
    row += rows_of(loop.kind).size();
  }
  // What they push.
  for (const BlockMotion& motion : blocks()) {
    const auto lambda = record.impulse.segment(motion.start, motion.size());
    if (lambda.isZero(0.0)) continue;
    const Vector6 F = motion.W.transpose() * lambda;
    for (const BlockMotion::Body& body : motion.bodies) {
      if (body.joint == 0) continue;
      impulses_[static_cast<std::size_t>(body.joint)] +=
          simulator.dynamics().placements()[static_cast<std::size_t>(body.joint)].actInv(Force(Vector6(body.sign * F)));
    }
  }
}

void RowMotion::add_contact(const Simulator& simulator, int index, const CollisionDerivativeOptions& collision,
                            bool move_contacts) {
  const Contact& contact = simulator.record().contacts[static_cast<std::size_t>(index)];
  BlockMotion& motion = next();
  motion.block = index;
  motion.start = 3 * index;
  motion.is_contact = true;
  motion.x = contact.point;
  motion.R = contact.frame;
  motion.W.resize(3, 6);
  motion.W.leftCols<3>() = contact.frame.transpose();
  motion.W.rightCols<3>().noalias() = -contact.frame.transpose() * pinocchio::skew(contact.point);
  motion.bodies[0].joint = contact.joint_1;
  motion.bodies[1].joint = contact.joint_2;
  motion.bodies[0].sign = 1.0;
  motion.bodies[1].sign = -1.0;
  ContactDerivatives moves;
  may_interrupt(100);  // by differences a contact takes milliseconds
  if (move_contacts) moves = simulator.detector().derivatives(contact, collision);
  for (auto& body : motion.bodies) {
    const auto& own = &body == &motion.bodies[0] ? moves.body_1 : moves.body_2;
    body.gap.setZero(3, 6);
    if (move_contacts) {
      body.point = own.point;
      body.frame = own.frame;
      body.gap.row(2) = own.gap;
    } else {  // a point and a frame that stand still, with a gap that the normal alone changes
      body.point.setZero();
      body.frame.setZero();
      body.gap.row(2) = body.sign * motion.W.row(2);
    }
  }
}

void RowMotion::add_loop(const Simulator& simulator, const Loop& loop, int block, int row) {
  const auto& placements = simulator.dynamics().placements();
  const auto &oM1 = placements[static_cast<std::size_t>(loop.joint_1)],
             &oM2 = placements[static_cast<std::size_t>(loop.joint_2)];
  BlockMotion& motion = next();
  motion.block = block;
  motion.start = row;
  motion.is_contact = false;
  motion.W = loop_wrenches(loop, oM1, oM2);
  const Motion still = Motion::Zero();
  for (int side = 0; side < 2; ++side) {
    BlockMotion::Body& body = motion.bodies[static_cast<std::size_t>(side)];
    body.joint = side == 0 ? loop.joint_2 : loop.joint_1;
    body.sign = side == 0 ? 1.0 : -1.0;
    body.gap = body.sign * motion.W;
    if (body.joint == 0) continue;
    for (int k = 0; k < 6; ++k) {
      const Motion unit(Vector6(Vector6::Unit(k)));
      body.rates[static_cast<std::size_t>(k)] =
          loop_wrench_rates(loop, oM1, oM2, side == 0 ? still : unit, side == 0 ? unit : still);
    }
  }
}

void RowMotion::fill(const Simulator& simulator, const ImpulseResponse& response) {
  const Record& record = simulator.record();
  const int n = record.rows.rows(), nv = simulator.scene().model.nv;
  rates_.setZero(nv, n);
  gaps_.setZero(nv, n);
  if (looks_back_) approach_rates_.setZero(nv, n);
  torques_.setZero();
  turnings_.clear();
  for (const BlockMotion& motion : blocks()) {
    may_interrupt();
    fill_block(simulator, motion);
  }
  const auto& dynamics = simulator.dynamics();
  const auto& columns = dynamics.columns();
  for (const Turning& turning : turnings_) {
    for (const int j : dynamics.chain(turning.moved)) {
      const Vector6 wrench = turning.matrix * columns.col(j);
      for (const int k : dynamics.chain(turning.pushed)) torques_(k, j) += columns.col(k).dot(wrench);
    }
  }
  for_each_entry(
      simulator, response, [&](int row, int dof, double slope) { gaps_(dof, row) = slope; },
      [&](int row, int dof, int on, double change) {
        rates_(dof, row) += change * record.v_plus[on];
        if (looks_back_) approach_rates_(dof, row) += change * record.v_look[on];
        torques_(on, dof) += change * record.impulse[row];
      });
}

// Rows of joints and couplings, entry by entry: gap(row, dof, dφ/dq of that dof), and turn(row, dof, on, change) where
// the coefficient of the row on one degree of freedom changes with another.
template <typename Gap, typename Turn>
void RowMotion::for_each_entry(const Simulator& simulator, const ImpulseResponse& response, Gap&& gap,
                               Turn&& turn) const {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const int n = record.rows.rows();
  for (std::size_t i = 0; i < record.joint_rows.size(); ++i) {
    const JointRow& joint_row = simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[i])];
    if (joint_row.kind == JointRow::Kind::dry_friction) continue;
    if (response.mode(static_cast<int>(record.contacts.size() + i)) == Mode::open) continue;
    const int row = record.joint_start + static_cast<int>(i);
    // A limit's gap grows with its own row; the row itself turns only on joints that turn.
    const RowSlope slope = joint_row_slope(model, joint_row, record.q_look);
    for (int k = 0; k < slope.count; ++k) gap(row, slope.first + k, slope.values[k]);
    for (int j = 0; j < slope.turning; ++j) {
      for (int k = 0; k < slope.count; ++k) turn(row, slope.first_turning + j, slope.first + k, slope.change(k, j));
    }
  }
  int row = record.loop_start;
  if (row == n) return;
  for (const Loop& loop : simulator.scene().loops) row += rows_of(loop.kind).size();
  for (const Coupling& coupling : simulator.scene().couplings) {
    const int at = row++;
    if (is_endless(coupling, model)) continue;  // coupled by velocity: no position, and a row that does not change
    gap(at, model.idx_vs[coupling.joint_1], 1.0);
    if (coupling.joint_2 == 0) continue;
    const int two = model.idx_vs[coupling.joint_2];  // the one coefficient that changes
    gap(at, two, coupling_slope(coupling, model, record.q_look));
    turn(at, two, two, coupling_bend(coupling, model, record.q_look));
  }
}

void RowMotion::fill_block(const Simulator& simulator, const BlockMotion& motion) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& dynamics = simulator.dynamics();
  const auto& columns = dynamics.columns();
  const int row = motion.start, size = motion.size();
  const auto lambda = record.impulse.segment(row, size);
  const bool pushes = !lambda.isZero(0.0);
  const Vector6 F = motion.W.transpose() * lambda;
  const auto turning = [&](int pushed, int moved) -> Matrix6& {
    for (Turning& known : turnings_) {
      if (known.pushed == pushed && known.moved == moved) return known.matrix;
    }
    turnings_.push_back({pushed, moved, Matrix6::Zero()});
    return turnings_.back().matrix;
  };
  for (const BlockMotion::Body& body : motion.bodies) {
    if (body.joint == 0) continue;
    // d(W V) = dW V + W (S × (V_b − V_parent)): all but the parent's part is one matrix.
    const auto fill = [&](const std::vector<Vector6>& twists, Eigen::MatrixXd& out) {
      const Vector6 relative = motion.bodies[0].sign * twists[static_cast<std::size_t>(motion.bodies[0].joint)] +
                               motion.bodies[1].sign * twists[static_cast<std::size_t>(motion.bodies[1].joint)];
      LoopMatrix rate = motion.velocities(body, relative);
      const LoopMatrix carried = body.sign * motion.W;
      rate.noalias() -= carried * twist_cross(twists[static_cast<std::size_t>(body.joint)]);
      for (const int j : dynamics.chain(body.joint)) {
        const auto parent = model.parents[static_cast<std::size_t>(joint_of(j))];
        const Vector6 column = columns.col(j);
        const LoopVector change = rate * column - carried * cross(column, twists[parent]);
        for (int r = 0; r < size; ++r) out(j, row + r) += change[r];
      }
    };
    fill(twists_, rates_);
    if (looks_back_) fill(approach_, approach_rates_);
    for (const int j : dynamics.chain(body.joint)) {
      const Vector6 column = columns.col(j);
      if (motion.is_contact) {
        gaps_(j, row + 2) += body.gap.row(2).dot(column);
      } else {
        for (int r = 0; r < size; ++r) gaps_(j, row + r) += body.gap.row(r).dot(column);
      }
    }
    if (!pushes) continue;
    const Matrix6 moved = motion.wrenches(body, lambda);
    for (const BlockMotion::Body& other : motion.bodies) {
      if (other.joint == 0) continue;
      Matrix6& sum = turning(other.joint, body.joint);
      sum += other.sign * moved;
      if (&other != &body) continue;
      // Less what a wrench fixed in this body's frame does: S ×* F, as a matrix on S.
      const Vector3d f = F.head<3>(), m = F.tail<3>();
      sum.topRightCorner<3, 3>() += body.sign * pinocchio::skew(f);
      sum.bottomLeftCorner<3, 3>() += body.sign * pinocchio::skew(f);
      sum.bottomRightCorner<3, 3>() += body.sign * pinocchio::skew(m);
    }
  }
}

// What a body's twist S changes is S · moved; what its parent's twist V takes away is S · (V ×* carried), summed over
// all that hangs on a joint.
void RowMotion::pull(const Simulator& simulator, const ImpulseResponse& response, const Multipliers& bars,
                     VectorRef q_bar) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& columns = simulator.dynamics().columns();
  const auto joints = static_cast<std::size_t>(model.njoints);
  spread(simulator, bars.w, virtual_);
  for (auto* sum : {&moved_, &carried_, &carried_back_}) sum->assign(joints, Vector6::Zero());
  for (const BlockMotion& motion : blocks()) {
    const int size = motion.size();
    const auto relative = [&](const std::vector<Vector6>& twists) {
      return Vector6(motion.bodies[0].sign * twists[static_cast<std::size_t>(motion.bodies[0].joint)] +
                     motion.bodies[1].sign * twists[static_cast<std::size_t>(motion.bodies[1].joint)]);
    };
    const LoopVector y = bars.rate.segment(motion.start, size), gap = bars.gap.segment(motion.start, size),
                     lambda = record.impulse.segment(motion.start, size);
    const bool pushes = !lambda.isZero(0.0);
    const Vector6 Y = motion.W.transpose() * y, F = motion.W.transpose() * lambda, V = relative(twists_),
                  W = relative(virtual_);
    for (const BlockMotion::Body& body : motion.bodies) {
      if (body.joint == 0) continue;
      const auto at = static_cast<std::size_t>(body.joint);
      moved_[at].noalias() += motion.wrenches(body, y).transpose() * V;
      moved_[at] += body.sign * cross_dual(twists_[at], Y);
      moved_[at].noalias() += body.gap.transpose() * gap;
      carried_[at] += body.sign * Y;
      if (pushes) {
        moved_[at].noalias() += motion.wrenches(body, lambda).transpose() * W;
        moved_[at] += body.sign * cross_dual(virtual_[at], F);
      }
      if (!looks_back_) continue;
      const LoopVector back = bars.approach.segment(motion.start, size);
      const Vector6 B = motion.W.transpose() * back;
      moved_[at].noalias() += motion.wrenches(body, back).transpose() * relative(approach_);
      moved_[at] += body.sign * cross_dual(approach_[at], B);
      carried_back_[at] += body.sign * B;
    }
  }
  for (int i = model.njoints - 1; i > 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const auto parent = model.parents[at];
    Vector6 sum = moved_[at] - cross_dual(twists_[parent], carried_[at]);
    if (looks_back_) sum -= cross_dual(approach_[parent], carried_back_[at]);
    for (int k = model.idx_vs[i]; k < model.idx_vs[i] + model.nvs[i]; ++k) q_bar[k] += columns.col(k).dot(sum);
    moved_[parent] += moved_[at];
    carried_[parent] += carried_[at];
    carried_back_[parent] += carried_back_[at];
  }
  for_each_entry(
      simulator, response, [&](int row, int dof, double slope) { q_bar[dof] += bars.gap[row] * slope; },
      [&](int row, int dof, int on, double change) {
        double bar = bars.rate[row] * record.v_plus[on] + bars.w[on] * record.impulse[row];
        if (looks_back_) bar += bars.approach[row] * record.v_look[on];
        q_bar[dof] += change * bar;
      });
}

}  // namespace taut
