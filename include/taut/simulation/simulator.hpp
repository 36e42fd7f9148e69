#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "taut/collision/detector.hpp"
#include "taut/constraints/restitution.hpp"
#include "taut/dynamics/dynamics.hpp"
#include "taut/dynamics/free_joints.hpp"
#include "taut/dynamics/kinematics.hpp"
#include "taut/simulation/impulse_memory.hpp"
#include "taut/simulation/joint_forces.hpp"
#include "taut/simulation/options.hpp"
#include "taut/simulation/record.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/servo.hpp"
#include "taut/simulation/usage.hpp"
#include "taut/simulation/values.hpp"

namespace taut {

/// A full state: with it the future is the same, bit for bit.
struct State {
  Eigen::VectorXd q, v;
  CollisionMemory collision;
  ImpulseMemory impulses;
  double penalty = 0.0;         ///< the solver's, see `Solver::penalty`
  std::uint64_t structure = 0;  ///< `structure_of` the scene it is a state of
};

/// Steps a scene. Many simulators may share one scene, each on its own thread. The scene is live: the next step sees
/// what was edited, be it masses, limits, dry friction, surfaces, pairs' own, placements and sizes of shapes, loops or
/// actuators. Its structure (how many joints, shapes, pairs, loops, of which kind and on what) must not change.
///
/// One call at a time: `step`, `rollout`, `restore`, `reset` and derivatives throw std::runtime_error if another thread
/// uses the simulator, or a call within their own. References that it gives away are the caller's to look after.
class Simulator {
 public:
  /// Throws std::invalid_argument naming the value: dt ≤ 0, unknown solver, a scene that does not validate.
  explicit Simulator(std::shared_ptr<const Scene> scene, SimulatorOptions options = {});

  /// One step from (q, v) with joint torques `tau`, forces `fext` (per joint, in its frame, the world first) and
  /// `control` (one value per actuator of the scene); an empty one counts as zero (controls: actuators off).
  /// Throws std::invalid_argument naming the value on wrong sizes, NaN, infinity or a quaternion that is not unit,
  /// before anything changes; likewise on a scene that was edited to what does not validate, or in its structure. A
  /// step that cannot be solved says so in its report.
  ///
  /// A step that is ended from without (`Interruptible`, or no memory) leaves the state as it was before, and no step
  /// to differentiate.
  const Record& step(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau = Eigen::VectorXd(),
                     std::span<const pinocchio::Force> fext = {}, const ConstVectorRef& control = Eigen::VectorXd()) {
    const Usage::Change change(usage_);
    return step(change, q, v, tau, fext, control);
  }
  /// The same for whoever holds the simulator for longer: for several steps, or to read the record.
  const Record& step(const Usage::Change& change, const ConstVectorRef& q, const ConstVectorRef& v,
                     const ConstVectorRef& tau = Eigen::VectorXd(), std::span<const pinocchio::Force> fext = {},
                     const ConstVectorRef& control = Eigen::VectorXd());

  /// Steps `steps` times, column k of `taus` and of `controls` in step k (a single column of controls: in every step;
  /// none: zero, actuators off), and hands each record to `observe(k, record)`. Ends early after a step that is not
  /// finite.
  template <typename Observe>
  void rollout(const ConstVectorRef& q, const ConstVectorRef& v, const ConstMatrixRef& taus, int steps,
               Observe&& observe, const ConstMatrixRef& controls = Eigen::MatrixXd()) {
    const Usage::Change change(usage_);
    rollout(change, q, v, taus, steps, observe, controls);
  }
  template <typename Observe>
  void rollout(const Usage::Change& change, const ConstVectorRef& q, const ConstVectorRef& v,
               const ConstMatrixRef& taus, int steps, Observe&& observe,
               const ConstMatrixRef& controls = Eigen::MatrixXd()) {
    Eigen::VectorXd q_now = q, v_now = v, tau, control;
    for (int k = 0; k < steps; ++k) {
      if (taus.cols() > 0) tau = taus.col(k);
      if (controls.cols() > 0) control = controls.col(controls.cols() == 1 ? 0 : k);
      const Record& done = step(change, q_now, v_now, tau, {}, control);
      observe(k, done);
      if (done.report.status == Status::not_finite) return;
      q_now = done.q_next;
      v_now = done.v_next;
    }
  }

  Servo& servo() { return servo_; }
  const Servo& servo() const { return servo_; }

  /// The state after the last step, or that restored after it (before any: the scene's q0 at rest).
  State state() const;
  /// Throws std::invalid_argument if it is a state of a scene of another structure. The record stays that of the last
  /// step.
  void restore(const State& state);
  /// Forgets contacts and impulses: the next step is a cold start.
  void reset();

  /// For calls that keep others out.
  Usage& usage() const { return usage_; }

  const Record& record() const { return record_; }
  const Scene& scene() const { return *scene_; }
  std::shared_ptr<const Scene> shared_scene() const { return scene_; }
  const SimulatorOptions& options() const { return options_; }
  std::span<const JointRow> joint_rows() const { return joint_rows_; }
  const Dynamics& dynamics() const { return dynamics_; }
  const CollisionDetector& detector() const { return detector_; }
  const JointForces& joint_forces() const { return forces_; }
  /// A step was made, and the last one was not broken off by an exception.
  bool has_stepped() const { return has_stepped_; }
  /// How many steps were begun.
  std::uint64_t steps() const { return steps_; }
  /// Throws std::invalid_argument if the live scene does not have the joints, shapes, pairs, loops and actuators it had
  /// when this was made, or one of its arrays does not fit them: what everything that reads the scene begins with. Says
  /// whether anything was edited since the last step.
  bool require_same_structure() const { return !edits().first.empty(); }
  /// What differentiates the last step needs its scene as it was: throws std::invalid_argument naming what was edited
  /// since.
  void require_unedited() const;
  /// Which two shapes a pair is of, as `Contact::pair` counts them.
  std::pair<std::size_t, std::size_t> pair_shapes(int pair) const {
    return pair_shapes_[static_cast<std::size_t>(pair)];
  }
  /// Rows of the last step that bounced.
  std::span<const Bounce> bouncing() const { return bouncing_; }

 private:
  void check(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
             std::span<const pinocchio::Force> fext, const ConstVectorRef& control) const;
  SceneValues::Difference edits() const;
  void follow(const SceneValues::Difference& edited);
  void list_joint_rows();
  void list_pairs();
  void make_step(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
                 std::span<const pinocchio::Force> fext, const ConstVectorRef& control);
  void undo_step();
  void look();
  void free_motion(std::span<const pinocchio::Force> fext, const ConstVectorRef& control);
  bool has_restitution() const;
  void set_surfaces();
  void constrain();
  template <typename Placements>
  void closure_errors(const Placements& oM, const ConstVectorRef& q, VectorRef error) const;
  void close_loops();
  void reconcile_rows();
  double left_open();
  void close_left_open();
  void ask_again();
  bool put_back();
  void set_bias();
  void soften_rows();
  void solve();
  void set_bounces(double scale);
  SolveReport run_solver();
  double asked_energy() const;
  void limit_closing();
  void bound_impulses();
  void advance();

  std::shared_ptr<const Scene> scene_;
  SimulatorOptions options_;
  SceneValues values_;  ///< as the last step saw them
  std::uint64_t structure_;
  CollisionDetector detector_;
  Dynamics dynamics_;
  std::vector<JointRow> joint_rows_;
  FreeJoints free_joints_;
  JointForces forces_;
  struct UnitPart {
    int start, size, joint;
  };
  std::vector<UnitPart> unit_parts_;                              ///< quaternions (4) and (cos, sin) couples (2) of q
  std::vector<std::pair<std::size_t, std::size_t>> pair_shapes_;  ///< as they were: live ones may name any shape
  std::vector<const double*> pair_mu_;    ///< of a pair that has its own, where the scene has it; null: by rule
  std::vector<double> pair_restitution_;  ///< of a pair that has its own; negative: by rule
  bool bounces_ = false;                  ///< something in the scene has a restitution
  Kinematics held_;                       ///< of the joints that loops hold
  int closure_rows_ = 0;                  ///< of loops and couplings
  Solver solver_;
  Servo servo_;

  CollisionMemory collision_memory_;
  ImpulseMemory impulses_;
  Eigen::VectorXd work_, force_, q_ahead_, v_ahead_;
  Eigen::VectorXd error_, ahead_;  ///< φ of loops and couplings, here and where the old velocity leads
  Eigen::VectorXd left_;           ///< how far rows are left open on purpose, if closing is not limited
  Eigen::VectorXd closing_;        ///< bias that closes them
  Eigen::VectorXd bend_;           ///< what it bends on the way, by row of the step
  Eigen::VectorXd approach_;       ///< velocity of the rows at the start of the step, if anything depends on it
  double smooth_work_ = 0.0;       ///< kinetic energy that the free motion gains in the step
  std::vector<Bounce> bouncing_;
  bool has_stepped_ = false;
  std::uint64_t steps_ = 0;
  bool is_restored_ = false;  ///< since the last step, to these
  Eigen::VectorXd q_restored_, v_restored_;
  Record record_;
  /// What a step that does not come to its end gives back, beside what the detector knows.
  struct Before {
    Eigen::VectorXd q, v;
    ImpulseMemory impulses;
    double penalty = 0.0;
    bool detected = false;  ///< the step has
  } before_;
  mutable Usage usage_;
};

}  // namespace taut
