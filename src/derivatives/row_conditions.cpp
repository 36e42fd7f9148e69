#include "taut/derivatives/row_conditions.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>

#include <algorithm>

#include "taut/constraints/bias.hpp"
#include "taut/problem/block_at.hpp"

namespace taut {

using Eigen::MatrixXd;

void add_row(const Dynamics& dynamics, const Rows& rows, int row, double scale, VectorRef out) {
  const auto blocks = rows.blocks();
  const int block = block_at(blocks, row);
  for (int a = rows.first_arm(block); a < rows.first_arm(block + 1); ++a) {
    const Rows::Arm& arm = rows.arms()[static_cast<std::size_t>(a)];
    const auto dofs = dynamics.chain(arm.joint);
    const auto part = rows.jacobian(arm);
    for (int k = 0; k < arm.depth; ++k) out[dofs[k]] += scale * part(row - blocks[block].start, k);
  }
}

RowConditions::RowConditions(const pinocchio::Model& model) : ahead_(model), free_joints_(model), integration_(model) {}

void RowConditions::look_ahead(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const Instant when = simulator.options().instant();
  const int n = record.rows.rows(), nv = model.nv;
  loop_start_ = record.loop_start;
  turned_.clear();
  if (loop_start_ == n) return;
  const Eigen::VectorXd& velocity = record.asked_again ? record.v_plus : record.v_look;
  work_ = when.ahead * velocity;
  q_ahead_ = record.q_look;
  v_ahead_ = velocity;
  pinocchio::integrate(model, ConstVectorRef(record.q_look), ConstVectorRef(work_), VectorRef(q_ahead_));
  free_joints_.advance(record.q_look, when.ahead, q_ahead_, v_ahead_);
  integration_.update(velocity, when.ahead);
  ahead_.update(model, q_ahead_, v_ahead_);
  find_what_bends(simulator);
  ahead_rows_.clear();
  for (const Loop& loop : simulator.scene().loops) add_loop(loop, ahead_, when, ahead_rows_);
  for (const Coupling& coupling : simulator.scene().couplings) {
    add_coupling(coupling, model, ahead_, q_ahead_, when, ahead_rows_);
  }
  const int count = ahead_rows_.rows();
  ahead_J_.setZero(nv, count);
  for (const Rows::Arm& arm : ahead_rows_.arms()) {
    const Block& block = ahead_rows_.blocks()[static_cast<std::size_t>(arm.block)];
    const auto dofs = ahead_.chain(arm.joint);
    const auto part = ahead_rows_.jacobian(arm);
    for (int k = 0; k < arm.depth; ++k) {
      ahead_J_.row(dofs[k]).segment(block.start, block.size) += part.col(k).transpose();
    }
  }
  // d(q ⊕ ahead v) in the tangent there, transposed: by columns.
  ahead_q_ = ahead_J_;
  ahead_v_.setZero(nv, count);
  for (int row = 0; row < count; ++row) integration_.apply_transpose(ahead_q_.col(row), ahead_v_.col(row));
  if (!record.asked_again) return;

  conditions_.setZero(nv, n);
  conditions_.middleCols(loop_start_, count) = ahead_v_ / when.dt;
  for (int row = loop_start_; row < loop_start_ + count; ++row) {
    if (bends_[static_cast<std::size_t>(row - loop_start_)]) turned_.push_back(row);
  }
  turned_G_.resize(static_cast<Eigen::Index>(turned_.size()), n);
  Eigen::VectorXd seen(n);
  for (std::size_t k = 0; k < turned_.size(); ++k) {
    v_ahead_ = conditions_.col(turned_[k]);
    simulator.dynamics().solve(model, v_ahead_);
    simulator.dynamics().apply(record.rows, v_ahead_, seen);
    turned_G_.row(static_cast<Eigen::Index>(k)) = seen;
  }
}

// Rows whose φ bends on the way, as the step has it: no springs, no joint that turns without end, no weld that passes
// half a turn.
void RowConditions::find_what_bends(const Simulator& simulator) {
  const Scene& scene = simulator.scene();
  const auto compliance = simulator.record().rows.compliance();
  const auto &here = simulator.dynamics().placements(), &there = ahead_.placements();
  bends_.clear();
  const auto add = [&](int count, bool bends) {
    for (int k = 0; k < count; ++k) {
      bends_.push_back(bends && compliance[loop_start_ + static_cast<Eigen::Index>(bends_.size())] == 0.0);
    }
  };
  for (const Loop& loop : scene.loops) {
    const auto one = static_cast<std::size_t>(loop.joint_1), two = static_cast<std::size_t>(loop.joint_2);
    const LoopRows size = rows_of(loop.kind);
    add(size.linear, true);
    add(size.angular,
        size.angular < 3 || loop.angular_compliance > 0.0 ||
            !starts_anew(size, loop_error(loop, here[one], here[two]), loop_error(loop, there[one], there[two])));
  }
  for (const Coupling& coupling : scene.couplings) add(1, !is_endless(coupling, scene.model));
}

void RowConditions::update(const Simulator& simulator, const ImpulseResponse& response) {
  const Record& record = simulator.record();
  const auto& options = simulator.options();
  const auto& stabilization = options.stabilization;
  const int n = record.rows.rows();
  rate.setOnes(n);
  for (Eigen::VectorXd* x : {&approach, &gap, &ahead, &gain}) x->setZero(n);
  const auto compliance = record.rows.compliance();
  const bool looks_back = options.integrator == Integrator::moreau;
  const int contacts = static_cast<int>(record.contacts.size());
  if (looks_back) {
    work_.resize(n);
    simulator.dynamics().apply(record.rows, record.v_look, work_);
  }
  kink.setConstant(n, HUGE_VAL);
  const auto set = [&](int row, double distance, double correction, double penetration) {
    Stabilization asked = stabilization;
    asked.penetration = penetration;
    const GapBias bias = bias_of_gap(distance, looks_back ? work_[row] : 0.0, compliance[row] > 0.0, correction,
                                     options.instant(), asked);
    gap[row] = bias.gap;
    approach[row] = bias.approach;
    gain[row] = bias.gain;
    kink[row] = bias.kink;
  };
  for (int i = 0; i < contacts; ++i) {
    if (response.mode(i) == Mode::open) continue;
    set(3 * i + 2, record.contacts[static_cast<std::size_t>(i)].gap, stabilization.correction,
        stabilization.penetration);
  }
  for (std::size_t i = 0; i < record.joint_rows.size(); ++i) {
    const JointRow& joint_row = simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[i])];
    if (joint_row.kind == JointRow::Kind::dry_friction) continue;
    if (response.mode(contacts + static_cast<int>(i)) == Mode::open) continue;
    set(record.joint_start + static_cast<int>(i), limit_gap(simulator.scene().model, joint_row, record.q_look),
        stabilization.limit_correction, 0.0);
  }
  for (const Bounce& bounce : simulator.bouncing()) {
    const double e = record.restitution_scale * bounce.restitution, asked = e * bounce.approach;
    const double to_other = std::abs(asked - bounce.without);
    if (asked > bounce.without) {
      kink[bounce.row] = std::min(kink[bounce.row], to_other);
      continue;
    }
    kink[bounce.row] = to_other;
    approach[bounce.row] = e;
    gap[bounce.row] = gain[bounce.row] = 0.0;
  }
  depends_on_v_ = looks_back || !simulator.bouncing().empty() || loop_start_ < n;
  capped_.clear();
  if (loop_start_ < n) update_loops(simulator);
}

// bias = rate φ + share (φ(q ⊕ ahead v) − φ − ahead J v)/dt of rigid rows, φ/ahead of springs.
void RowConditions::update_loops(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& options = simulator.options();
  const Instant when = options.instant();
  const double share = bend_share(when) / when.dt;
  const auto compliance = record.rows.compliance();
  int row = loop_start_;
  const auto hold = [&](const LoopVector& error) {
    const auto size = error.size();
    const ClosureBias bias = bias_of_closure(error, compliance.segment(row, size), when, options.stabilization);
    if (bias.capped) {
      capped_.push_back({row, bias.rate, LoopVector(bias.rigid / bias.size)});
    } else {
      gain.segment(row, size) = bias.rigid / when.dt;
    }
    gap.segment(row, size) = bias.slope;
    kink.segment(row, size).setConstant(bias.kink);
    for (Eigen::Index k = 0; k < size; ++k, ++row) {
      if (!bends_[static_cast<std::size_t>(row - loop_start_)]) continue;
      ahead[row] = share;
      gap[row] -= share;
      if (record.asked_again) {
        rate[row] = 0.0;
      } else {
        approach[row] = -share * when.ahead;
      }
    }
  };
  for (const Loop& loop : simulator.scene().loops) {
    const auto& placements = simulator.dynamics().placements();
    hold(loop_error(loop, placements[static_cast<std::size_t>(loop.joint_1)],
                    placements[static_cast<std::size_t>(loop.joint_2)]));
  }
  for (const Coupling& coupling : simulator.scene().couplings) {
    hold(LoopVector::Constant(1, coupling_error(coupling, model, record.q_look)));
  }
}

void RowConditions::fill(const Simulator& simulator, const RowMotion& motion) {
  const Record& record = simulator.record();
  const int n = record.rows.rows(), nv = simulator.scene().model.nv;
  dq_ = motion.rates();
  dv_.setZero(nv, n);
  for (int row = 0; row < n; ++row) {
    if (rate[row] == 0.0) dq_.col(row).setZero();
    if (gap[row] != 0.0) dq_.col(row) += gap[row] * motion.gaps().col(row);
    if (approach[row] != 0.0) {
      dq_.col(row) += approach[row] * motion.approach_rates().col(row);
      add_row(simulator.dynamics(), record.rows, row, approach[row], dv_.col(row));
    }
    if (ahead[row] == 0.0) continue;
    dq_.col(row) += ahead[row] * ahead_q_.col(row - loop_start_);
    if (!record.asked_again) dv_.col(row) += ahead[row] * ahead_v_.col(row - loop_start_);
  }
  for (const Capped& capped : capped_) {
    const auto moved = motion.gaps().middleCols(capped.row, capped.way.size());
    work_ = moved * capped.way;
    dq_.middleCols(capped.row, capped.way.size()).noalias() -= capped.speed * work_ * capped.way.transpose();
  }
}

void RowConditions::pull_gaps(const ConstVectorRef& y, VectorRef gap_bar) const {
  gap_bar = gap.cwiseProduct(y);
  for (const Capped& capped : capped_) {
    const auto size = capped.way.size();
    gap_bar.segment(capped.row, size) -= capped.speed * capped.way.dot(y.segment(capped.row, size)) * capped.way;
  }
}

void RowConditions::pull_ahead(const ConstVectorRef& y, VectorRef q_bar, VectorRef v_bar) const {
  const auto count = y.size() - loop_start_;
  if (count == 0) return;
  const Eigen::VectorXd weighed = ahead.tail(count).cwiseProduct(y.tail(count));
  q_bar.noalias() += ahead_q_.leftCols(count) * weighed;
  if (turned_.empty()) v_bar.noalias() += ahead_v_.leftCols(count) * weighed;
}

}  // namespace taut
