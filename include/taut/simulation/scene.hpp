#pragma once

#include <pinocchio/geometry.hpp>
#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "taut/constraints/coupling.hpp"
#include "taut/constraints/joint.hpp"
#include "taut/constraints/loop.hpp"
#include "taut/io/limits.hpp"

namespace taut {

/// How the coefficients of two shapes become the one of their contact.
enum class FrictionRule { maximum, minimum, average, geometric_mean, product };

double combine(FrictionRule rule, double mu_1, double mu_2);

/// What a shape brings to a contact, beside its geometry. One per object of `Scene::geometry`, in its order.
struct Surface {
  double friction = 0.8;
  double restitution = 0.0;  ///< Newton's e, 0 … 1; of two surfaces the larger one counts
  double compliance = 0.0;   ///< m/N; of two surfaces the sum counts, as of springs in a row
  int priority = 0;          ///< the higher one decides alone (MJCF); equal priorities are combined
};

/// A motor or a position servo on one degree of freedom, or on a direction in which a loop closure is free to move.
struct Actuator {
  enum class Kind { motor, position };
  std::string name;
  Kind kind = Kind::motor;
  int dof = 0;        ///< index into v; of a loop: which of its directions, see `drives_of`
  int loop = -1;      ///< index into `Scene::loops` if it drives one
  double gear = 1.0;  ///< torque = gear · force
  double kp = 0.0;    ///< position: force = kp (control − gear · q) − kv · gear · v
  double kv = 0.0;
  std::pair<double, double> control_range{-HUGE_VAL, HUGE_VAL};
  std::pair<double, double> force_range{-HUGE_VAL, HUGE_VAL};
};

/// A file that a part of a scene was read from: what that part looks like stands there.
struct Source {
  std::string path;  ///< absolute
  std::vector<std::string> package_dirs = {};
  std::string prefix = {};  ///< of its names in the scene
  int joints_before = 0;    ///< joint k of the file is joint k + joints_before of the scene; its world is the world
  pinocchio::SE3 placement = pinocchio::SE3::Identity();  ///< of its world
  std::vector<std::string> allow = {};                    ///< folders, absolute, that it may read besides its own
  bool trust = false;                                     ///< it may read everything
  std::size_t max_bytes = limits::kBytes;                 ///< its meshes may have together
};

/// A world: one Pinocchio model holding every robot and free body, its shapes, and what Pinocchio has no place for.
/// Built once, then shared by any number of simulators; `model` and `geometry` are live.
///
/// Joint limits, armature, damping and dry friction stand in Pinocchio's own fields (`lowerPositionLimit`,
/// `armature`, `damping`, `upperDryFrictionLimit`).
struct Scene {
  pinocchio::Model model;
  pinocchio::GeometryModel geometry;  ///< its collision pairs are the ones that may touch
  std::vector<Surface> surfaces;      ///< one per geometry object

  FrictionRule friction_rule = FrictionRule::maximum;
  /// By names, sorted; overrides the rule. While a simulator steps it values may be set and pairs added; to take pairs
  /// out make a new simulator.
  std::map<std::pair<std::string, std::string>, double> pair_friction;

  std::map<std::pair<std::string, std::string>, double> pair_restitution;  ///< the same for Newton's e

  std::vector<Loop> loops;
  std::vector<Coupling> couplings;

  LimitSurface limits;                 ///< restitution and compliance of the joints' stops, per dof
  std::vector<BallLimit> ball_limits;  ///< Pinocchio has no place for the limit of a ball joint
  Eigen::VectorXd stiffness;           ///< per dof, N m/rad or N/m
  Eigen::VectorXd spring_reference;    ///< per dof, where the spring is at rest
  std::vector<Actuator> actuators;

  Eigen::VectorXd q0;                            ///< where a run starts
  std::map<std::string, Eigen::VectorXd> poses;  ///< keyframes, SRDF group states
  std::vector<Source> sources;                   ///< files it was read from, none for what was built in code
  std::vector<std::string> warnings;             ///< what a file asked for and taut does not do, each once

  Scene();

  /// Friction of the contact of two shapes, by their indices in `geometry`.
  double friction(std::size_t shape_1, std::size_t shape_2) const;
  /// The same from the two surfaces alone, without a look at `pair_friction`.
  double combined_friction(std::size_t shape_1, std::size_t shape_2) const;

  /// Newton's e of two surfaces, without a look at `pair_restitution`.
  double combined_restitution(std::size_t shape_1, std::size_t shape_2) const;

  /// Brings the per-dof and per-shape arrays to the size of `model` and `geometry`, keeping what is there.
  void fit_arrays(double friction = Surface{}.friction);

  /// Notes an unsupported feature unless the same note is there already.
  void warn(const std::string& what);
};

/// Adds a free body with the given inertia (frame: the body's). Returns its joint index. Its q (x y z, quaternion
/// x y z w) is appended to q0.
pinocchio::JointIndex add_free_body(Scene& scene, const std::string& name, const pinocchio::Inertia& inertia,
                                    const pinocchio::SE3& placement);

/// Adds a shape to joint `parent` (0: the world), to collide with every shape of other joints that is not its
/// parent's or child's. Returns its index in `geometry`.
std::size_t add_shape(Scene& scene, pinocchio::JointIndex parent, const std::string& name,
                      std::shared_ptr<coal::CollisionGeometry> shape, const pinocchio::SE3& placement,
                      Surface surface = {});

/// Puts another scene (a robot) into this one, its joints and shapes prefixed by `prefix`, its base placed at
/// `placement`. Shapes of the two collide with each other.
void append(Scene& scene, const Scene& robot, const std::string& prefix, const pinocchio::SE3& placement);

/// A horizontal half-space z ≤ height on the world, that collides with every moving shape.
std::size_t add_floor(Scene& scene, double height = 0.0, Surface surface = {});

/// Appends a loop closure. Throws std::invalid_argument naming the value on unknown joints, a loop of a body with
/// itself, frames that are not finite, a length ≤ 0 or a negative compliance.
void add_loop(Scene& scene, Loop loop);

/// Appends a coupling of joint coordinates. Throws likewise.
void add_coupling(Scene& scene, Coupling coupling);

/// Throws std::invalid_argument naming the value: non-positive mass of a moving body, negative friction, NaN.
void validate(const Scene& scene);

}  // namespace taut
