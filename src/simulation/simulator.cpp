#include "taut/simulation/simulator.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"
#include "taut/simulation/structure.hpp"

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

std::shared_ptr<const Scene> checked(std::shared_ptr<const Scene> scene) {
  if (!scene) throw std::invalid_argument("simulator: no scene");
  validate(*scene);
  return scene;
}

SimulatorOptions checked(SimulatorOptions options) {
  validate(options);
  return options;
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

Simulator::Simulator(std::shared_ptr<const Scene> scene, SimulatorOptions options)
    : scene_(checked(std::move(scene))),
      options_(checked(std::move(options))),
      values_(*scene_),
      structure_(structure_of(*scene_)),
      detector_(scene_->geometry, options_.narrow_phase),
      dynamics_(scene_->model),
      free_joints_(scene_->model),
      forces_(*scene_),
      solver_(options_.solver, options_.solving),
      servo_(scene_->model.nv),
      collision_memory_(detector_.memory()) {
  const auto& model = scene_->model;
  list_joint_rows();
  list_pairs();
  bounces_ = has_restitution();
  // Joints with more coordinates than freedoms end with a unit complex number or a unit quaternion.
  for (int joint = 1; joint < model.njoints; ++joint) {
    const int nq = model.nqs[joint];
    if (nq == model.nvs[joint]) continue;
    const int size = nq == 2 || model.joints[joint].shortname() == "JointModelPlanar" ? 2 : 4;
    unit_parts_.push_back({model.idx_qs[joint] + nq - size, size, joint});
  }
  std::vector<int> held;
  for (const Loop& loop : scene_->loops) {
    held.insert(held.end(), {loop.joint_1, loop.joint_2});
    closure_rows_ += rows_of(loop.kind).size();
  }
  closure_rows_ += static_cast<int>(scene_->couplings.size());
  held_ = Kinematics(model, held);
  error_.setZero(closure_rows_);
  closing_.setZero(closure_rows_);
  left_.setZero(closure_rows_);
  ahead_.setZero(closure_rows_);

  // Room for a robot on its feet and then some; more contacts grow it once.
  const int rows = 48 + static_cast<int>(joint_rows_.size()) + closure_rows_;
  record_.contacts.reserve(64);
  record_.rows.reserve(rows, 16 * rows);
  record_.G.resize(rows, rows);
  for (VectorXd* x : {&record_.g, &record_.impulse, &record_.velocity, &approach_, &bend_}) x->setZero(rows);
  solver_.reserve(rows);
  bouncing_.reserve(64);
  record_.driven.reserve(scene_->actuators.size());
  for (ImpulseMemory* memory : {&impulses_, &before_.impulses}) {  // each with room of its own
    *memory = ImpulseMemory(model.nv, closure_rows_, static_cast<int>(scene_->actuators.size()));
  }
  record_.q = record_.q_look = record_.q_next = q_ahead_ = scene_->q0;
  record_.v = record_.v_look = record_.v_coriolis = record_.v_free = record_.v_plus = record_.v_next =
      VectorXd::Zero(model.nv);
  record_.tau = work_ = force_ = v_ahead_ = VectorXd::Zero(model.nv);
}

// The rows that joints may ask for: what has neither a limit nor dry friction has none.
void Simulator::list_joint_rows() {
  joint_rows_ = taut::joint_rows(scene_->model, scene_->ball_limits);
  std::erase_if(joint_rows_, [&](const JointRow& row) {
    return row.kind == JointRow::Kind::dry_friction ? !options_.joint_friction : !options_.joint_limits;
  });
  record_.joint_rows.reserve(joint_rows_.size());
}

// What pairs have of their own, found by their names once and not in every step.
void Simulator::list_pairs() {
  const auto& objects = scene_->geometry.geometryObjects;
  const auto& pairs = scene_->geometry.collisionPairs;
  pair_shapes_.clear();
  for (const auto& pair : pairs) pair_shapes_.emplace_back(pair.first, pair.second);
  pair_mu_.assign(pairs.size(), nullptr);
  pair_restitution_.assign(pairs.size(), -1.0);
  const auto list = [&](const auto& by_names, auto&& take) {
    if (by_names.empty()) return;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto found = by_names.find(std::minmax(objects[pairs[i].first].name, objects[pairs[i].second].name));
      if (found != by_names.end()) take(i, found->second);
    }
  };
  list(scene_->pair_friction, [&](std::size_t i, const double& mu) { pair_mu_[i] = &mu; });
  list(scene_->pair_restitution, [&](std::size_t i, double e) { pair_restitution_[i] = e; });
}

// What was edited since the last step, if that leaves the simulator a scene it can step.
SceneValues::Difference Simulator::edits() const {
  if (values_.equal(*scene_)) return {};
  check_live(*scene_);
  SceneValues::Difference edited = values_.difference(*scene_);
  if (edited.structure) throw std::invalid_argument("step: " + edited.first + " changed; make a new simulator");
  return edited;
}

// Makes anew what was made of values that were edited.
void Simulator::follow(const SceneValues::Difference& edited) {
  if (!edited.first.empty()) {
    validate(*scene_);
    forces_.check(*scene_);
  }
  if (edited.shapes) {
    detector_ = CollisionDetector(scene_->geometry, options_.narrow_phase);
  } else if (edited.placements) {
    detector_.surround(scene_->geometry);
  }
  if (edited.joint_rows) list_joint_rows();
  if (edited.pairs) list_pairs();
  if (edited.restitution) bounces_ = has_restitution();
  values_.copy(*scene_);
}

void Simulator::require_unedited() const {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("derivatives: " + what +
                                " was edited since the last step; step again, or differentiate before you edit");
  };
  if (!values_.equal(*scene_)) {
    const std::string what = values_.difference(*scene_).first;
    if (!what.empty()) refuse(what);
  }
  for (const Contact& contact : record_.contacts) {
    const double* own = pair_mu_[static_cast<std::size_t>(contact.pair)];
    if (own && *own != contact.mu) refuse("the friction of a pair");
  }
}

void Simulator::check(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
                      std::span<const pinocchio::Force> fext, const ConstVectorRef& control) const {
  const auto& model = scene_->model;
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

// v_f = v + dt (M + dt D + dt² K)⁻¹ (τ − b − K (q + dt v − q_s) − D v): joint springs and dampers taken at v⁺.
void Simulator::free_motion(std::span<const pinocchio::Force> fext, const ConstVectorRef& control) {
  const auto& model = scene_->model;
  const double dt = options_.dt;
  const VectorXd &q = record_.q_look, &v = record_.v_look;
  dynamics_.update(model, q, v, options_.instant());
  forces_.collect(*scene_, servo_, dynamics_, q, v, control, options_.instant(), record_.tau);
  dynamics_.add_external_forces(fext, record_.tau);
  record_.external.assign(fext.begin(), fext.end());

  dynamics_.factorize(model, forces_.implicit);
  work_ = forces_.torque + record_.tau - dynamics_.nonlinear_effects();
  force_ = work_;
  dynamics_.solve(model, work_);
  // Coriolis torques at the old velocity feed fast linkages with energy, and light ones that spin diverge on them:
  // taken half a step on they do not. Slow robots are spared the price, a tenth of a step.
  constexpr double kFast = 0.02;  // rad or m in a step
  record_.is_fast = options_.integrator == Integrator::moreau || dt * v.lpNorm<Eigen::Infinity>() > kFast;
  record_.v_coriolis = v;
  if (record_.is_fast) {
    record_.v_coriolis += 0.5 * dt * work_;
    dynamics_.update_nonlinear_effects(model, q, record_.v_coriolis);
    work_ = forces_.torque + record_.tau - dynamics_.nonlinear_effects();
    force_ = work_;
    dynamics_.solve(model, work_);
  }
  record_.v_free = v + dt * work_;
  free_joints_.hold_axes(v, dt, record_.v_free);
  smooth_work_ = 0.5 * dt * (force_.dot(v) + force_.dot(record_.v_free));
}

// Where the step looks at the world.
void Simulator::look() {
  record_.q_look = record_.q;
  record_.v_look = record_.v;
  if (options_.integrator == Integrator::euler) return;
  const double half = 0.5 * options_.dt;
  work_ = half * record_.v;
  pinocchio::integrate(scene_->model, ConstVectorRef(record_.q), ConstVectorRef(work_), VectorRef(record_.q_look));
  free_joints_.advance(record_.q, half, record_.q_look, record_.v_look);
}

SolveReport Simulator::run_solver() {
  const int n = record_.rows.rows();
  auto lambda = record_.impulse.head(n);
  auto velocity = record_.velocity.head(n);
  return closure_rows_ > 0 && !options_.soft_loops ? solver_.solve_factored(record_.problem(), lambda, velocity)
                                                   : solver_.solve(record_.problem(), lambda, velocity);
}

// The energy of the velocities that rows ask for, each block as if it were alone.
double Simulator::asked_energy() const {
  const Problem problem = record_.problem();
  const auto bias = record_.rows.bias();
  double energy = 0.0;
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    double squares = 0.0;
    for (int row = block.start; row < block.start + block.size; ++row) {
      const double speed = block.kind == SetKind::free ? bias[row] : std::min(0.0, bias[row]);  // a gap asks nothing
      squares += speed * speed;
    }
    if (squares > 0.0) energy += 0.5 * squares / mean_diagonal(problem, i);
  }
  return energy;
}

// Near a dead point, or where it cannot be closed, a loop that is open asks for any speed whatsoever. Closing it may
// add the energy of its rows' own speed, and a little beside; where it would add more it is closed as slowly as that
// takes, and the report says what was not reached.
void Simulator::limit_closing() {
  constexpr double kSpeed = 0.1;  // m/s, of everything there is
  const int n = record_.rows.rows();
  auto lambda = record_.impulse.head(n);
  auto velocity = record_.velocity.head(n);
  auto bias = record_.rows.bias();
  double share = 1.0;
  const auto close_by = [&](double new_share) {
    const auto change = (new_share - share) * closing_;
    bias.segment(record_.loop_start, closure_rows_) += change;
    record_.g.segment(record_.loop_start, closure_rows_) += change;
    share = new_share;
  };
  const auto closing_work = [&] { return -share * lambda.segment(record_.loop_start, closure_rows_).dot(closing_); };
  error_ = left_;
  for (int round = 0; round < 4; ++round) {
    // What closing does, and no more than all impulses do: a motor may do much else.
    double gained = closing_work();
    if (!(gained > 0.0)) break;
    gained = std::min(gained, energy_of_impulses(record_.problem(), bias, lambda, velocity));
    double mass = 0.0;
    for (const auto& inertia : scene_->model.inertias) mass += inertia.mass();
    const double allowed = asked_energy() + 0.5 * mass * kSpeed * kSpeed;
    if (gained <= allowed) break;
    close_by(round < 3 ? 0.8 * share * std::sqrt(allowed / gained) : 0.0);
    const int iterations = record_.report.iterations;
    record_.report = run_solver();
    record_.report.iterations += iterations;
  }
  if (share == 1.0) return;
  error_ = left_ + options_.dt * (1.0 - share) * closing_;
  close_by(1.0);
  record_.report.residuals = residuals(record_.problem(), lambda, velocity);
  if (record_.report.residuals.worst() > options_.solving.tolerance) record_.report.status = Status::stalled;
}

// Constraints without a solution, or with one that was not found, must not throw anything: impulses that add more
// energy than their rows ask for are cut down.
void Simulator::bound_impulses() {
  const int n = record_.rows.rows();
  auto lambda = record_.impulse.head(n);
  auto velocity = record_.velocity.head(n);
  const Problem problem = record_.problem();
  const auto bias = record_.rows.bias();
  double asked = asked_energy(), linear = 0.0, square = 0.0;
  for (int row = 0; row < n; ++row) {
    if (problem.R[row] > 0.0) asked += std::max(0.0, -lambda[row] * bias[row]);  // springs and motors do work
    linear += lambda[row] * (problem.g[row] - bias[row]);
    square += 0.5 * lambda[row] * (velocity[row] - problem.g[row] - problem.R[row] * lambda[row]);
  }
  if (!(linear + square > asked) || !(square > 0.0)) return;
  lambda *= (std::sqrt(linear * linear + 4.0 * square * asked) - linear) / (2.0 * square);
  record_.report.residuals = residuals(problem, lambda, velocity);
}

// Newton's law for the rows that bounce, every e times `scale`.
void Simulator::set_bounces(double scale) {
  auto bias = record_.rows.bias();
  for (const Bounce& bounce : bouncing_) {
    const double wanted = bounce_bias(bounce, scale);
    record_.g[bounce.row] += wanted - bias[bounce.row];
    bias[bounce.row] = wanted;
  }
  record_.restitution_scale = scale;
}

void Simulator::solve() {
  const int n = record_.rows.rows();
  record_.restitution_scale = 1.0;
  if (n == 0) {
    record_.report = {};
    return;
  }
  auto lambda = record_.impulse.head(n);
  auto velocity = record_.velocity.head(n);
  set_bounces(1.0);
  record_.report = run_solver();
  if (closure_rows_ > 0 && !options_.soft_loops) limit_closing();
  if (record_.report.status != Status::converged) bound_impulses();
  if (bouncing_.empty()) return;

  // What may be gained: what the smooth forces took before the impact, and what stabilization puts in.
  const auto gains = [&] {
    double allowed = std::max(0.0, -smooth_work_), size = 0.0;
    const auto bias = record_.rows.bias();
    for (int i = 0; i < n; ++i) {
      allowed += std::max(0.0, -lambda[i] * bias[i]);
      size += std::abs(lambda[i] * velocity[i]) + std::abs(lambda[i] * bias[i]);
    }
    for (const Bounce& b : bouncing_) allowed -= std::max(0.0, -lambda[b.row] * bias[b.row]);
    return energy_of_impulses(record_.problem(), bias, lambda, velocity) > allowed + 1e-9 * size;
  };
  if (!gains()) return;
  double low = 0.0, high = 1.0;
  const auto try_scale = [&](double scale) {
    set_bounces(scale);
    const int iterations = record_.report.iterations;
    record_.report = run_solver();
    record_.report.iterations += iterations;
  };
  for (int i = 0; i < 10; ++i) {
    const double scale = 0.5 * (low + high);
    try_scale(scale);
    (gains() ? high : low) = scale;
  }
  if (record_.restitution_scale != low) try_scale(low);
  if (record_.report.status != Status::converged) bound_impulses();
}

void Simulator::advance() {
  const auto& model = scene_->model;
  work_.setZero();
  dynamics_.apply_transpose(record_.rows, record_.impulse, work_);
  if (record_.rows.rows() > 0) dynamics_.solve(model, work_);
  record_.v_plus = record_.v_free + work_;
  const double ahead = options_.instant().ahead;
  work_ = ahead * record_.v_plus;
  record_.v_next = record_.v_plus;
  if (std::isfinite(work_.squaredNorm())) {
    pinocchio::integrate(model, ConstVectorRef(record_.q_look), ConstVectorRef(work_), VectorRef(record_.q_next));
    free_joints_.advance(record_.q_look, ahead, record_.q_next, record_.v_next);
  } else {  // Pinocchio's exponentials are for numbers
    record_.q_next.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
}

// The bias of loops is a forecast of how they bend. What it leaves open is asked for again until next to nothing of it
// is left: then φ(q⁺) = 0 is what holds, which is smooth and has a derivative, however the forecast was.
void Simulator::close_left_open() {
  constexpr double kLittle = 1e-7, kOpen = 1e-6, kNotHeld = 1e-5;  // m or rad
  constexpr double kShare = 1e-5, kRounding = 1e-14;
  constexpr int kAsks = 5, kFewAsks = 2, kPutBack = 12;  // the last where bodies turn far in the step
  record_.asked_again = record_.put_back = false;
  // Solvers that iterate on loops, too, cannot be asked for what their tolerance does not see.
  const bool exact = options_.solver == "auto";
  // Half of Moreau's step is made before it looks: to ask for all of the rest would set velocities swinging.
  const int asks = options_.integrator == Integrator::moreau ? 0 : exact ? kAsks : kFewAsks;
  double allowed = exact ? kLittle : kOpen;
  double open = left_open();
  for (int round = 0; round < asks && open > allowed; ++round) {
    if (round == 0 && exact) allowed = std::max(kRounding, kShare * open);
    record_.asked_again = true;
    const int iterations = record_.report.iterations;
    ask_again();
    solve();
    record_.report.iterations += iterations;
    impulses_.remember(record_, joint_rows_);
    advance();
    open = left_open();
  }
  for (int round = 0; round < kPutBack && open > kOpen; ++round) {
    record_.put_back = true;
    if (!put_back()) break;
    const double before = std::exchange(open, left_open());
    if (!(open < before)) break;  // the shortest way leads nowhere
  }
  // The velocities are exact, where they lead is not.
  if (open > kNotHeld && record_.report.status == Status::converged) record_.report.status = Status::stalled;
}

const Record& Simulator::step(const Usage::Change&, const ConstVectorRef& q, const ConstVectorRef& v,
                              const ConstVectorRef& tau, std::span<const pinocchio::Force> fext,
                              const ConstVectorRef& control) {
  const Usage::Step within(usage_);
  const bool was_touched = !values_.equal(*scene_);
  const SceneValues::Difference edited = was_touched ? edits() : SceneValues::Difference{};
  check(q, v, tau, fext, control);
  if (was_touched) follow(edited);
  before_.q = record_.q_next;
  before_.v = record_.v_next;
  std::swap(before_.impulses, impulses_);  // all of them are written anew
  before_.penalty = solver_.penalty();
  before_.detected = false;
  has_stepped_ = false;  // until it is whole
  ++steps_;
  try {
    make_step(q, v, tau, fext, control);
  } catch (...) {
    undo_step();
    throw;
  }
  return record_;
}

// The state is the one before; of what was done nothing is left to be read.
void Simulator::undo_step() {
  record_.q_next = before_.q;
  record_.v_next = before_.v;
  if (before_.detected) detector_.undo(collision_memory_);
  std::swap(before_.impulses, impulses_);
  solver_.set_penalty(before_.penalty);
  record_.contacts.clear();
  record_.joint_rows.clear();
  record_.driven.clear();
  record_.rows.clear();
  record_.joint_start = record_.loop_start = 0;
  record_.is_sparse = false;
  record_.v_free.setZero();
  record_.restitution_scale = 1.0;
  record_.report = {};
  bouncing_.clear();
}

void Simulator::make_step(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
                          std::span<const pinocchio::Force> fext, const ConstVectorRef& control) {
  may_interrupt(static_cast<int>(v.size()));
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
    look();
    free_motion(fext, control);
  }
  {
    const auto timed = watch(Phase::collision);
    before_.detected = true;
    detector_.detect(scene_->geometry, dynamics_.placements(), dynamics_.velocities(), options_.dt,
                     options_.stabilization.margin, collision_memory_, record_.contacts);
    set_surfaces();
  }
  {
    const auto timed = watch(Phase::delassus);
    constrain();
  }
  {
    const auto timed = watch(Phase::solver);
    auto lambda = record_.impulse.head(record_.rows.rows());
    lambda.setZero();
    if (options_.warm_start) before_.impulses.recall(record_, joint_rows_, lambda);
    solve();
    impulses_.remember(record_, joint_rows_);
  }
  {
    const auto timed = watch(Phase::integration);
    advance();
    close_left_open();
  }
  if (!record_.q_next.allFinite() || !record_.v_next.allFinite()) record_.report.status = Status::not_finite;
  has_stepped_ = true;
  is_restored_ = false;
}

State Simulator::state() const {
  const Usage::Look look(usage_);
  const bool at_rest = steps_ == 0 && !is_restored_;
  return {.q = is_restored_ ? q_restored_
               : at_rest    ? scene_->q0
                            : record_.q_next,
          .v = is_restored_ ? v_restored_ : record_.v_next,
          .collision = collision_memory_,
          .impulses = impulses_,
          .penalty = solver_.penalty(),
          .structure = structure_};
}

void Simulator::restore(const State& state) {
  const Usage::Change change(usage_);
  if (state.structure != structure_ || state.q.size() != scene_->model.nq || state.v.size() != scene_->model.nv ||
      state.collision.guesses.size() != collision_memory_.guesses.size() ||
      state.impulses.joints.size() != impulses_.joints.size() ||
      state.impulses.closures.size() != impulses_.closures.size() ||
      state.impulses.drives.size() != impulses_.drives.size()) {
    throw std::invalid_argument(
        "restore: this state is of another scene: its joints, shapes, pairs, loops or actuators are others");
  }
  q_restored_ = state.q;
  v_restored_ = state.v;
  is_restored_ = true;
  const std::size_t pasts = collision_memory_.pasts.size();
  collision_memory_ = state.collision;
  collision_memory_.pasts.resize(pasts);  // another way to start GJK remembers more, or less
  impulses_ = state.impulses;
  solver_.set_penalty(state.penalty);
}

void Simulator::reset() {
  const Usage::Change change(usage_);
  collision_memory_ = detector_.memory();
  impulses_.clear();
  solver_.set_penalty(0.0);
}

}  // namespace taut
