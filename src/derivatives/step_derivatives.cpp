#include "taut/derivatives/step_derivatives.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/spatial.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace taut {

namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using pinocchio::Force;

void require(bool fine, const char* what) {
  if (!fine) throw std::invalid_argument(std::string("derivatives: ") + what);
}

void check(const char* name, const ConstVectorRef& x, int size) {
  if (x.size() != size) {
    throw std::invalid_argument(std::string("derivatives: ") + name + " has " + std::to_string(x.size()) +
                                " entries, expected " + std::to_string(size));
  }
  if (!x.allFinite()) throw std::invalid_argument(std::string("derivatives: ") + name + " is not finite");
}

}  // namespace

StepDerivatives::StepDerivatives(const Simulator& simulator)
    : inverse_(simulator.scene().model),
      inverse_slow_(simulator.scene().model),
      ahead_(simulator.scene().model),
      free_joints_(simulator.scene().model),
      motion_(simulator.scene().model),
      integration_(simulator.scene().model) {
  const auto& model = simulator.scene().model;
  forces_.resize(static_cast<std::size_t>(model.njoints), Force::Zero());
  for (int joint = 1; joint < model.njoints && unknown_joint_.empty(); ++joint) {
    const std::string kind = model.joints[joint].shortname();
    const bool known = model.nvs[joint] == 1 || kind == "JointModelFreeFlyer" || kind == "JointModelPlanar" ||
                       kind == "JointModelSpherical" || kind == "JointModelTranslation";
    if (!known) unknown_joint_ = model.names[static_cast<std::size_t>(joint)] + "', a " + kind;
  }
}

// The smooth part, at fixed λ; a is the acceleration in held axes.
void StepDerivatives::smooth(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const double dt = simulator.options().dt;
  const int nv = model.nv;
  for (std::size_t j = 0; j < forces_.size(); ++j) {
    forces_[j] = Force(Eigen::Matrix<double, 6, 1>(motion_.impulses()[j].toVector() / dt));
    if (!record.external.empty()) forces_[j] += record.external[j];
  }
  // v⁺ = v + dt h(v) + dt a: h takes the turning of a floating base's axes out of its acceleration.
  axes_.setZero(nv, nv);
  acceleration_ = (record.v_plus - record.v_look) / dt;
  for (int joint = 1; joint < model.njoints; ++joint) {
    const int at = model.idx_vs[joint];
    const std::string kind = model.joints[joint].shortname();
    if (kind == "JointModelFreeFlyer") {
      const Vector3d linear = record.v_look.segment<3>(at), angular = record.v_look.segment<3>(at + 3);
      acceleration_.segment<3>(at) -= angular.cross(linear);
      axes_.block<3, 3>(at, at) = pinocchio::skew(angular);
      axes_.block<3, 3>(at, at + 3) = -pinocchio::skew(linear);
    } else if (kind == "JointModelPlanar") {
      const double x = record.v_look[at], y = record.v_look[at + 1], w = record.v_look[at + 2];
      acceleration_[at] += w * y;
      acceleration_[at + 1] -= w * x;
      axes_(at, at + 1) = -w, axes_(at, at + 2) = -y;
      axes_(at + 1, at) = w, axes_(at + 1, at + 2) = x;
    }
  }
  const auto& stiffness = simulator.joint_forces().stiffness;
  const auto& implicit = simulator.joint_forces().implicit;
  inverse_.update(model, record.q_look, record.v_coriolis, record.v_look, acceleration_, forces_, dt);
  A_q_ = motion_.torques() / dt - inverse_.dq();
  A_q_.diagonal() -= stiffness;
  A_v_ = -inverse_.dv();
  A_v_.diagonal() -= implicit / dt;
  if (!record.is_fast) return;

  // Coriolis torques at v* = v + dt/2 w, M̃ w = the forces without impulses at v: bodies that fly alone have their own.
  for (std::size_t j = 0; j < forces_.size(); ++j)
    forces_[j] = record.external.empty() ? Force::Zero() : record.external[j];
  acceleration_ = (record.v_coriolis - record.v_look) / (0.5 * dt);
  inverse_slow_.update(model, record.q_look, record.v_look, record.v_look, acceleration_, forces_, dt);
  S_q_ = -inverse_slow_.dq();
  S_q_.diagonal() -= stiffness;
  S_v_ = -inverse_slow_.dv();
  S_v_.diagonal() -= implicit / dt;
}

// d bias/dq and /dv of every row.
void StepDerivatives::set_bias(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& options = simulator.options();
  const auto& stabilization = options.stabilization;
  const int n = record.rows.rows(), nv = simulator.scene().model.nv;
  rows_q_.setZero(n, nv);
  rows_v_.setZero(n, nv);
  const auto compliance = record.rows.compliance();
  const auto share = [&](int row, double gap, double correction, double penetration) {
    const double left = gap + penetration;
    if (compliance[row] > 0.0 || left >= 0.0) return 1.0 / options.dt;
    return -correction * left / options.dt < stabilization.correction_speed ? correction / options.dt : 0.0;
  };
  const int contacts = static_cast<int>(record.contacts.size());
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    const int row = 3 * static_cast<int>(i) + 2;
    if (response_.mode(static_cast<int>(i)) == Mode::open) continue;
    rows_q_.row(row) = share(row, record.contacts[i].gap, stabilization.correction, stabilization.penetration) *
                       motion_.gaps().row(row);
  }
  for (std::size_t i = 0; i < record.joint_rows.size(); ++i) {
    const int row = record.joint_start + static_cast<int>(i);
    const JointRow& joint_row = simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[i])];
    if (joint_row.kind == JointRow::Kind::dry_friction) continue;
    if (response_.mode(contacts + static_cast<int>(i)) == Mode::open) continue;
    const double gap = limit_gap(simulator.scene().model, joint_row, record.q_look);
    rows_q_.row(row) = share(row, gap, stabilization.limit_correction, 0.0) * motion_.gaps().row(row);
  }
  rows_depend_on_v_ = !simulator.bouncing().empty() || record.loop_start < n;
  for (const Bounce& bounce : simulator.bouncing()) {
    const double e = record.restitution_scale * bounce.restitution;
    if (e * bounce.approach > bounce.without) continue;
    rows_q_.row(bounce.row) = e * motion_.approach_rates().row(bounce.row);
    for (const Rows::Arm& arm : record.rows.arms()) {
      const Block& block = record.rows.blocks()[static_cast<std::size_t>(arm.block)];
      if (bounce.row < block.start || bounce.row >= block.start + block.size) continue;
      const auto dofs = simulator.dynamics().chain(arm.joint);
      const auto part = record.rows.jacobian(arm);
      for (int k = 0; k < arm.depth; ++k) rows_v_(bounce.row, dofs[k]) += e * part(bounce.row - block.start, k);
    }
  }
  rows_q_ += motion_.rates();
  if (record.loop_start < n) set_loop_bias(simulator);
}

// bias = k φ/dt + (φ(q ⊕ dt v) − φ)/dt − J v, k the share that is corrected; of springs φ/dt.
void StepDerivatives::set_loop_bias(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto& options = simulator.options();
  const double dt = options.dt, share = options.stabilization.loop_correction;
  const int first = record.loop_start, n = record.rows.rows() - first, nv = model.nv;
  work_ = dt * record.v_look;
  q_ahead_ = record.q_look;
  v_ahead_ = record.v_look;
  pinocchio::integrate(model, ConstVectorRef(record.q_look), ConstVectorRef(work_.col(0)), VectorRef(q_ahead_));
  free_joints_.advance(record.q_look, dt, q_ahead_, v_ahead_);
  ahead_.update(model, q_ahead_, v_ahead_);
  ahead_rows_.clear();
  for (const Loop& loop : simulator.scene().loops) add_loop(loop, ahead_, options.instant(), ahead_rows_);
  for (const Coupling& coupling : simulator.scene().couplings) {
    add_coupling(coupling, model, ahead_, q_ahead_, options.instant(), ahead_rows_);
  }
  XJ_.setZero(n, nv);
  for (const Rows::Arm& arm : ahead_rows_.arms()) {
    const Block& block = ahead_rows_.blocks()[static_cast<std::size_t>(arm.block)];
    const auto dofs = ahead_.chain(arm.joint);
    const auto part = ahead_rows_.jacobian(arm);
    for (int k = 0; k < arm.depth; ++k) XJ_.col(dofs[k]).segment(block.start, block.size) += part.col(k);
  }
  // d(q ⊕ dt v), in the tangent there.
  integration_.update(record.v_look, dt);
  J_.setIdentity(nv, nv);
  Q_.setZero(nv, nv);
  integration_.apply(J_, Q_);
  rows_q_.middleRows(first, n).noalias() += XJ_ * J_ / dt;
  J_.setZero(nv, nv);
  Q_.setIdentity(nv, nv);
  integration_.apply(J_, Q_);
  rows_v_.middleRows(first, n).noalias() += XJ_ * J_ / dt;
  const auto gaps = motion_.gaps().middleRows(first, n);
  rows_q_.middleRows(first, n) += (share - 1.0) / dt * gaps - motion_.approach_rates().middleRows(first, n);
  rows_v_.middleRows(first, n) -= gaps;
  // Corrections that would be faster than allowed keep their speed and turn with φ.
  const auto cap = [&](int row, const LoopVector& error) {
    const double size = error.norm();
    if (share * size / dt <= options.stabilization.correction_speed) return;
    const LoopVector way = error / size;
    const double kept = options.stabilization.correction_speed / size;
    const auto moved = gaps.middleRows(row, error.size());
    rows_q_.middleRows(first + row, error.size()) +=
        (kept - share / dt) * moved - kept * way * (way.transpose() * moved);
  };
  int at = 0;
  for (const Loop& loop : simulator.scene().loops) {
    const auto& placements = simulator.dynamics().placements();
    const LoopRows size = rows_of(loop.kind);
    LoopVector error = loop_error(loop, placements[loop.joint_1], placements[loop.joint_2]);
    if (loop.compliance > 0.0) error.head(size.linear).setZero();
    if (loop.angular_compliance > 0.0) error.tail(size.angular).setZero();
    cap(at, error);
    at += size.size();
  }
  for (const Coupling& coupling : simulator.scene().couplings) {
    if (is_endless(coupling, model)) {  // held by velocity alone
      rows_q_.row(first + at) = motion_.rates().row(first + at);
      rows_v_.row(first + at).setZero();
    } else {
      cap(at, LoopVector::Constant(1, coupling_error(coupling, model, record.q_look)));
    }
    ++at;
  }
  // Springs know their length only.
  const auto compliance = record.rows.compliance();
  for (int row = 0; row < n; ++row) {
    if (compliance[first + row] == 0.0) continue;
    rows_q_.row(first + row) = motion_.rates().row(first + row) + gaps.row(row) / dt;
    rows_v_.row(first + row).setZero();
  }
}

// A gap that is open closes at once, a penetration by a share: whoever touches without either stands at a kink of his
// bias. In velocity units, as other switches.
double StepDerivatives::distance_to_kink(const Simulator& simulator, int block) const {
  const Record& record = simulator.record();
  const auto& stabilization = simulator.options().stabilization;
  const auto contacts = static_cast<int>(record.contacts.size()), joints = static_cast<int>(record.joint_rows.size());
  double left = HUGE_VAL, share = 1.0;
  int row = 0;
  if (response_.mode(block) == Mode::open) return HUGE_VAL;
  if (block < contacts) {
    row = 3 * block + 2;
    left = record.contacts[static_cast<std::size_t>(block)].gap + stabilization.penetration;
    share = stabilization.correction;
  } else if (block < contacts + joints) {
    const JointRow& joint_row =
        simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[static_cast<std::size_t>(block - contacts)])];
    if (joint_row.kind == JointRow::Kind::dry_friction) return HUGE_VAL;
    row = record.joint_start + block - contacts;
    left = limit_gap(simulator.scene().model, joint_row, record.q_look);
    share = stabilization.limit_correction;
  }
  return record.rows.compliance()[row] > 0.0 || share == 1.0 ? HUGE_VAL : std::abs(left) / simulator.options().dt;
}

void StepDerivatives::linearize(const Simulator& simulator, const StepDerivativeOptions& options) {
  const Record& record = simulator.record();
  const auto& sim = simulator.options();
  require(simulator.has_stepped(), "there was no step yet");
  require(record.report.status != Status::not_finite, "the last step is not finite");
  require(record.driven.empty() && !simulator.joint_forces().pushes_loops, "actuators on loops have no derivative yet");
  require(sim.integrator == Integrator::euler, "Moreau's scheme has no derivative yet");
  require(!sim.soft_contacts && !sim.soft_limits && !sim.soft_loops, "softened constraints have no derivative yet");
  if (!unknown_joint_.empty()) {
    throw std::invalid_argument("derivatives: joint '" + unknown_joint_ + ", has none yet");
  }
  validate(options.collision);
  const int n = record.rows.rows();
  if (n > 0) response_.update(record.problem(), record.impulse.head(n), record.velocity.head(n));
  motion_.update(simulator, response_, options.collision, options.move_contacts);
  smooth(simulator);
  if (n > 0) set_bias(simulator);
  integration_.update(record.v_plus, sim.dt);
  certify(simulator);
}

void StepDerivatives::certify(const Simulator& simulator) {
  const Record& record = simulator.record();
  Certificate& certificate = jacobian_.certificate;
  certificate.modes.clear();
  certificate.distance.clear();
  certificate.solved = record.report.status == Status::converged;
  certificate.scaled_restitution = record.restitution_scale < 1.0;
  certificate.loops_asked_again = record.asked_again;
  certificate.nearest = HUGE_VAL;
  certificate.unique = true;
  certificate.unknowns = certificate.rank = 0;
  certificate.conditioning = 1.0;
  if (record.rows.rows() == 0) return;
  certificate.unknowns = response_.unknowns();
  certificate.rank = response_.rank();
  certificate.conditioning = response_.conditioning();
  for (std::size_t i = 0; i < record.rows.blocks().size(); ++i) {
    const int block = static_cast<int>(i);
    certificate.modes.push_back(response_.mode(block));
    certificate.distance.push_back(std::min(response_.distance_to_switch(block), distance_to_kink(simulator, block)));
    certificate.nearest = std::min(certificate.nearest, certificate.distance.back());
  }
  // Impulses that no condition sees must move nothing: against what they would do alone.
  const auto& kernel = response_.kernel();
  Eigen::VectorXd torque(simulator.scene().model.nv);
  for (Eigen::Index c = 0; c < kernel.cols(); ++c) {
    if (kernel.col(c).norm() < 1e-6) continue;  // a projection: what it does not see is rounding here
    torque.setZero();
    simulator.dynamics().apply_transpose(record.rows, kernel.col(c), torque);
    double alone = 0.0;
    for (const Rows::Arm& arm : record.rows.arms()) {
      const Block& block = record.rows.blocks()[static_cast<std::size_t>(arm.block)];
      const auto part = record.rows.jacobian(arm);
      alone = std::max(alone, (part.transpose() * kernel.col(c).segment(block.start, block.size)).norm());
    }
    if (torque.norm() > 1e-4 * alone)
      certificate.unique = false;  // loops open by a little repeat each other but for that
  }
}

// dλ = −Z A⁻¹ W (J dv⁺|λ + …): before the velocities have their answer.
void StepDerivatives::set_impulse_derivatives(const Problem& problem) {
  StepJacobian& out = jacobian_;
  const Eigen::Index nv = J_.cols(), m = response_.unknowns();
  MatrixXd unknowns(m, nv);
  const auto set = [&](const MatrixXd& dv, const MatrixXd* rows, MatrixXd& dimpulse) {
    MatrixXd seen = J_ * dv;
    if (rows) seen += *rows;
    response_.reduce(problem, seen, unknowns);
    response_.solve(unknowns);
    unknowns = -unknowns;
    dimpulse.setZero(problem.rows(), nv);
    response_.expand(problem, unknowns, dimpulse);
  };
  set(out.dv_dq, &rows_q_, out.dimpulse_dq);
  set(out.dv_dv, &rows_v_, out.dimpulse_dv);
  set(out.dv_dtau, nullptr, out.dimpulse_dtau);
}

const StepJacobian& StepDerivatives::jacobian(const Simulator& simulator, const StepDerivativeOptions& options) {
  linearize(simulator, options);
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const int n = record.rows.rows(), nv = model.nv;
  const double dt = simulator.options().dt;
  simulator.dynamics().inverse(model, X_);

  StepJacobian& out = jacobian_;
  out.dv_dtau = dt * X_;
  if (record.is_fast) {
    const auto slow = [&](const MatrixXd& S, MatrixXd& A) {
      work_.noalias() = X_ * S;
      inverse_.clear_bodies(work_);
      A.noalias() -= 0.5 * dt * inverse_.dv() * work_;
    };
    slow(S_q_, A_q_);
    slow(S_v_, A_v_);
    work_ = X_;
    inverse_.clear_bodies(work_);
    S_q_.noalias() = inverse_.dv() * work_;
    out.dv_dtau.noalias() -= 0.5 * dt * dt * X_ * S_q_;
  }
  out.dv_dq.noalias() = dt * X_ * A_q_;
  out.dv_dv.noalias() = dt * X_ * A_v_;
  out.dv_dv += dt * axes_;
  out.dv_dv.diagonal().array() += 1.0;

  if (n > 0) {
    const Problem problem = record.problem();
    J_.setZero(n, nv);
    for (const Rows::Arm& arm : record.rows.arms()) {
      const Block& block = record.rows.blocks()[static_cast<std::size_t>(arm.block)];
      const auto dofs = simulator.dynamics().chain(arm.joint);
      const auto part = record.rows.jacobian(arm);
      for (int k = 0; k < arm.depth; ++k) J_.col(dofs[k]).segment(block.start, block.size) += part.col(k);
    }
    // dv⁺ −= M̃⁻¹ Jᵀ Z A⁻¹ W (J dv⁺|λ + dJ v⁺ + dbias), in the unknowns of the modes: most rows are open.
    const int m = response_.unknowns();
    if (m > 0) {
      // K = M̃⁻¹ Jᵀ Z A⁻¹ and P = I − K W J: unknowns may be more than degrees of freedom, so that these come first.
      work_.resize(m, nv);
      response_.gather(problem, J_, work_);
      XJ_.noalias() = work_ * X_;
      response_.solve_transpose(XJ_);
      response_.reduce(problem, J_, work_);
      P_.setIdentity(nv, nv);
      P_.noalias() -= XJ_.transpose() * work_;
      if (options.impulses) set_impulse_derivatives(problem);
      Q_.resize(m, nv);
      response_.reduce(problem, rows_q_, Q_);
      const auto answer = [&](MatrixXd& dv) {
        work_.noalias() = P_ * dv;
        dv.swap(work_);
      };
      answer(out.dv_dq);
      answer(out.dv_dv);
      answer(out.dv_dtau);
      out.dv_dq.noalias() -= XJ_.transpose() * Q_;
      if (rows_depend_on_v_) {
        response_.reduce(problem, rows_v_, Q_);
        out.dv_dv.noalias() -= XJ_.transpose() * Q_;
      }
    } else if (options.impulses) {
      for (MatrixXd* none : {&out.dimpulse_dq, &out.dimpulse_dv, &out.dimpulse_dtau}) none->setZero(n, nv);
    }
  }
  if (n == 0 || !options.impulses) {
    for (MatrixXd* empty : {&out.dimpulse_dq, &out.dimpulse_dv, &out.dimpulse_dtau}) empty->resize(0, nv);
  }
  out.dq_dq.setIdentity(nv, nv);
  out.dq_dv.setZero(nv, nv);
  out.dq_dtau.setZero(nv, nv);
  integration_.apply(out.dq_dq, out.dv_dq);
  integration_.apply(out.dq_dv, out.dv_dv);
  integration_.apply(out.dq_dtau, out.dv_dtau);
  return out;
}

std::pair<VectorXd, VectorXd> StepDerivatives::jvp(const Simulator& simulator, const ConstVectorRef& dq,
                                                   const ConstVectorRef& dv, const ConstVectorRef& dtau,
                                                   const StepDerivativeOptions& options) {
  const auto& model = simulator.scene().model;
  check("dq", dq, model.nv), check("dv", dv, model.nv), check("dtau", dtau, model.nv);
  linearize(simulator, options);
  const Record& record = simulator.record();
  const auto& dynamics = simulator.dynamics();
  const double dt = simulator.options().dt;
  VectorXd force = A_q_ * dq + A_v_ * dv + dtau;
  if (record.is_fast) {
    VectorXd slow = S_q_ * dq + S_v_ * dv + dtau;
    dynamics.solve(model, slow);
    inverse_.clear_bodies(slow);
    force -= 0.5 * dt * inverse_.dv() * slow;
  }
  dynamics.solve(model, force);
  VectorXd q = dq, v = dv + dt * (axes_ * dv + force);
  if (const int n = record.rows.rows(); n > 0) {
    VectorXd rates(n);
    dynamics.apply(record.rows, v, rates);
    rates += rows_q_ * dq + rows_v_ * dv;
    response_.apply(record.problem(), rates);
    force.setZero();
    dynamics.apply_transpose(record.rows, rates, force);
    dynamics.solve(model, force);
    v -= force;
  }
  integration_.apply(q, v);
  return {std::move(q), std::move(v)};
}

StepAdjoint StepDerivatives::vjp(const Simulator& simulator, const ConstVectorRef& q_bar, const ConstVectorRef& v_bar,
                                 const StepDerivativeOptions& options) {
  const auto& model = simulator.scene().model;
  check("q_bar", q_bar, model.nv), check("v_bar", v_bar, model.nv);
  linearize(simulator, options);
  const Record& record = simulator.record();
  const auto& dynamics = simulator.dynamics();
  const double dt = simulator.options().dt;
  StepAdjoint out{.q = q_bar, .v = v_bar, .tau = VectorXd::Zero(model.nv)};
  integration_.apply_transpose(out.q, out.v);
  VectorXd plus = out.v;  // of v⁺
  const int n = record.rows.rows();
  VectorXd rows(n);
  if (n > 0) {
    VectorXd moved = plus;
    dynamics.solve(model, moved);
    dynamics.apply(record.rows, moved, rows);
    response_.apply_transpose(record.problem(), rows);
    rows = -rows;
    dynamics.apply_transpose(record.rows, rows, plus);
  }
  VectorXd force = dt * plus;
  dynamics.solve(model, force);
  out.v = plus + dt * (axes_.transpose() * plus) + A_v_.transpose() * force;
  out.q += A_q_.transpose() * force;
  out.tau = force;
  if (record.is_fast) {
    VectorXd slow = -0.5 * dt * (inverse_.dv().transpose() * force);
    inverse_.clear_bodies(slow);
    dynamics.solve(model, slow);
    out.q += S_q_.transpose() * slow;
    out.v += S_v_.transpose() * slow;
    out.tau += slow;
  }
  if (n > 0) {
    out.q += rows_q_.transpose() * rows;
    out.v += rows_v_.transpose() * rows;
  }
  return out;
}

}  // namespace taut
