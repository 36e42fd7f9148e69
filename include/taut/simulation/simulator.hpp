#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "taut/collision/detector.hpp"
#include "taut/constraints/joint.hpp"
#include "taut/dynamics/dynamics.hpp"
#include "taut/dynamics/free_joints.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/servo.hpp"
#include "taut/solvers/solver.hpp"

namespace taut {

struct SimulatorOptions {
  double dt = 1e-3;
  std::string solver = "auto";
  SolverOptions solving{};  ///< what the solver is told; its tolerance is in m/s
  Stabilization stabilization{};
  double compliance = 0.0;  ///< m/N, of every contact, see `add_contacts`; 0: rigid
  bool warm_start = true;
  bool joint_limits = true;
  bool joint_friction = true;
  bool profile = false;  ///< fill `Record::seconds`
};

/// Where the time of a step went.
enum class Phase { dynamics, collision, delassus, solver, integration };
inline constexpr int phase_count = 5;

/// Everything about the last step, for users and for derivatives. Read only.
struct Record {
  Eigen::VectorXd q, v, tau;       ///< where it started; tau includes external forces, motors and saturated servos
  Eigen::VectorXd v_free;          ///< velocity without constraint impulses, in the axes of q
  Eigen::VectorXd v_plus;          ///< velocity with them, in the axes of q: what constraints hold
  Eigen::VectorXd q_next, v_next;  ///< where it ended: v_next is v_plus in the axes of q_next
  std::vector<Contact> contacts;   ///< the first blocks of the problem, in this order
  std::vector<int> joint_rows;     ///< the blocks after them: indices into `Simulator::joint_rows()`
  Rows rows;
  Eigen::MatrixXd G;   ///< at least rows() × rows(), unless `is_sparse`: see `problem()`
  BlockSparse sparse;  ///< the Delassus matrix of a pile, instead of `G`
  bool is_sparse = false;
  Eigen::VectorXd g, impulse, velocity;  ///< at least rows() long
  SolveReport report;
  std::array<double, phase_count> seconds{};

  Problem problem() const;
  /// Impulse on body 1 of each contact, in its frame (t1, t2, n).
  Eigen::Map<const Eigen::Matrix3Xd> contact_impulses() const;
};

/// A full state: with it the future is the same, bit for bit.
struct State {
  Eigen::VectorXd q, v;
  CollisionMemory collision;
  struct Impulse {
    int order, slot;
    Eigen::Vector3d world;
  };
  std::vector<Impulse> contact_impulses;  ///< sorted by `Contact::order`
  Eigen::VectorXd joint_impulses;         ///< one per candidate row
  double penalty = 0.0;                   ///< the solver's, see `Solver::penalty`
};

/// Steps a scene. Many simulators may share one scene, each on its own thread; masses, surfaces and gravity of the
/// scene are read at every step, `pair_friction` once; its structure (joints, shapes, pairs) must not change.
class Simulator {
 public:
  /// Throws std::invalid_argument naming the value: dt ≤ 0, unknown solver, a scene that does not validate.
  explicit Simulator(std::shared_ptr<const Scene> scene, SimulatorOptions options = {});

  /// One step from (q, v) with joint torques `tau`, forces `fext` (per joint, in its frame, the world first) and
  /// `control` (one value per actuator of the scene); an empty one counts as zero (controls: actuators off).
  /// Throws std::invalid_argument naming the value on wrong sizes, NaN, infinity or a quaternion that is not unit,
  /// before anything changes. A step that cannot be solved says so in its report.
  const Record& step(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau = Eigen::VectorXd(),
                     std::span<const pinocchio::Force> fext = {}, const ConstVectorRef& control = Eigen::VectorXd());

  /// Steps `steps` times, torque column k in step k (none: zero), and hands each record to `observe(k, record)`. Ends
  /// early after a step that is not finite.
  template <typename Observe>
  void rollout(const ConstVectorRef& q, const ConstVectorRef& v, const ConstMatrixRef& taus, int steps,
               Observe&& observe) {
    Eigen::VectorXd q_now = q, v_now = v;
    for (int k = 0; k < steps; ++k) {
      const Record& done = taus.cols() > 0 ? step(q_now, v_now, taus.col(k)) : step(q_now, v_now);
      observe(k, done);
      if (done.report.status == Status::not_finite) return;
      q_now = done.q_next;
      v_now = done.v_next;
    }
  }

  Servo& servo() { return servo_; }

  /// The state after the last step (before any: the scene's q0 at rest).
  State state() const;
  void restore(const State& state);
  /// Forgets contacts and impulses: the next step is a cold start.
  void reset();

  const Record& record() const { return record_; }
  const Scene& scene() const { return *scene_; }
  std::shared_ptr<const Scene> shared_scene() const { return scene_; }
  const SimulatorOptions& options() const { return options_; }
  std::span<const JointRow> joint_rows() const { return joint_rows_; }
  const Dynamics& dynamics() const { return dynamics_; }

 private:
  void check(const ConstVectorRef& q, const ConstVectorRef& v, const ConstVectorRef& tau,
             std::span<const pinocchio::Force> fext, const ConstVectorRef& control) const;
  void free_motion(std::span<const pinocchio::Force> fext, const ConstVectorRef& control);
  void apply_servo(double kp, double kd, double target, double lower, double upper, int dof);
  void constrain();
  void guess_impulses();
  void remember_impulses();

  std::shared_ptr<const Scene> scene_;
  SimulatorOptions options_;
  CollisionDetector detector_;
  Dynamics dynamics_;
  std::vector<JointRow> joint_rows_;
  FreeJoints free_joints_;
  std::vector<int> dof_to_q_;  ///< where a single-dof joint's coordinate stands in q; −1 for others
  struct UnitPart {
    int start, size, joint;
  };
  std::vector<UnitPart> unit_parts_;  ///< quaternions (4) and (cos, sin) couples (2) of q
  std::vector<double> pair_mu_;       ///< friction given for a pair by name; negative: by rule
  Solver solver_;
  Servo servo_;

  CollisionMemory collision_memory_;
  std::vector<State::Impulse> contact_impulses_, new_contact_impulses_;
  Eigen::VectorXd joint_impulses_;
  Eigen::VectorXd implicit_, work_;
  Record record_;
};

}  // namespace taut
