// The rows of a step: contacts, limits, dry friction, loops, couplings and servos on loops, with their bias.
#include <pinocchio/algorithm/joint-configuration.hpp>

#include <algorithm>
#include <utility>

#include "taut/constraints/bias.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut {

// Whether anything may bounce.
bool Simulator::has_restitution() const {
  return std::any_of(pair_restitution_.begin(), pair_restitution_.end(), [](double e) { return e > 0.0; }) ||
         (scene_->limits.restitution.array() > 0.0).any() ||
         std::any_of(scene_->surfaces.begin(), scene_->surfaces.end(),
                     [](const Surface& surface) { return surface.restitution > 0.0; });
}

void Simulator::set_surfaces() {
  for (Contact& contact : record_.contacts) {
    const auto& pair = pair_shapes_[static_cast<std::size_t>(contact.pair)];
    const double* own = pair_mu_[static_cast<std::size_t>(contact.pair)];
    contact.mu = own ? *own : scene_->combined_friction(pair.first, pair.second);
    const double e = pair_restitution_[static_cast<std::size_t>(contact.pair)];
    contact.restitution = e >= 0.0 ? e : scene_->combined_restitution(pair.first, pair.second);
    contact.compliance = scene_->surfaces[pair.first].compliance + scene_->surfaces[pair.second].compliance;
  }
}

void Simulator::constrain() {
  const auto& model = scene_->model;
  const Instant when = options_.instant();
  Rows& rows = record_.rows;
  rows.clear();
  bouncing_.clear();
  // A soft constraint acts where it is violated, as in MuJoCo.
  if (options_.soft_contacts) std::erase_if(record_.contacts, [](const Contact& c) { return c.gap > 0.0; });
  add_contacts(record_.contacts, dynamics_, when, options_.compliance, rows);
  record_.joint_start = rows.rows();
  Stabilization stabilization = options_.stabilization;
  if (options_.soft_limits) stabilization.limit_margin = -1.0;
  add_joint_rows(model, joint_rows_, scene_->limits, dynamics_, record_.q_look, record_.v_look, when, stabilization,
                 rows, record_.joint_rows);
  record_.loop_start = rows.rows();
  for (const Loop& loop : scene_->loops) add_loop(loop, dynamics_, when, rows);
  for (const Coupling& coupling : scene_->couplings) {
    add_coupling(coupling, model, dynamics_, record_.q_look, when, rows);
  }
  record_.driven.clear();
  for (const JointForces::LoopServo& servo : forces_.loop_servos) {
    const Actuator& actuator = scene_->actuators[static_cast<std::size_t>(servo.actuator)];
    add_loop_drive(scene_->loops[static_cast<std::size_t>(actuator.loop)], actuator.dof, dynamics_, rows);
    rows.last_compliance()[0] = 1.0 / servo.gain;
    rows.last_bias()[0] = servo.bias;
    record_.driven.push_back(servo.actuator);
  }

  const int n = rows.rows();
  if (n > record_.g.size()) {
    const int room = n + n / 2;
    for (auto* x : {&record_.g, &record_.impulse, &record_.velocity, &approach_, &bend_}) x->setZero(room);
    solver_.reserve(room);
  }
  // Few rows are faster dense, and those of one tree all meet.
  constexpr int kDenseRows = 72;
  record_.is_sparse = n > kDenseRows && dynamics_.forest().trees().size() > 1;
  if (!record_.is_sparse && n > record_.G.rows()) {
    const int room = n + n / 2;
    record_.G.resize(room, room);
  }
  if (n == 0) return;
  if (record_.is_sparse) {
    dynamics_.delassus(rows, record_.sparse);
  } else {
    dynamics_.delassus(rows, record_.G);
  }
  dynamics_.apply(rows, record_.v_free, record_.g.head(n));
  set_bias();
  record_.g.head(n) += rows.bias();
  if (closure_rows_ > 0 && !options_.soft_loops) reconcile_rows();
}

// φ of every rigid loop and coupling in a configuration; zero where a row is a spring or has no position to hold.
template <typename Placements>
void Simulator::closure_errors(const Placements& oM, const ConstVectorRef& q, VectorRef error) const {
  const auto& model = scene_->model;
  int row = 0;
  for (const Loop& loop : scene_->loops) {
    const LoopRows size = rows_of(loop.kind);
    auto part = error.segment(row, size.size());
    part = loop_error(loop, oM[loop.joint_1], oM[loop.joint_2]);
    if (loop.compliance > 0.0) part.head(size.linear).setZero();
    if (loop.angular_compliance > 0.0) part.tail(size.angular).setZero();
    row += size.size();
  }
  for (const Coupling& coupling : scene_->couplings) {
    error[row++] = coupling.compliance > 0.0 ? 0.0 : coupling_error(coupling, model, q);
  }
}

// Loops are held where the step ends. J v⁺ = −φ/dt alone would leave what φ bends on the way, dt² v²/2 at radius 1:
// the bias knows how it bends along the old velocity.
void Simulator::close_loops() {
  const auto& model = scene_->model;
  const Instant when = options_.instant();
  v_ahead_ = record_.v_look;
  work_ = when.ahead * record_.v_look;
  pinocchio::integrate(model, ConstVectorRef(record_.q_look), ConstVectorRef(work_), VectorRef(q_ahead_));
  free_joints_.advance(record_.q_look, when.ahead, q_ahead_, v_ahead_);
  closure_errors(dynamics_.placements(), record_.q_look, error_);
  held_.update(model, q_ahead_);
  closure_errors(held_, q_ahead_, ahead_);

  auto bias = record_.rows.bias().segment(record_.loop_start, closure_rows_);
  // In between `error_` is φ where the step looks; `limit_closing` makes it what is left open on purpose.
  bend_.head(record_.rows.rows()).setZero();
  auto bend = bend_.segment(record_.loop_start, closure_rows_);
  loop_bend(error_, ahead_, approach_.segment(record_.loop_start, closure_rows_), when, bend);
  // Springs bend nothing, nor does a joint that turns without end.
  const auto compliance = std::as_const(record_.rows).compliance().segment(record_.loop_start, closure_rows_);
  int row = 0;
  const auto ask = [&](const LoopVector& error, bool bends) {
    const auto size = error.size();
    const ClosureBias asked = bias_of_closure(error, compliance.segment(row, size), when, options_.stabilization);
    bias.segment(row, size) = asked.value;
    closing_.segment(row, size) = asked.closing;
    for (Eigen::Index k = 0; k < size; ++k, ++row) {
      if (!bends || compliance[row] > 0.0) bend[row] = 0.0;
    }
  };
  for (const Loop& loop : scene_->loops) {
    const LoopRows size = rows_of(loop.kind);
    const LoopVector error = error_.segment(row, size.size()), ahead = ahead_.segment(row, size.size());
    if (starts_anew(size, error, ahead)) bend.segment(row + size.linear, size.angular).setZero();
    const bool has_springs = loop.compliance > 0.0 || loop.angular_compliance > 0.0;  // whose φ `error_` leaves out
    ask(has_springs ? loop_error(loop, dynamics_.placements()[loop.joint_1], dynamics_.placements()[loop.joint_2])
                    : error,
        true);
  }
  for (const Coupling& coupling : scene_->couplings) {
    ask(LoopVector::Constant(1, coupling_error(coupling, model, record_.q_look)), !is_endless(coupling, model));
  }
  left_ = error_ - when.dt * closing_;

  // Redundant rows bend alike, but for the third order. Left in, that would make a problem without a solution.
  solver_.factor_joints(record_.problem());
  solver_.reconcile(bend_.head(record_.rows.rows()));
  bias += bend;
}

// Where loops are open by a little, rows that would repeat others do so but for that little. A contradiction that
// leaves them open by no more than this in a step is not one.
void Simulator::reconcile_rows() {
  constexpr double kSlack = 1e-6;  // m or rad
  const int n = record_.rows.rows();
  bend_.head(n) = record_.g.head(n);
  solver_.reconcile(bend_.head(n));
  auto bias = record_.rows.bias();
  for (int row = record_.loop_start; row < record_.loop_start + closure_rows_; ++row) {
    const double change = bend_[row] - record_.g[row];
    if (std::abs(change) * options_.dt > kSlack) continue;
    bias[row] += change;
    record_.g[row] += change;
  }
}

// How far loops are open at the end of the step, beyond what they are left open on purpose: by row in `ahead_`, and at
// most, m or rad. Zero where there is no telling.
double Simulator::left_open() {
  if (closure_rows_ == 0 || options_.soft_loops) return 0.0;
  held_.update(scene_->model, record_.q_next);
  closure_errors(held_, record_.q_next, ahead_);
  ahead_ -= error_;
  for (int row = 0; const Loop& loop : scene_->loops) {
    const LoopRows size = rows_of(loop.kind);
    auto turn = ahead_.segment(row + size.linear, size.angular);
    if (turn.norm() > EIGEN_PI) turn.setZero();  // past half a turn a rotation vector starts anew
    row += size.size();
  }
  return ahead_.allFinite() ? ahead_.lpNorm<Eigen::Infinity>() : 0.0;
}

// After an impact the old velocity was no guide to how loops bend: what is left open is asked for once more.
void Simulator::ask_again() {
  const int n = record_.rows.rows();
  bend_.head(n).setZero();
  bend_.segment(record_.loop_start, closure_rows_) = ahead_ / options_.dt;
  solver_.reconcile(bend_.head(n));
  record_.rows.bias() += bend_.head(n);
  record_.g.head(n) += bend_.head(n);
  reconcile_rows();
}

// The shortest way back to closed loops, velocities left alone. Where an impact has several exact answers asking again
// may lead from one to the other and back.
bool Simulator::put_back() {
  const auto& model = scene_->model;
  const int n = record_.rows.rows();
  bend_.head(n).setZero();
  bend_.segment(record_.loop_start, closure_rows_) = ahead_;
  if (!solver_.solve_joints(bend_.head(n))) return false;
  work_.setZero();
  dynamics_.apply_transpose(record_.rows, bend_, work_);
  dynamics_.solve(model, work_);
  work_ = -work_;
  q_ahead_ = record_.q_next;
  constexpr double kFar = 1e-2;  // m or rad: at a dead point the shortest way is a long one
  if (!(work_.lpNorm<Eigen::Infinity>() < kFar)) return false;
  pinocchio::integrate(model, ConstVectorRef(q_ahead_), ConstVectorRef(work_), VectorRef(record_.q_next));
  free_joints_.turn(q_ahead_, record_.q_next, record_.v_next);
  return true;
}

void Simulator::set_bias() {
  Rows& rows = record_.rows;
  const auto& model = scene_->model;
  const int n = rows.rows();
  const Instant when = options_.instant();
  const Stabilization& stabilization = options_.stabilization;
  const bool soft = options_.soft_contacts || options_.soft_limits || options_.soft_loops;
  const bool looks_back = options_.integrator == Integrator::moreau || bounces_ || soft || closure_rows_ > 0;
  if (looks_back) dynamics_.apply(rows, record_.v_look, approach_.head(n));
  const ConstVectorRef approach = approach_.head(looks_back ? n : 0);
  bias_contacts(record_.contacts, approach, when, stabilization, rows);
  bias_joint_rows(model, joint_rows_, record_.joint_rows, record_.joint_start, record_.q_look, approach, when,
                  stabilization, rows);
  if (closure_rows_ > 0 && !options_.soft_loops) close_loops();
  if (soft) soften_rows();

  bouncing_.clear();
  if (!bounces_) return;
  auto bias = rows.bias();
  const auto bounce = [&](int row, double gap, double restitution) {
    if (restitution <= 0.0 || !bounces(gap, approach_[row], record_.g[row], options_.restitution_threshold, when))
      return;
    bouncing_.push_back({row, restitution, approach_[row], bias[row]});
    bias[row] = bounce_bias(bouncing_.back(), 1.0);
  };
  for (std::size_t i = 0; i < record_.contacts.size(); ++i) {
    bounce(3 * static_cast<int>(i) + 2, record_.contacts[i].gap, record_.contacts[i].restitution);
  }
  for (std::size_t i = 0; i < record_.joint_rows.size(); ++i) {
    const JointRow& row = joint_rows_[static_cast<std::size_t>(record_.joint_rows[i])];
    if (row.kind == JointRow::Kind::dry_friction) continue;
    bounce(record_.joint_start + static_cast<int>(i), limit_gap(model, row, record_.q_look),
           scene_->limits.restitution[row.dof]);
  }
}

void Simulator::soften_rows() {
  Rows& rows = record_.rows;
  auto bias = rows.bias();
  auto compliance = rows.compliance();
  const auto mobility = [&](int block, int k) {
    const Block& b = rows.blocks()[static_cast<std::size_t>(block)];
    return record_.problem().G.diagonal(block, b)(k, k);
  };
  const auto set = [&](int row, const SoftRow& soft) {
    bias[row] = soft.bias;
    compliance[row] = soft.compliance;
  };
  const auto contacts = static_cast<int>(record_.contacts.size());
  for (int i = 0; options_.soft_contacts && i < contacts; ++i) {
    const int row = 3 * i;
    const double gap = record_.contacts[static_cast<std::size_t>(i)].gap + options_.stabilization.penetration;
    const SoftRow normal = soften(*options_.soft_contacts, gap, approach_[row + 2], mobility(i, 2), options_.dt);
    set(row + 2, normal);
    for (int k = 0; k < 2; ++k) {  // friction has no position to come back to; it gives way like the normal
      SoftRow tangent = soften(*options_.soft_contacts, 0.0, approach_[row + k], 0.0, options_.dt);
      tangent.compliance = normal.compliance;
      set(row + k, tangent);
    }
  }
  int block = contacts;
  for (std::size_t i = 0; i < record_.joint_rows.size(); ++i, ++block) {
    const JointRow& joint = joint_rows_[static_cast<std::size_t>(record_.joint_rows[i])];
    if (!options_.soft_limits || joint.kind == JointRow::Kind::dry_friction) continue;
    const double gap = limit_gap(scene_->model, joint, record_.q_look);
    if (gap > 0.0) continue;
    const int row = record_.joint_start + static_cast<int>(i);
    set(row, soften(*options_.soft_limits, gap, approach_[row], mobility(block, 0), options_.dt));
  }
  if (!options_.soft_loops) return;
  const auto& placements = dynamics_.placements();
  int row = record_.loop_start;
  for (const Loop& loop : scene_->loops) {
    const LoopVector error = loop_error(loop, placements[loop.joint_1], placements[loop.joint_2]);
    for (int k = 0; k < error.size(); ++k, ++row) {
      set(row, soften(*options_.soft_loops, error[k], approach_[row], mobility(block, k), options_.dt));
    }
    ++block;
  }
  for (const Coupling& coupling : scene_->couplings) {
    const double error = coupling_error(coupling, scene_->model, record_.q_look);
    set(row, soften(*options_.soft_loops, error, approach_[row], mobility(block, 0), options_.dt));
    ++row, ++block;
  }
}

}  // namespace taut
