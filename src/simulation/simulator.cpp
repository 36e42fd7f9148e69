#include "taut/simulation/simulator.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace taut {

namespace {

using Eigen::VectorXd;

[[noreturn]] void wrong_size(const char* what, Eigen::Index got, Eigen::Index expected) {
  throw std::invalid_argument(std::string("step: ") + what + " has " + std::to_string(got) + " entries, expected " +
                              std::to_string(expected));
}

void require_finite(const char* what, const ConstVectorRef& values) {
  if (values.allFinite()) return;
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw std::invalid_argument(std::string("step: ") + what + "[" + std::to_string(i) + "] is " +
                                  std::to_string(values[i]));
    }
  }
}

SimulatorOptions checked(SimulatorOptions options) {
  const auto require = [](bool fine, const char* what, double value) {
    if (!fine) throw std::invalid_argument(std::string("simulator: ") + what + " is " + std::to_string(value));
  };
  require(options.dt > 0.0 && std::isfinite(options.dt), "dt must be positive and finite; it", options.dt);
  require(options.compliance >= 0.0 && std::isfinite(options.compliance), "compliance must not be negative; it",
          options.compliance);
  const Stabilization& s = options.stabilization;
  require(s.margin >= 0.0 && std::isfinite(s.margin), "margin must not be negative; it", s.margin);
  require(s.limit_margin >= 0.0 && std::isfinite(s.limit_margin), "limit_margin must not be negative; it",
          s.limit_margin);
  require(s.correction >= 0.0 && s.correction <= 1.0, "correction must be between 0 and 1; it", s.correction);
  require(s.correction_speed >= 0.0, "correction_speed must not be negative; it", s.correction_speed);
  return options;
}

std::shared_ptr<const Scene> checked(std::shared_ptr<const Scene> scene) {
  if (!scene) throw std::invalid_argument("simulator: no scene");
  validate(*scene);
  return scene;
}

// Adds the time since its construction to a phase, if anybody wants to know.
class Stopwatch {
 public:
  explicit Stopwatch(double* seconds) : seconds_(seconds) {
    if (seconds_) start_ = std::chrono::steady_clock::now();
  }
  ~Stopwatch() {
    if (seconds_) *seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double* seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

Servo::Servo(int nv)
    : kp(VectorXd::Zero(nv)),
      kd(VectorXd::Zero(nv)),
      target(VectorXd::Zero(nv)),
      lower(VectorXd::Constant(nv, -HUGE_VAL)),
      upper(VectorXd::Constant(nv, HUGE_VAL)) {}

void Servo::clear() { *this = Servo(static_cast<int>(kp.size())); }

Problem Record::problem() const {
  const int n = rows.rows();
  return {.G = is_sparse ? BlockMatrix(sparse) : BlockMatrix(ConstMatrixRef(G.topLeftCorner(n, n))),
          .g = g.head(n),
          .R = rows.compliance(),
          .blocks = rows.blocks()};
}

Eigen::Map<const Eigen::Matrix3Xd> Record::contact_impulses() const {
  return {impulse.data(), 3, static_cast<Eigen::Index>(contacts.size())};
}

Simulator::Simulator(std::shared_ptr<const Scene> scene, SimulatorOptions options)
    : scene_(checked(std::move(scene))),
      options_(checked(std::move(options))),
      detector_(scene_->geometry),
      dynamics_(scene_->model),
      joint_rows_(taut::joint_rows(scene_->model)),
      free_joints_(scene_->model),
      solver_(options_.solver, options_.solving),
      servo_(scene_->model.nv),
      collision_memory_(detector_.memory()) {
  const auto& model = scene_->model;
  std::erase_if(joint_rows_, [&](const JointRow& row) {
    return row.kind == JointRow::Kind::dry_friction ? !options_.joint_friction : !options_.joint_limits;
  });
  dof_to_q_.assign(model.nv, -1);
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (model.nqs[joint] == 1 && model.nvs[joint] == 1) dof_to_q_[model.idx_vs[joint]] = model.idx_qs[joint];
    // Joints with more coordinates than freedoms end with a unit complex number or a unit quaternion.
    const int nq = model.nqs[joint];
    if (nq != model.nvs[joint]) {
      const int size = nq == 2 || model.joints[joint].shortname() == "JointModelPlanar" ? 2 : 4;
      unit_parts_.push_back({model.idx_qs[joint] + nq - size, size, joint});
    }
  }
  for (const Actuator& actuator : scene_->actuators) {
    if (actuator.dof < 0 || actuator.dof >= model.nv ||
        (actuator.kind == Actuator::Kind::position && dof_to_q_[actuator.dof] < 0)) {
      throw std::invalid_argument("simulator: actuator '" + actuator.name + "' is on degree of freedom " +
                                  std::to_string(actuator.dof) + ", which it cannot drive");
    }
    if (actuator.gear == 0.0 || !std::isfinite(actuator.gear)) {
      throw std::invalid_argument("simulator: actuator '" + actuator.name + "' has gear " +
                                  std::to_string(actuator.gear));
    }
  }
  const auto& objects = scene_->geometry.geometryObjects;
  pair_mu_.reserve(scene_->geometry.collisionPairs.size());
  for (const auto& pair : scene_->geometry.collisionPairs) {
    const auto found = scene_->pair_friction.find(std::minmax(objects[pair.first].name, objects[pair.second].name));
    pair_mu_.push_back(found != scene_->pair_friction.end() ? found->second : -1.0);
  }

  // Room for a robot on its feet and then some; more contacts grow it once.
  const int rows = 48 + static_cast<int>(joint_rows_.size());
  record_.contacts.reserve(64);
  record_.joint_rows.reserve(joint_rows_.size());
  record_.rows.reserve(rows, 16 * rows);
  record_.G.resize(rows, rows);
  for (VectorXd* x : {&record_.g, &record_.impulse, &record_.velocity}) x->setZero(rows);
  solver_.reserve(rows);
  contact_impulses_.reserve(64);
  new_contact_impulses_.reserve(64);
  joint_impulses_.setZero(static_cast<Eigen::Index>(joint_rows_.size()));
  record_.q = record_.q_next = scene_->q0;
  record_.v = record_.v_free = record_.v_plus = record_.v_next = VectorXd::Zero(model.nv);
  record_.tau = implicit_ = work_ = VectorXd::Zero(model.nv);
}

void Simulator::check(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
                      std::span<const pinocchio::Force> fext, const ConstVectorRef& control) const {
  const auto& model = scene_->model;
  if (model.nv != servo_.kp.size() || scene_->geometry.collisionPairs.size() != pair_mu_.size() ||
      scene_->surfaces.size() != scene_->geometry.ngeoms) {
    throw std::invalid_argument("step: the scene's joints, shapes or pairs changed; make a new simulator");
  }
  if (q.size() != model.nq) wrong_size("q", q.size(), model.nq);
  if (v.size() != model.nv) wrong_size("v", v.size(), model.nv);
  if (tau.size() != 0 && tau.size() != model.nv) wrong_size("tau", tau.size(), model.nv);
  if (!fext.empty() && static_cast<int>(fext.size()) != model.njoints) {
    wrong_size("fext", static_cast<Eigen::Index>(fext.size()), model.njoints);
  }
  if (control.size() != 0 && control.size() != static_cast<Eigen::Index>(scene_->actuators.size())) {
    wrong_size("control", control.size(), static_cast<Eigen::Index>(scene_->actuators.size()));
  }
  require_finite("q", q);
  require_finite("v", v);
  require_finite("tau", tau);
  require_finite("control", control);
  for (const auto& force : fext) require_finite("fext", force.toVector());
  for (const UnitPart& part : unit_parts_) {
    const double norm = q.segment(part.start, part.size).norm();
    if (std::abs(norm - 1.0) > 1e-6) {
      throw std::invalid_argument("step: the " + std::string(part.size == 4 ? "quaternion" : "(cos, sin)") +
                                  " of joint '" + model.names[static_cast<std::size_t>(part.joint)] + "' has norm " +
                                  std::to_string(norm) + ", it must be 1");
    }
  }
}

void Simulator::apply_servo(double kp, double kd, double target, double lower, double upper, int dof) {
  const double dt = options_.dt;
  const double q = dof_to_q_[dof] >= 0 ? record_.q[dof_to_q_[dof]] : target;  // a free joint: velocity only
  const double explicit_torque = kp * (target - q - dt * record_.v[dof]) - kd * record_.v[dof];
  if (explicit_torque < lower || explicit_torque > upper) {  // saturated: a constant torque has no gains
    record_.tau[dof] += std::clamp(explicit_torque, lower, upper);
    return;
  }
  // Linear in v⁺: the explicit part goes to the torque, the gains beside the mass matrix.
  work_[dof] += explicit_torque;
  implicit_[dof] += dt * kd + dt * dt * kp;
}

// v_f = v + dt (M + dt D + dt² K)⁻¹ (τ − b − K (q + dt v − q_s) − D v): joint springs and dampers taken at v⁺.
void Simulator::free_motion(std::span<const pinocchio::Force> fext, const ConstVectorRef& control) {
  const auto& model = scene_->model;
  const double dt = options_.dt;
  dynamics_.update(model, record_.q, record_.v);

  work_ = -model.damping.cwiseProduct(record_.v);
  implicit_ = dt * model.damping;
  for (int dof = 0; dof < model.nv; ++dof) {
    const double k = scene_->stiffness[dof];
    if (k > 0.0 && dof_to_q_[dof] >= 0) {
      work_[dof] -= k * (record_.q[dof_to_q_[dof]] + dt * record_.v[dof] - scene_->spring_reference[dof]);
      implicit_[dof] += dt * dt * k;
    }
    if (servo_.kp[dof] > 0.0 || servo_.kd[dof] > 0.0) {
      apply_servo(servo_.kp[dof], servo_.kd[dof], servo_.target[dof], servo_.lower[dof], servo_.upper[dof], dof);
    }
  }
  for (Eigen::Index i = 0; i < control.size(); ++i) {
    const Actuator& a = scene_->actuators[static_cast<std::size_t>(i)];
    const double u = std::clamp(control[i], a.control_range.first, a.control_range.second);
    if (a.kind == Actuator::Kind::motor) {
      record_.tau[a.dof] += a.gear * std::clamp(u, a.force_range.first, a.force_range.second);
    } else {
      const double one = a.gear * a.force_range.first, other = a.gear * a.force_range.second;
      apply_servo(a.gear * a.gear * a.kp, a.gear * a.gear * a.kv, u / a.gear, std::min(one, other),
                  std::max(one, other), a.dof);
    }
  }
  dynamics_.add_external_forces(fext, record_.tau);

  dynamics_.factorize(model, implicit_);
  work_ += record_.tau - dynamics_.nonlinear_effects();
  dynamics_.solve(model, work_);
  record_.v_free = record_.v + dt * work_;
  free_joints_.hold_axes(record_.v, dt, record_.v_free);
}

void Simulator::guess_impulses() {
  auto lambda = record_.impulse.head(record_.rows.rows());
  lambda.setZero();
  if (!options_.warm_start) return;
  auto old = contact_impulses_.begin();
  for (std::size_t i = 0; i < record_.contacts.size(); ++i) {
    const Contact& contact = record_.contacts[i];
    while (old != contact_impulses_.end() && old->order < contact.order) ++old;
    for (auto it = old; it != contact_impulses_.end() && it->order == contact.order; ++it) {
      if (it->slot != contact.slot) continue;
      lambda.segment<3>(3 * static_cast<Eigen::Index>(i)).noalias() = contact.frame.transpose() * it->world;
      break;
    }
  }
  const Eigen::Index first = 3 * static_cast<Eigen::Index>(record_.contacts.size());
  for (std::size_t i = 0; i < record_.joint_rows.size(); ++i) {
    lambda[first + static_cast<Eigen::Index>(i)] = joint_impulses_[record_.joint_rows[i]];
  }
}

void Simulator::remember_impulses() {
  const auto& lambda = record_.impulse;
  new_contact_impulses_.clear();
  for (std::size_t i = 0; i < record_.contacts.size(); ++i) {
    const Contact& contact = record_.contacts[i];
    new_contact_impulses_.push_back(
        {contact.order, contact.slot, contact.frame * lambda.segment<3>(3 * static_cast<Eigen::Index>(i))});
  }
  std::swap(contact_impulses_, new_contact_impulses_);
  joint_impulses_.setZero();
  const Eigen::Index first = 3 * static_cast<Eigen::Index>(record_.contacts.size());
  for (std::size_t i = 0; i < record_.joint_rows.size(); ++i) {
    joint_impulses_[record_.joint_rows[i]] = lambda[first + static_cast<Eigen::Index>(i)];
  }
}

void Simulator::constrain() {
  const auto& model = scene_->model;
  Rows& rows = record_.rows;
  rows.clear();
  add_contacts(record_.contacts, dynamics_, options_.dt, options_.stabilization, rows, options_.compliance);
  add_joint_rows(model, joint_rows_, dynamics_, record_.q, record_.v, options_.dt, options_.stabilization, rows,
                 record_.joint_rows);
  const int n = rows.rows();
  if (n > record_.g.size()) {
    const int room = n + n / 2;
    for (VectorXd* x : {&record_.g, &record_.impulse, &record_.velocity}) x->setZero(room);
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
  record_.g.head(n) += rows.bias();
}

const Record& Simulator::step(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
                              std::span<const pinocchio::Force> fext, const ConstVectorRef& control) {
  check(q, v, tau, fext, control);
  const auto& model = scene_->model;
  const auto watch = [&](Phase phase) {
    return Stopwatch(options_.profile ? &record_.seconds[static_cast<std::size_t>(phase)] : nullptr);
  };
  record_.seconds.fill(0.0);
  record_.q = q;
  record_.v = v;
  if (tau.size() != 0) {
    record_.tau = tau;
  } else {
    record_.tau.setZero();
  }
  {
    const auto timed = watch(Phase::dynamics);
    free_motion(fext, control);
  }
  {
    const auto timed = watch(Phase::collision);
    detector_.detect(scene_->geometry, dynamics_.placements(), dynamics_.velocities(), options_.dt,
                     options_.stabilization.margin, collision_memory_, record_.contacts);
    for (Contact& contact : record_.contacts) {
      const auto& pair = scene_->geometry.collisionPairs[static_cast<std::size_t>(contact.pair)];
      const double fixed = pair_mu_[static_cast<std::size_t>(contact.pair)];
      contact.mu = fixed >= 0.0 ? fixed : scene_->combined_friction(pair.first, pair.second);
    }
  }
  {
    const auto timed = watch(Phase::delassus);
    constrain();
  }
  {
    const auto timed = watch(Phase::solver);
    guess_impulses();
    const int n = record_.rows.rows();
    record_.report =
        n == 0 ? SolveReport{} : solver_.solve(record_.problem(), record_.impulse.head(n), record_.velocity.head(n));
    remember_impulses();
  }
  {
    const auto timed = watch(Phase::integration);
    work_.setZero();
    dynamics_.apply_transpose(record_.rows, record_.impulse, work_);
    if (record_.rows.rows() > 0) dynamics_.solve(model, work_);
    record_.v_plus = record_.v_free + work_;
    work_ = options_.dt * record_.v_plus;
    record_.v_next = record_.v_plus;
    if (std::isfinite(work_.squaredNorm())) {
      pinocchio::integrate(model, ConstVectorRef(record_.q), ConstVectorRef(work_), VectorRef(record_.q_next));
      free_joints_.advance(record_.q, options_.dt, record_.q_next, record_.v_next);
    } else {  // Pinocchio's exponentials are for numbers
      record_.q_next.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
  }
  if (!record_.q_next.allFinite() || !record_.v_next.allFinite()) record_.report.status = Status::not_finite;
  return record_;
}

State Simulator::state() const {
  return {.q = record_.q_next,
          .v = record_.v_next,
          .collision = collision_memory_,
          .contact_impulses = contact_impulses_,
          .joint_impulses = joint_impulses_,
          .penalty = solver_.penalty()};
}

void Simulator::restore(const State& state) {
  if (state.q.size() != scene_->model.nq || state.v.size() != scene_->model.nv ||
      state.collision.guesses.size() != collision_memory_.guesses.size() ||
      state.joint_impulses.size() != joint_impulses_.size()) {
    throw std::invalid_argument("restore: this state is of another scene");
  }
  record_.q_next = state.q;
  record_.v_next = state.v;
  collision_memory_ = state.collision;
  contact_impulses_ = state.contact_impulses;
  joint_impulses_ = state.joint_impulses;
  solver_.set_penalty(state.penalty);
}

void Simulator::reset() {
  collision_memory_ = detector_.memory();
  contact_impulses_.clear();
  joint_impulses_.setZero();
  solver_.set_penalty(0.0);
}

}  // namespace taut
