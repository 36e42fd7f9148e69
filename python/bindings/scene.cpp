#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <coal/shape/geometric_shapes.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <Eigen/Eigenvalues>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupts.hpp"
#include "placement.hpp"
#include "read_only.hpp"
#include "running.hpp"
#include "taut/collision/shape.hpp"
#include "taut/io/load.hpp"
#include "taut/io/visuals.hpp"
#include "taut/simulation/parameters.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/structure.hpp"

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::Vector4d;
using Eigen::VectorXd;
using taut::Scene;
using taut::python::ArrayLike;
using taut::python::NotWhileRunning;
using taut::python::placement;
using taut::python::read_only;

std::size_t bytes_of(const taut::python::Integer& max_bytes) {
  return static_cast<std::size_t>(max_bytes.within("max_bytes", 1, std::int64_t{1} << 39));
}

taut::LoadOptions options_of(const taut::Source& source) {
  return {
      .package_dirs = source.package_dirs, .allow = source.allow, .trust = source.trust, .max_bytes = source.max_bytes};
}

// Coal's shapes are copied: the scene must not depend on Python objects when it is used without the GIL.
std::shared_ptr<coal::CollisionGeometry> take_shape(nb::handle object, const std::string& name) {
  auto& geometry = taut::python::unwrap<coal::CollisionGeometry>(object, "Coal shape, such as coal.Box(1, 1, 1)");
  taut::make_shape(geometry, name.c_str());  // before Coal looks at what may be degenerate
  std::shared_ptr<coal::CollisionGeometry> copy(geometry.clone());
  copy->computeLocalAABB();
  taut::make_shape(*copy, name.c_str());  // throws on degenerate shapes
  return copy;
}

taut::FrictionRule rule_of(const std::string& name) {
  if (name == "maximum") return taut::FrictionRule::maximum;
  if (name == "minimum") return taut::FrictionRule::minimum;
  if (name == "average") return taut::FrictionRule::average;
  if (name == "geometric_mean") return taut::FrictionRule::geometric_mean;
  if (name == "product") return taut::FrictionRule::product;
  throw std::invalid_argument("friction rule '" + name +
                              "' is not one of maximum, minimum, average, geometric_mean, product");
}

const char* name_of(taut::FrictionRule rule) {
  switch (rule) {
    case taut::FrictionRule::maximum:
      return "maximum";
    case taut::FrictionRule::minimum:
      return "minimum";
    case taut::FrictionRule::average:
      return "average";
    case taut::FrictionRule::geometric_mean:
      return "geometric_mean";
    case taut::FrictionRule::product:
      return "product";
  }
  return "?";
}

VectorXd finite(VectorXd values, const char* what) {
  if (!values.allFinite()) throw std::invalid_argument(std::string(what) + " is not finite");
  return values;
}

double checked_friction(double mu) {
  if (!(mu >= 0.0) || !std::isfinite(mu)) {
    throw std::invalid_argument("friction is " + std::to_string(mu) + ", it must be non-negative and finite");
  }
  return mu;
}

std::size_t shape_index(const Scene& scene, const std::string& name) {
  taut::check_live(scene);
  if (!scene.geometry.existGeometryName(name)) throw std::invalid_argument("no shape is named '" + name + "'");
  return scene.geometry.getGeometryId(name);
}

double checked_restitution(double e) {
  if (!(e >= 0.0 && e <= 1.0)) {
    throw std::invalid_argument("restitution is " + std::to_string(e) + ", it must be between 0 and 1");
  }
  return e;
}

double checked_compliance(double compliance) {
  if (!(compliance >= 0.0) || !std::isfinite(compliance)) {
    throw std::invalid_argument("compliance is " + std::to_string(compliance) + ", it must be non-negative and finite");
  }
  return compliance;
}

taut::Surface surface_of(double friction, double restitution = 0.0, double compliance = 0.0) {
  return {.friction = checked_friction(friction),
          .restitution = checked_restitution(restitution),
          .compliance = checked_compliance(compliance)};
}

// An actuator where the scene has it: a copy would take what is written to it, and nobody would feel it.
struct LiveActuator {
  std::shared_ptr<Scene> scene;
  std::size_t index;

  taut::Actuator& get() const {
    if (index >= scene->actuators.size()) throw std::invalid_argument("this actuator is no longer in its scene");
    return scene->actuators[index];
  }
};

double checked_gear(double gear) {
  if (gear == 0.0 || !std::isfinite(gear)) {
    throw std::invalid_argument("gear is " + std::to_string(gear) + ", it must be finite and not zero");
  }
  return gear;
}

double checked_gain(double gain) {
  if (!(gain >= 0.0) || !std::isfinite(gain)) {
    throw std::invalid_argument("gain is " + std::to_string(gain) + ", it must be non-negative and finite");
  }
  return gain;
}

std::pair<double, double> checked_range(std::pair<double, double> range) {
  if (!(range.first <= range.second)) {
    throw std::invalid_argument("range is " + std::to_string(range.first) + " to " + std::to_string(range.second) +
                                ", its lower end must not be above the upper one");
  }
  return range;
}

// A property that is read from the scene and, checked, written to it.
template <auto Checked, typename Value>
void bind_live(nb::class_<LiveActuator>& actuator, const char* name, Value taut::Actuator::* member) {
  actuator.def_prop_rw(
      name, [member](const LiveActuator& a) { return a.get().*member; },
      [member](const LiveActuator& a, Value value) { a.get().*member = Checked(value); });
}

std::size_t add_body(Scene& scene, const std::string& name, nb::handle shape, double mass, const ArrayLike& position,
                     const ArrayLike& quaternion, double friction, const std::optional<ArrayLike>& inertia,
                     double restitution, double compliance) {
  std::shared_ptr<coal::CollisionGeometry> geometry;
  if (!shape.is_none()) geometry = take_shape(shape, name);
  const taut::Surface surface = surface_of(friction, restitution, compliance);
  const pinocchio::SE3 where = placement(position, quaternion);
  Matrix3d moment;
  Vector3d com = Vector3d::Zero();
  if (inertia) {
    const Eigen::MatrixXd given = inertia->matrix("inertia", 3, 3);
    if (!given.allFinite()) throw std::invalid_argument("inertia of '" + name + "' is not finite");
    const Vector3d principal = Eigen::SelfAdjointEigenSolver<Matrix3d>(given).eigenvalues();
    if (!given.isApprox(given.transpose(), 1e-9) || !(principal[0] > 0.0)) {
      throw std::invalid_argument("inertia of '" + name +
                                  "' must be symmetric and positive definite; its lowest "
                                  "eigenvalue is " +
                                  std::to_string(principal[0]));
    }
    moment = given;
  } else {
    if (!geometry) throw std::invalid_argument("body '" + name + "': without a shape it needs an inertia");
    const double volume = geometry->computeVolume();
    if (!(volume > 0.0)) {
      throw std::invalid_argument("body '" + name + "': its shape has no volume; give the inertia");
    }
    com = geometry->computeCOM();
    moment = geometry->computeMomentofInertiaRelatedToCOM() * (mass / volume);
  }
  const auto joint = taut::add_free_body(scene, name, pinocchio::Inertia(mass, com, moment), where);
  if (geometry) taut::add_shape(scene, joint, name, std::move(geometry), pinocchio::SE3::Identity(), surface);
  return joint;
}

}  // namespace

void bind_scene(nb::module_& m) {
  const nb::tuple origin = nb::make_tuple(0.0, 0.0, 0.0);
  const nb::tuple upright = nb::make_tuple(0.0, 0.0, 0.0, 1.0);

  nb::class_<LiveActuator> actuator(m, "Actuator",
                                    "A motor or a position servo on one degree of freedom, live: gear, gains and "
                                    "ranges may be written, and the next step feels them.");
  actuator.def_prop_ro("name", [](const LiveActuator& a) { return a.get().name; })
      .def_prop_ro(
          "kind",
          [](const LiveActuator& a) { return a.get().kind == taut::Actuator::Kind::motor ? "motor" : "position"; })
      .def_prop_ro(
          "dof", [](const LiveActuator& a) { return a.get().dof; }, "Index into v, or the direction of a loop.")
      .def_prop_ro("loop", [](const LiveActuator& a) { return a.get().loop; }, "Index into scene.loops, or -1.");
  bind_live<checked_gear>(actuator, "gear", &taut::Actuator::gear);
  bind_live<checked_gain>(actuator, "kp", &taut::Actuator::kp);
  bind_live<checked_gain>(actuator, "kv", &taut::Actuator::kv);
  bind_live<checked_range>(actuator, "control_range", &taut::Actuator::control_range);
  bind_live<checked_range>(actuator, "force_range", &taut::Actuator::force_range);

  nb::class_<taut::Source>(m, "Source", "A file that a part of a scene was read from.")
      .def(
          "__init__",
          [](taut::Source* self, const std::string& path, const std::vector<std::string>& package_dirs,
             const std::string& prefix, const taut::python::Integer& joints_before, const ArrayLike& position,
             const ArrayLike& quaternion, const std::vector<std::string>& allow, bool trust,
             const taut::python::Integer& max_bytes) {
            const auto before = static_cast<int>(joints_before.within("joints_before", 0, 1'000'000'000));
            new (self) taut::Source{path,  package_dirs,       prefix, before, placement(position, quaternion), allow,
                                    trust, bytes_of(max_bytes)};
          },
          "path"_a, "package_dirs"_a = std::vector<std::string>{}, "prefix"_a = "", "joints_before"_a = 0,
          "position"_a = origin, "quaternion"_a = upright, "allow"_a = std::vector<std::string>{}, "trust"_a = false,
          "max_bytes"_a = taut::limits::kBytes)
      .def_ro("path", &taut::Source::path)
      .def_ro("package_dirs", &taut::Source::package_dirs, "Where its meshes were looked for.")
      .def_ro("prefix", &taut::Source::prefix, "Of its names in the scene.")
      .def_ro("joints_before", &taut::Source::joints_before,
              "Joint k of the file is joint k + joints_before of the scene; its world is the world.")
      .def_prop_ro(
          "position", [](const taut::Source& s) { return Vector3d(s.placement.translation()); }, "Of its world, m.")
      .def_prop_ro(
          "quaternion",
          [](const taut::Source& s) { return Eigen::Vector4d(Eigen::Quaterniond(s.placement.rotation()).coeffs()); },
          "Of its world, (x, y, z, w).")
      .def_ro("allow", &taut::Source::allow, "Folders it may read besides its own.")
      .def_ro("trust", &taut::Source::trust, "It may read everything.")
      .def_ro("max_bytes", &taut::Source::max_bytes, "Its meshes may have together.")
      .def("__repr__", [](const taut::Source& s) { return "Source('" + s.path + "')"; });

  nb::class_<Scene> scene_class(m, "Scene", nb::is_weak_referenceable(), nb::dynamic_attr(),
                                "A world: robots, free bodies, fixed shapes. Shared by any number of simulators.");
  scene_class.def(nb::init<>(), "An empty world with gravity.")
      .def("__copy__", [](const Scene& s) { return std::make_shared<Scene>(s); })
      .def(
          "copy", [](const Scene& s) { return std::make_shared<Scene>(s); }, "A scene of its own, equal to this one.")
      .def_prop_ro(
          "model", [](nb::handle self) { return taut::python::wrap_reference(nb::cast<Scene&>(self).model, self); },
          "pinocchio.Model, live: change a mass, a limit or a friction here and the next step feels it. Joints may not "
          "be added under a simulator.")
      .def_prop_ro(
          "geometry",
          [](nb::handle self) { return taut::python::wrap_reference(nb::cast<Scene&>(self).geometry, self); },
          "pinocchio.GeometryModel, live: where shapes stand on their joints and how large they are may change, pairs "
          "and the points of a mesh may not while a simulator steps them.")
      .def_prop_rw(
          "q0", [](const Scene& s) { return read_only(s.q0); },
          [](Scene& s, const ArrayLike& q) { s.q0 = finite(q.vector("q0", s.model.nq), "q0"); }, taut::python::kOwned,
          "Where a run starts; a copy that is not written to: assign it.")
      .def_prop_ro(
          "poses", [](const Scene& s) { return s.poses; }, "Named configurations of the file.")
      .def_prop_rw(
          "sources", [](const Scene& s) { return s.sources; },
          [](Scene& s, const std::vector<taut::Source>& sources) { s.sources = sources; },
          "Files it was read from, of each robot in it; none for what was built in code.")
      .def_prop_ro(
          "source",
          [](const Scene& s) {
            const bool whole = s.sources.size() == 1 && s.sources[0].joints_before == 0;
            return whole ? std::optional(s.sources[0].path) : std::nullopt;
          },
          "The file it was read from; None if it was built in code, or of several.")
      .def_prop_ro(
          "warnings", [](const Scene& s) { return s.warnings; }, "What the file asks for and taut does not do.")
      .def_prop_rw(
          "stiffness", [](const Scene& s) { return read_only(s.stiffness); },
          [](Scene& s, const ArrayLike& k) {
            const VectorXd stiffness = finite(k.vector("stiffness", s.model.nv), "stiffness");
            if ((stiffness.array() < 0.0).any()) {
              throw std::invalid_argument("stiffness has " + std::to_string(stiffness.minCoeff()) +
                                          ", it must not be negative");
            }
            s.stiffness = stiffness;
          },
          taut::python::kOwned, "Joint springs, one per degree of freedom; read-only: assign it.")
      .def_prop_rw(
          "spring_reference", [](const Scene& s) { return read_only(s.spring_reference); },
          [](Scene& s, const ArrayLike& q) {
            s.spring_reference = finite(q.vector("spring_reference", s.model.nv), "spring_reference");
          },
          taut::python::kOwned, "Where the springs are at rest; read-only: assign it.")
      .def_prop_ro(
          "actuators",
          [](const std::shared_ptr<Scene>& s) {
            std::vector<LiveActuator> found;
            for (std::size_t i = 0; i < s->actuators.size(); ++i) found.push_back({s, i});
            return found;
          },
          "Motors and servos, live.")
      .def_prop_rw(
          "gravity", [](const Scene& s) { return read_only(s.model.gravity.linear()); },
          [](Scene& s, const ArrayLike& value) {
            s.model.gravity.linear() = finite(value.vector("gravity", 3), "gravity");
          },
          taut::python::kOwned, "m/s²; read-only: assign it.")
      .def_prop_rw(
          "friction_rule", [](const Scene& s) { return name_of(s.friction_rule); },
          [](Scene& s, const std::string& name) { s.friction_rule = rule_of(name); },
          "How two coefficients become one: maximum, minimum, average, geometric_mean or product.")
      .def(
          "friction",
          [](const Scene& s, const std::string& shape) { return s.surfaces[shape_index(s, shape)].friction; },
          "shape"_a, "Friction of a shape.")
      .def(
          "set_friction",
          [](Scene& s, const std::string& shape, double mu) {
            s.surfaces[shape_index(s, shape)].friction = checked_friction(mu);
          },
          "shape"_a, "mu"_a, "Set the friction of a shape; felt at the next step.")
      .def(
          "restitution",
          [](const Scene& s, const std::string& shape) { return s.surfaces[shape_index(s, shape)].restitution; },
          "shape"_a, "Newton's coefficient of a shape.")
      .def(
          "set_restitution",
          [](Scene& s, const std::string& shape, double e) {
            s.surfaces[shape_index(s, shape)].restitution = checked_restitution(e);
          },
          "shape"_a, "e"_a, "Newton's coefficient of a shape, 0 to 1; of two shapes the larger counts.")
      .def(
          "set_pair_restitution",
          [](Scene& s, const std::string& a, const std::string& b, double e) {
            shape_index(s, a), shape_index(s, b);
            s.pair_restitution[std::minmax(a, b)] = checked_restitution(e);
          },
          nb::call_policy<NotWhileRunning>(), "shape_1"_a, "shape_2"_a, "e"_a,
          "Newton's coefficient of one pair, instead of its shapes'; felt at the next step.")
      .def(
          "compliance",
          [](const Scene& s, const std::string& shape) { return s.surfaces[shape_index(s, shape)].compliance; },
          "shape"_a, "Compliance of a shape's surface, m/N.")
      .def(
          "set_compliance",
          [](Scene& s, const std::string& shape, double compliance) {
            s.surfaces[shape_index(s, shape)].compliance = checked_compliance(compliance);
          },
          "shape"_a, "compliance"_a, "m/N along the normal; those of two shapes add up.")
      .def(
          "set_pair_friction",
          [](Scene& s, const std::string& a, const std::string& b, double mu) {
            shape_index(s, a), shape_index(s, b);
            s.pair_friction[std::minmax(a, b)] = checked_friction(mu);
          },
          nb::call_policy<NotWhileRunning>(), "shape_1"_a, "shape_2"_a, "mu"_a,
          "Friction of one pair of shapes, instead of the rule; felt at the next step.")
      .def(
          "pair_friction",
          [](const Scene& s, const std::string& a, const std::string& b) {
            return s.friction(shape_index(s, a), shape_index(s, b));
          },
          "shape_1"_a, "shape_2"_a, "Friction of the contact of two shapes.")
      .def("add_body", &add_body, nb::call_policy<NotWhileRunning>(), "name"_a, "shape"_a.none(), "mass"_a = 1.0,
           "position"_a = origin, "quaternion"_a = upright, "friction"_a = taut::Surface{}.friction,
           "inertia"_a = nb::none(), "restitution"_a = 0.0, "compliance"_a = 0.0,
           "A free rigid body with one Coal shape, or with none (it then touches nothing and needs an inertia). The "
           "inertia is the shape's, homogeneous, unless given (3, 3) about its origin. Returns the joint index.")
      .def(
          "add_shape",
          [](Scene& s, const std::string& name, nb::handle shape, const taut::python::Integer& joint,
             const ArrayLike& position, const ArrayLike& quaternion, double friction, double restitution,
             double compliance) {
            if (joint.value < 0 || joint.value >= s.model.njoints) {
              throw std::invalid_argument("shape '" + name + "' is on joint " + std::to_string(joint.value) +
                                          ", which does not exist");
            }
            return taut::add_shape(s, static_cast<std::size_t>(joint.value), name, take_shape(shape, name),
                                   placement(position, quaternion), surface_of(friction, restitution, compliance));
          },
          nb::call_policy<NotWhileRunning>(), "name"_a, "shape"_a, "joint"_a = 0, "position"_a = origin,
          "quaternion"_a = upright, "friction"_a = taut::Surface{}.friction, "restitution"_a = 0.0,
          "compliance"_a = 0.0, "A Coal shape on a joint; joint 0 is the world. Returns its index in `geometry`.")
      .def(
          "add_floor",
          [](Scene& s, double height, double friction, double restitution, double compliance) {
            if (!std::isfinite(height)) throw std::invalid_argument("height is " + std::to_string(height));
            return taut::add_floor(s, height, surface_of(friction, restitution, compliance));
          },
          nb::call_policy<NotWhileRunning>(), "height"_a = 0.0, "friction"_a = taut::Surface{}.friction,
          "restitution"_a = 0.0, "compliance"_a = 0.0, "A horizontal half-space.")
      .def(
          "add_robot",
          [](Scene& s, const Scene& robot, const std::string& prefix, const ArrayLike& position,
             const ArrayLike& quaternion) { taut::append(s, robot, prefix, placement(position, quaternion)); },
          nb::call_policy<NotWhileRunning>(), "robot"_a, "prefix"_a = "", "position"_a = origin,
          "quaternion"_a = upright, "Another scene put into this one; its names get the prefix.")
      .def(
          "disable_pair",
          [](Scene& s, const std::string& a, const std::string& b) {
            const pinocchio::CollisionPair pair(shape_index(s, a), shape_index(s, b));
            if (s.geometry.existCollisionPair(pair)) s.geometry.removeCollisionPair(pair);
          },
          nb::call_policy<NotWhileRunning>(), "shape_1"_a, "shape_2"_a, "These two shapes pass through each other.")
      .def_prop_ro("parameters", &taut::parameter_names,
                   "Names of all that a step can be differentiated by, for `vjp(..., theta=...)`: 'friction:floor', "
                   "'mass:trunk', "
                   "'gravity', ….")
      .def(
          "parameter",
          [](const Scene& s, const std::string& name) { return taut::value_of(s, taut::find_parameter(s, name)); },
          "name"_a, "The values of a parameter; a placement is zero, a change from where the shape is.")
      .def(
          "set_parameter",
          [](Scene& s, const std::string& name, const ArrayLike& value) {
            const auto parameter = taut::find_parameter(s, name);
            // A number is a parameter of one value; it does not stand for several.
            const bool number = parameter.size == 1 && value.dimensions("value") == 0;
            taut::set_value(s, parameter, number ? value.broadcast("value", 1) : value.vector("value", parameter.size));
          },
          nb::call_policy<NotWhileRunning>(), "name"_a, "value"_a, "Set a parameter; felt at the next step.")
      .def(
          "validate", [](const Scene& s) { taut::validate(s); },
          "Raises ValueError naming the value if a mass, friction or gain makes no sense.")
      .def("__repr__", [](const Scene& s) {
        return "Scene(" + std::to_string(s.model.njoints - 1) + " joints, " + std::to_string(s.model.nv) + " dof, " +
               std::to_string(s.geometry.ngeoms) + " shapes, " + std::to_string(s.geometry.collisionPairs.size()) +
               " pairs)";
      });
  bind_loops(m, scene_class);

  m.def(
      "_scene_of",
      [](nb::handle model, nb::handle geometry, double friction) {
        auto scene = std::make_shared<Scene>();
        scene->model = taut::python::unwrap<pinocchio::Model>(model, "pinocchio.Model");
        scene->geometry = taut::python::unwrap<pinocchio::GeometryModel>(geometry, "pinocchio.GeometryModel");
        scene->q0.resize(0);
        scene->fit_arrays(checked_friction(friction));
        return scene;
      },
      "model"_a, "geometry"_a, "friction"_a);

  m.def(
      "_load",
      [](const std::string& path, std::optional<bool> floor, const std::vector<std::string>& package_dirs,
         std::optional<double> friction, const std::string& root, const std::string& srdf,
         const std::vector<std::string>& allow, bool trust, bool strict,
         const std::optional<taut::python::Integer>& max_bytes) {
        taut::LoadOptions options{.floor = floor,
                                  .package_dirs = package_dirs,
                                  .friction = friction,
                                  .srdf = srdf,
                                  .allow = allow,
                                  .trust = trust,
                                  .strict = strict};
        if (max_bytes) options.max_bytes = bytes_of(*max_bytes);
        if (root == "free") {
          options.root = taut::Root::free;
        } else if (root == "fixed") {
          options.root = taut::Root::fixed;
        } else if (root != "auto") {
          throw std::invalid_argument("root is '" + root + "', it must be 'auto', 'free' or 'fixed'");
        }
        if (friction) checked_friction(*friction);
        taut::python::Signals signals;
        return std::make_shared<Scene>(taut::load(path, options));
      },
      "path"_a, "floor"_a, "package_dirs"_a, "friction"_a, "root"_a, "srdf"_a, "allow"_a, "trust"_a, "strict"_a,
      "max_bytes"_a = nb::none());
  m.def(
      "_mjcf_visuals",
      [](const taut::Source& source, nb::handle into) {
        taut::python::unwrap<pinocchio::GeometryModel>(into, "pinocchio.GeometryModel") =
            taut::mjcf_visuals(source.path, options_of(source));
      },
      "source"_a, "into"_a, "Fill a pinocchio.GeometryModel with what an MJCF file shows.");
  m.def(
      "_urdf_visuals",
      [](const taut::Source& source, nb::handle model, nb::handle into) {
        taut::UrdfVisuals made = taut::urdf_visuals(source.path, options_of(source));
        taut::python::unwrap<pinocchio::Model>(model, "pinocchio.Model") = std::move(made.model);
        taut::python::unwrap<pinocchio::GeometryModel>(into, "pinocchio.GeometryModel") = std::move(made.geometry);
      },
      "source"_a, "model"_a, "into"_a, "Fill a pinocchio.Model and a GeometryModel with what a URDF file shows.");
  m.def(
      "_is_mjcf", [](const taut::Source& source) { return taut::is_mjcf(source.path, options_of(source)); }, "source"_a,
      "Whether a file is an MJCF rather than a URDF.");
  m.def(
      "_may_read",
      [](const std::string& file, const std::string& path, const std::vector<std::string>& allow, bool trust) {
        return taut::may_read(file, path, {.allow = allow, .trust = trust});
      },
      "file"_a, "path"_a, "allow"_a, "trust"_a, "Whether a file from a stranger may ask for that other file.");
}
