#include "taut/derivatives/step_derivatives.hpp"

#include <pinocchio/spatial.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "taut/solvers/solver.hpp"

#include "taut/math/interruption.hpp"

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

// The modes that are differentiated are those of Signorini, Coulomb and maximum dissipation. Where the answer of
// another law happens to obey them, as where everything sticks or flies, its derivative is theirs.
void require_exact_law(const Simulator& simulator) {
  const auto all = solvers();
  const auto& options = simulator.options();
  const auto info = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == options.solver; });
  if (info == all.end() || info->model == Model::ncp || solves_exact_law(simulator)) return;
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "residual %.1e m/s, tolerance %.1e",
                simulator.record().report.residuals.worst(), options.solving.tolerance);
  throw std::invalid_argument("derivatives: the last step was solved by '" + options.solver + "', a solver of the " +
                              to_string(info->model) +
                              " model, and its answer does not solve the exact contact law that is differentiated (" +
                              numbers + "); use solver='auto' or another of the NCP model (docs/models.md)");
}

}  // namespace

StepDerivatives::StepDerivatives(const Simulator& simulator)
    : inverse_(simulator.scene().model),
      inverse_slow_(simulator.scene().model),
      adjoint_(simulator.scene().model),
      adjoint_slow_(simulator.scene().model),
      motion_(simulator.scene().model),
      conditions_(simulator.scene().model),
      entry_(simulator.scene().model),
      integration_(simulator.scene().model) {
  const auto& model = simulator.scene().model;
  forces_.resize(static_cast<std::size_t>(model.njoints), Force::Zero());
  for (int joint = 1; joint < model.njoints; ++joint) {
    const std::string kind = model.joints[joint].shortname();
    const bool floating = kind == "JointModelFreeFlyer", planar = kind == "JointModelPlanar";
    if (floating || planar) bases_.push_back({model.idx_vs[joint], planar});
    const bool known =
        model.nvs[joint] == 1 || floating || planar || kind == "JointModelSpherical" || kind == "JointModelTranslation";
    if (!known && unknown_joint_.empty()) {
      unknown_joint_ = model.names[static_cast<std::size_t>(joint)] + "', a " + kind;
    }
  }
}

// out += sign dt axesᵀ x, by columns; `axes_` is that matrix.
template <typename X, typename Out>
void StepDerivatives::add_axes_transposed(const Record& record, double dt, const X& x, Out& out, double sign) const {
  const double h = sign * dt;
  for (const auto& [at, planar] : bases_) {
    for (Eigen::Index c = 0; c < x.cols(); ++c) {
      if (planar) {
        const double vx = record.v_look[at], vy = record.v_look[at + 1], w = record.v_look[at + 2];
        out(at, c) += h * w * x(at + 1, c);
        out(at + 1, c) -= h * w * x(at, c);
        out(at + 2, c) += h * (vx * x(at + 1, c) - vy * x(at, c));
      } else {
        const Vector3d linear = record.v_look.segment<3>(at), angular = record.v_look.segment<3>(at + 3);
        const Vector3d bar = h * x.col(c).template segment<3>(at);
        out.col(c).template segment<3>(at) -= angular.cross(bar);
        out.col(c).template segment<3>(at + 3) += linear.cross(bar);
      }
    }
  }
}

// What every derivative begins with: modes, factors, and how rows move.
void StepDerivatives::prepare(const Simulator& simulator, const StepDerivativeOptions& options) {
  const Record& record = simulator.record();
  const auto& sim = simulator.options();
  require(simulator.has_stepped(), "there was no step yet, or the last one was interrupted");
  simulator.require_unedited();
  pulled_ = 0;
  require(record.report.status != Status::not_finite, "the last step is not finite");
  require(record.driven.empty() && !simulator.joint_forces().pushes_loops, "actuators on loops have no derivative yet");
  require(!sim.soft_contacts && !sim.soft_limits && !sim.soft_loops, "softened constraints have no derivative yet");
  if (!unknown_joint_.empty()) {
    throw std::invalid_argument("derivatives: joint '" + unknown_joint_ + ", has none yet");
  }
  require_exact_law(simulator);
  validate(options.collision);
  const Instant when = sim.instant();
  integration_.update(record.v_plus, when.ahead);
  if (when.ahead < when.dt) entry_.update(record.v, when.dt - when.ahead);
  const int n = record.rows.rows();
  conditions_.look_ahead(simulator);
  response_.update(record.problem(), record.impulse.head(n), record.velocity.head(n), conditions_.turned());
  motion_.update(simulator, response_, options.collision, options.move_contacts);
  conditions_.update(simulator, response_);
  certify(simulator, response_, conditions_, certificate_);
}

// v⁺ = v + dt h(v) + dt a: h takes the turning of a floating base's axes out of its acceleration.
void StepDerivatives::set_acceleration(const Simulator& simulator) {
  const Record& record = simulator.record();
  const double dt = simulator.options().dt;
  acceleration_ = (record.v_plus - record.v_look) / dt;
  for (const auto& [at, planar] : bases_) {
    if (planar) {
      acceleration_[at] += record.v_look[at + 2] * record.v_look[at + 1];
      acceleration_[at + 1] -= record.v_look[at + 2] * record.v_look[at];
    } else {
      const Vector3d linear = record.v_look.segment<3>(at), angular = record.v_look.segment<3>(at + 3);
      acceleration_.segment<3>(at) -= angular.cross(linear);
    }
  }
  if (record.is_fast) slow_acceleration_ = (record.v_coriolis - record.v_look) / (0.5 * dt);
}

void StepDerivatives::gather_forces(const Simulator& simulator, bool with_impulses) {
  const Record& record = simulator.record();
  const double dt = simulator.options().dt;
  for (std::size_t j = 0; j < forces_.size(); ++j) {
    forces_[j] = record.external.empty() ? Force::Zero() : record.external[j];
    if (with_impulses) forces_[j].toVector() += motion_.impulses()[j].toVector() / dt;
  }
}

// The smooth part, at fixed λ; a is the acceleration in held axes.
void StepDerivatives::smooth(const Simulator& simulator) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const double dt = simulator.options().dt;
  axes_.setZero(model.nv, model.nv);
  for (const auto& [at, planar] : bases_) {
    if (planar) {
      const double x = record.v_look[at], y = record.v_look[at + 1], w = record.v_look[at + 2];
      axes_(at, at + 1) = -w, axes_(at, at + 2) = -y;
      axes_(at + 1, at) = w, axes_(at + 1, at + 2) = x;
    } else {
      axes_.block<3, 3>(at, at) = pinocchio::skew(Vector3d(record.v_look.segment<3>(at + 3)));
      axes_.block<3, 3>(at, at + 3) = -pinocchio::skew(Vector3d(record.v_look.segment<3>(at)));
    }
  }
  set_acceleration(simulator);
  gather_forces(simulator, true);
  const auto& stiffness = simulator.joint_forces().stiffness;
  const auto& implicit = simulator.joint_forces().implicit;
  inverse_.update(model, record.q_look, record.v_coriolis, record.v_look, acceleration_, forces_,
                  simulator.options().instant());
  A_q_ = (1.0 / dt) * motion_.torques();
  inverse_.subtract_dq(A_q_);
  A_q_.diagonal() -= stiffness;
  A_v_ = -inverse_.dv();
  A_v_.diagonal() -= implicit / dt;
  if (!record.is_fast) return;

  // Coriolis torques at v* = v + dt/2 w, M̃ w = the forces without impulses at v: bodies that fly alone have their own.
  gather_forces(simulator, false);
  inverse_slow_.update(model, record.q_look, record.v_look, record.v_look, slow_acceleration_, forces_,
                       simulator.options().instant());
  S_q_.setZero(model.nv, model.nv);
  inverse_slow_.subtract_dq(S_q_);
  S_q_.diagonal() -= stiffness;
  S_v_ = -inverse_slow_.dv();
  S_v_.diagonal() -= implicit / dt;
}

void StepDerivatives::linearize(const Simulator& simulator, const StepDerivativeOptions& options) {
  prepare(simulator, options);
  motion_.fill(simulator, response_);
  if (simulator.record().rows.rows() > 0) conditions_.fill(simulator, motion_);
  smooth(simulator);
}

// dλ = −Z A⁻ W (J dv⁺|λ + …): before the velocities have their answer.
void StepDerivatives::set_impulse_derivatives(const Simulator& simulator) {
  const Record& record = simulator.record();
  StepJacobian& out = jacobian_;
  const int n = record.rows.rows();
  const auto set = [&](const MatrixXd& dv, const MatrixXd* rows, MatrixXd& dimpulse) {
    dimpulse.resize(n, dv.cols());
    for (Eigen::Index k = 0; k < dv.cols(); ++k) {
      may_interrupt(n);
      seen_.resize(n);
      simulator.dynamics().apply(record.rows, dv.col(k), seen_);
      for (const int row : response_.turned()) seen_[row] = conditions_.conditions().col(row).dot(dv.col(k));
      if (rows) seen_ += rows->row(k).transpose();
      response_.apply(seen_);
      dimpulse.col(k) = -seen_;
    }
  };
  set(out.dv_dq, &conditions_.dq(), out.dimpulse_dq);
  set(out.dv_dv, &conditions_.dv(), out.dimpulse_dv);
  set(out.dv_dtau, nullptr, out.dimpulse_dtau);
}

// A force on a joint's frame is a torque on its chain.
void StepDerivatives::set_force_derivatives(const Simulator& simulator) {
  const auto& model = simulator.scene().model;
  const auto& dynamics = simulator.dynamics();
  StepJacobian& out = jacobian_;
  out.dq_dforce.setZero(model.nv, 6 * model.njoints);
  out.dv_dforce.setZero(model.nv, 6 * model.njoints);
  for (int joint = 1; joint < model.njoints; ++joint) {
    const Matrix6 X = dynamics.placements()[static_cast<std::size_t>(joint)].toActionMatrixInverse();
    for (const int dof : dynamics.chain(joint)) {
      const Vector6 arm = X * dynamics.columns().col(dof);
      out.dq_dforce.middleCols<6>(6 * joint).noalias() += out.dq_dtau.col(dof) * arm.transpose();
      out.dv_dforce.middleCols<6>(6 * joint).noalias() += out.dv_dtau.col(dof) * arm.transpose();
    }
  }
}

const StepJacobian& StepDerivatives::jacobian(const Simulator& simulator, const StepDerivativeOptions& options) {
  const Usage::Look look(simulator.usage());
  linearize(simulator, options);
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const int n = record.rows.rows(), nv = model.nv;
  const double dt = simulator.options().dt;
  StepJacobian& out = jacobian_;
  out.certificate = certificate_;
  if (record.is_fast || options.impulses) {  // what forces do alone
    mobility_.update(simulator.dynamics(), {}, {}, conditions_.conditions());
  }
  if (record.is_fast) {
    const MatrixXd& X = mobility_.F();
    const auto slow = [&](const MatrixXd& S, MatrixXd& A) {
      work_.noalias() = X * S;
      inverse_.clear_bodies(work_);
      A.noalias() -= 0.5 * dt * inverse_.dv() * work_;
    };
    slow(S_q_, A_q_);
    slow(S_v_, A_v_);
    work_ = X;
    inverse_.clear_bodies(work_);
    S_q_.noalias() = -0.5 * dt * inverse_.dv() * work_;  // of τ, beside the identity
  }
  if (options.impulses && n > 0) {
    const MatrixXd X = mobility_.F();
    out.dv_dq.noalias() = dt * X * A_q_;
    out.dv_dv.noalias() = dt * X * A_v_;
    out.dv_dv += dt * axes_;
    out.dv_dv.diagonal().array() += 1.0;
    out.dv_dtau = dt * X;
    if (record.is_fast) out.dv_dtau.noalias() += dt * X * S_q_;
    set_impulse_derivatives(simulator);
  } else {
    for (MatrixXd* none : {&out.dimpulse_dq, &out.dimpulse_dv, &out.dimpulse_dtau}) none->resize(0, nv);
  }

  mobility_.update(simulator.dynamics(), record.rows, response_, conditions_.conditions());
  MatrixXd& F = mobility_.F();  // by impulses now
  F *= dt;
  out.dv_dv = dt * axes_;
  out.dv_dv.diagonal().array() += 1.0;
  if (mobility_.push().cols() > 0) {  // Π⊥ (1 + dt axes)
    see_ = -mobility_.see();
    add_axes_transposed(record, dt, mobility_.see(), see_, -1.0);
    add_product_transposed(view(mobility_.push()), view(see_), view(out.dv_dv));
  }
  add_product(view(F), view(A_v_), view(out.dv_dv));
  out.dv_dq.setZero(nv, nv);
  add_product(view(F), view(A_q_), view(out.dv_dq));
  out.dv_dtau = F;
  if (record.is_fast) add_product(view(F), view(S_q_), view(out.dv_dtau));
  if (n > 0) {
    mobility_.subtract_rows(response_, conditions_.dq(), out.dv_dq);
    if (conditions_.depends_on_v()) mobility_.subtract_rows(response_, conditions_.dv(), out.dv_dv);
  }
  out.dq_dq.setIdentity(nv, nv);
  integration_.apply(out.dq_dq, out.dv_dq);
  integration_.begin(out.dq_dv, out.dv_dv);
  integration_.begin(out.dq_dtau, out.dv_dtau);
  if (simulator.options().integrator == Integrator::moreau) {
    entry_.precede(out.dq_dq, out.dq_dv);
    entry_.precede(out.dv_dq, out.dv_dv);
    if (out.dimpulse_dq.rows() > 0) entry_.precede(out.dimpulse_dq, out.dimpulse_dv);
  }
  if (options.forces) {
    set_force_derivatives(simulator);
  } else {
    out.dq_dforce.resize(nv, 0);
    out.dv_dforce.resize(nv, 0);
  }
  return out;
}

StepTangent StepDerivatives::jvp(const Simulator& simulator, const ConstVectorRef& dq_start,
                                 const ConstVectorRef& dv_start, const ConstVectorRef& dtau,
                                 const StepDerivativeOptions& options) {
  const auto& model = simulator.scene().model;
  const Usage::Look look(simulator.usage());
  check("dq", dq_start, model.nv), check("dv", dv_start, model.nv), check("dtau", dtau, model.nv);
  linearize(simulator, options);
  const Record& record = simulator.record();
  const auto& dynamics = simulator.dynamics();
  const double dt = simulator.options().dt;
  VectorXd dq = dq_start, dv = dv_start;
  if (simulator.options().integrator == Integrator::moreau) entry_.apply(dq, dv);
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
    for (const int row : response_.turned()) rates[row] = conditions_.conditions().col(row).dot(v);
    rates.noalias() += conditions_.dq().transpose() * dq;
    rates.noalias() += conditions_.dv().transpose() * dv;
    response_.apply(rates);
    force.setZero();
    dynamics.apply_transpose(record.rows, rates, force);
    dynamics.solve(model, force);
    v -= force;
  }
  integration_.apply(q, v);
  return {std::move(q), std::move(v), certificate_};
}

const StepAdjoint& StepDerivatives::vjp(const Simulator& simulator, const ConstVectorRef& q_bar,
                                        const ConstVectorRef& v_bar, const StepDerivativeOptions& options) {
  const auto& model = simulator.scene().model;
  const Usage::Look look(simulator.usage());
  check("q_bar", q_bar, model.nv), check("v_bar", v_bar, model.nv);
  prepare(simulator, options);
  const Record& record = simulator.record();
  const auto& dynamics = simulator.dynamics();
  const double dt = simulator.options().dt;
  const int n = record.rows.rows();
  StepAdjoint& out = bars_;
  out.certificate = certificate_;
  out.q = q_bar;
  plus_ = v_bar;
  integration_.apply_transpose(out.q, plus_);
  // y, the multipliers of the rows, and then `plus_` of v⁺ as it is at fixed λ.
  y_.setZero(n);
  if (n > 0) {
    force_ = plus_;
    dynamics.solve(model, force_);
    dynamics.apply(record.rows, force_, y_);
    response_.apply_transpose(y_);
    y_ = -y_;
    seen_ = y_;
    for (const int row : response_.turned()) {
      plus_ += y_[row] * conditions_.conditions().col(row);
      seen_[row] = 0.0;
    }
    dynamics.apply_transpose(record.rows, seen_, plus_);
  }
  force_ = dt * plus_;
  dynamics.solve(model, force_);
  out.tau = force_;
  out.v = plus_;
  add_axes_transposed(record, dt, plus_, out.v, 1.0);
  const auto& stiffness = simulator.joint_forces().stiffness;
  const auto& implicit = simulator.joint_forces().implicit;
  const auto spring = [&](const VectorXd& w) {
    out.q -= stiffness.cwiseProduct(w);
    out.v -= implicit.cwiseProduct(w) / dt;
  };
  set_acceleration(simulator);
  gather_forces(simulator, true);
  spring(force_);
  if (!record.is_fast) {
    adjoint_.subtract(model, dynamics, record.v_coriolis, record.v_look, acceleration_, forces_, force_,
                      simulator.options().instant(), out.q, out.v);
    slow_.resize(0);
  } else {
    // v* = v + dt/2 w: what the sweep finds for the Coriolis velocity of trees goes on to v and to w.
    slow_.setZero(model.nv);
    adjoint_.subtract(model, dynamics, record.v_coriolis, record.v_look, acceleration_, forces_, force_,
                      simulator.options().instant(), out.q, slow_);
    out.v += slow_;
    inverse_.clear_bodies(slow_);
    slow_ *= 0.5 * dt;
    dynamics.solve(model, slow_);
    gather_forces(simulator, false);
    adjoint_slow_.subtract(model, dynamics, record.v_look, record.v_look, slow_acceleration_, forces_, slow_,
                           simulator.options().instant(), out.q, out.v);
    spring(slow_);
    out.tau += slow_;
  }
  // Forces in the joints' frames, while the twists of the sweep are there.
  out.force.setZero(6, model.njoints);
  for (int joint = 1; joint < model.njoints; ++joint) {
    const auto at = static_cast<std::size_t>(joint);
    Vector6 twist = adjoint_.virtual_twists()[at];
    if (record.is_fast) twist += adjoint_slow_.virtual_twists()[at];
    out.force.col(joint) = dynamics.placements()[at].actInv(pinocchio::Motion(twist)).toVector();
  }
  const VectorXd& slope = simulator.joint_forces().control_slope;
  out.control.resize(slope.size());
  for (Eigen::Index i = 0; i < slope.size(); ++i) {
    out.control[i] = slope[i] * out.tau[simulator.scene().actuators[static_cast<std::size_t>(i)].dof];
  }
  if (n > 0) {
    rate_bar_ = conditions_.rate.cwiseProduct(y_);
    approach_bar_ = conditions_.approach.cwiseProduct(y_);
    gap_bar_.resize(n);
    conditions_.pull_gaps(y_, gap_bar_);
    virtual_ = force_ / dt;
    lambda_bar_.resize(n);
    dynamics.apply(record.rows, virtual_, lambda_bar_);
    lambda_bar_ += record.rows.compliance().cwiseProduct(y_);
    motion_.pull(simulator, response_, {rate_bar_, approach_bar_, gap_bar_, virtual_}, out.q);
    if (conditions_.depends_on_v()) dynamics.apply_transpose(record.rows, approach_bar_, out.v);
    conditions_.pull_ahead(y_, out.q, out.v);
  }
  if (simulator.options().integrator == Integrator::moreau) entry_.apply_transpose(out.q, out.v);
  pulled_ = simulator.steps();
  return out;
}

VectorXd StepDerivatives::vjp_parameter(const Simulator& simulator, const Parameter& parameter) {
  const Usage::Look look(simulator.usage());
  require(pulled_ > 0 && pulled_ == simulator.steps(), "vjp of this step comes before that of its parameters");
  simulator.require_unedited();
  if (simulator.record().rows.rows() == 0) gap_bar_.resize(0), approach_bar_.resize(0), lambda_bar_.resize(0);
  return pull_parameter(simulator,
                        {response_, motion_, conditions_, adjoint_, adjoint_slow_, force_, slow_, acceleration_,
                         slow_acceleration_, y_, approach_bar_, gap_bar_, lambda_bar_},
                        parameter);
}

}  // namespace taut
