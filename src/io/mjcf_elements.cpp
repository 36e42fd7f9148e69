#include <cmath>
#include <tuple>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

using Eigen::Vector3d;
using xml::Attributes;

namespace {

constexpr const char* kSoftness =
    "mjcf: solref, solimp, solmix, margin and gap make contacts, limits and equalities soft in MuJoCo; they have no "
    "meaning for rigid ones";

// Stiffness and damping may be polynomials since MuJoCo 3.5; the linear term is what we have.
double linear_term(const Attributes& a, const std::string& name, Scene& scene) {
  const auto values = a.finite(name, 1, 5);
  if (!values) return 0.0;
  if (!values->tail(values->size() - 1).isZero()) scene.warn("mjcf: nonlinear joint " + name + " is not supported");
  return (*values)[0];
}

// How many numbers of `size` a kind needs, and how many remain when `fromto` gives its length.
int sizes_of(Geom::Kind kind, bool from_to) {
  switch (kind) {
    case Geom::Kind::sphere:
      return 1;
    case Geom::Kind::capsule:
    case Geom::Kind::cylinder:
      return from_to ? 1 : 2;
    case Geom::Kind::ellipsoid:
    case Geom::Kind::box:
      return from_to ? 1 : 3;
    default:
      return 0;
  }
}

// The frame of `fromto`, in its middle with z towards its start, and its length.
std::pair<SE3, double> read_span(const Attributes& a, const Eigen::VectorXd& ends) {
  const Vector3d from = ends.head<3>(), to = ends.tail<3>();
  const double length = (from - to).norm();
  if (!(length > 1e-14) || !std::isfinite(length)) a.fail("fromto", "has no length");
  return {SE3(rotation_from_z((from - to) / length), 0.5 * (from + to)), length};
}

constexpr const char* kWrongSpan = "is for capsules, cylinders, boxes and ellipsoids";

void read_geom_size(const Attributes& a, Geom& geom, const Compiler& compiler) {
  const auto size = a.numbers("size", 1, 3);
  if (size) geom.size.head(size->size()) = *size;
  if (size && size->cwiseAbs().maxCoeff() > limits::kFarthest && size->allFinite()) {
    a.fail("size", "is out of range: 1e9 is the most");
  }
  const auto ends = a.finite("fromto", 6, 6);
  const bool from_to = ends && geom.kind != Geom::Kind::mesh;
  const int needed = sizes_of(geom.kind, from_to);
  for (int i = 0; i < needed; ++i) {
    if (!(geom.size[i] > 0.0) || !std::isfinite(geom.size[i])) {
      a.fail(size ? "size=\"" + a.text("size") + "\" must have " + std::to_string(needed) + " positive numbers"
                  : "attribute 'size' is missing");
    }
  }
  if (!from_to) {
    geom.placement = read_placement(a, compiler);
    return;
  }
  if (sizes_of(geom.kind, false) < 2) a.fail("fromto", kWrongSpan);
  double length = 0.0;
  std::tie(geom.placement, length) = read_span(a, *ends);
  if (sizes_of(geom.kind, false) == 3) geom.size[1] = geom.size[0];
  geom.size[sizes_of(geom.kind, false) - 1] = 0.5 * length;
}

}  // namespace

void warn_about_softness(const Attributes& attributes, Scene& scene) {
  for (const char* name : {"solref", "solimp", "solmix", "margin", "gap", "solreflimit", "solimplimit",
                           "solreffriction", "solimpfriction"}) {
    if (attributes.has(name)) scene.warn(kSoftness);
  }
}

std::optional<std::pair<double, double>> read_range(const Attributes& a, const std::string& range_name,
                                                    const std::string& flag_name, const Compiler& compiler) {
  const std::string limited = a.word(flag_name, "auto", {"true", "false", "auto"});
  const auto range = a.numbers(range_name, 2, 2);
  if (limited == "false" || (limited == "auto" && !range)) return std::nullopt;
  if (limited == "auto" && !compiler.autolimits) {
    a.fail(range_name, "is given without '" + flag_name + "', and the compiler's autolimits is false");
  }
  const Eigen::Vector2d bounds = range ? Eigen::Vector2d(*range) : Eigen::Vector2d::Zero();
  if (!(bounds[0] < bounds[1])) {
    if (limited == "auto") return std::nullopt;
    a.fail(range_name, "is not an interval, and '" + flag_name + "' is true");
  }
  return std::pair{bounds[0], bounds[1]};
}

Joint read_joint(const Attributes& a, const SE3& frame, const Compiler& compiler, const Option& option, Scene& scene) {
  Joint joint;
  const std::string kind = a.word("type", "hinge", {"free", "ball", "hinge", "slide"});
  joint.kind = kind == "free"    ? Joint::Kind::free
               : kind == "ball"  ? Joint::Kind::ball
               : kind == "hinge" ? Joint::Kind::hinge
                                 : Joint::Kind::slide;
  const bool single = joint.kind == Joint::Kind::hinge || joint.kind == Joint::Kind::slide;
  const auto angle = [&](double value) { return joint.kind == Joint::Kind::slide ? value : compiler.angle(value); };

  joint.name = a.text("name");
  joint.anchor = frame.act(a.vector3("pos", Vector3d::Zero()));
  joint.axis = a.vector3("axis", Vector3d::UnitZ());
  if (single && !(joint.axis.norm() > 1e-14 && joint.axis.allFinite())) a.fail("axis", "has no direction");
  joint.axis = frame.rotation() * joint.axis.normalized();
  if (single) joint.reference = angle(a.number("ref", 0.0));
  joint.spring_reference = angle(a.number("springref", 0.0));
  joint.stiffness = linear_term(a, "stiffness", scene);
  joint.damping = linear_term(a, "damping", scene);
  joint.armature = a.number("armature", 0.0);
  joint.dry_friction = a.number("frictionloss", 0.0);
  for (const auto& [name, value] : {std::pair{"stiffness", joint.stiffness},
                                    {"damping", joint.damping},
                                    {"armature", joint.armature},
                                    {"frictionloss", joint.dry_friction}}) {
    if (value < 0.0 || !std::isfinite(value)) a.fail(name, "must be non-negative");
  }
  if (!option.springs) joint.stiffness = 0.0;
  if (!option.damping) joint.damping = 0.0;
  if (!option.dry_friction) joint.dry_friction = 0.0;

  if (joint.kind != Joint::Kind::free) {
    if (auto range = read_range(a, "range", "limited", compiler); range && option.limits) {
      if (!single && range->first != 0.0) a.fail("range", "must start at 0 for a ball joint");
      joint.range = {angle(range->first), angle(range->second)};
    }
    joint.effort = read_range(a, "actuatorfrcrange", "actuatorfrclimited", compiler);
  }
  if (!single && joint.stiffness != 0.0) {
    joint.stiffness = 0.0;
    scene.warn("mjcf: springs of free and ball joints are not supported");
  }
  if (const auto spring = a.finite("springdamper", 2, 2); spring && !spring->isZero()) {
    scene.warn("mjcf: joint springdamper is not supported");
  }
  warn_about_softness(a, scene);
  return joint;
}

Joint read_free_joint(const Attributes& a, Scene& scene) {
  if (a.word("align", "auto", {"true", "false", "auto"}) == "true") {
    scene.warn("mjcf: freejoint align is not supported");
  }
  Joint joint;
  joint.name = a.text("name");
  joint.kind = Joint::Kind::free;
  return joint;
}

Geom read_geom(const Attributes& a, const SE3& frame, const Spec& spec, Scene& scene) {
  static const std::map<std::string, Geom::Kind> kinds{{"plane", Geom::Kind::plane},
                                                       {"hfield", Geom::Kind::height_field},
                                                       {"sphere", Geom::Kind::sphere},
                                                       {"capsule", Geom::Kind::capsule},
                                                       {"ellipsoid", Geom::Kind::ellipsoid},
                                                       {"cylinder", Geom::Kind::cylinder},
                                                       {"box", Geom::Kind::box},
                                                       {"mesh", Geom::Kind::mesh}};
  Geom geom;
  geom.where = a.where();
  geom.name = a.text("name");
  const std::string type = a.text("type", "sphere");
  if (type == "sdf") a.fail("type", "is not supported");
  if (!kinds.contains(type)) a.fail("type", "is not a kind of geom");
  geom.kind = kinds.at(type);
  if (a.has("mesh") && geom.kind != Geom::Kind::mesh) {
    scene.warn("mjcf: fitting a " + type + " to a mesh is not supported: the mesh itself is used");
    geom.kind = Geom::Kind::mesh;
  }
  if (geom.kind == Geom::Kind::mesh) {
    geom.asset = a.required("mesh");
    if (!spec.assets.meshes.contains(geom.asset)) a.fail("mesh", "is not an asset");
  }
  if (geom.kind == Geom::Kind::height_field) {
    geom.asset = a.required("hfield");
    if (!spec.assets.height_fields.contains(geom.asset)) a.fail("hfield", "is not an asset");
  }

  read_geom_size(a, geom, spec.compiler);
  geom.placement = frame * geom.placement;
  if (a.has("mass")) geom.mass = a.number("mass", 0.0);
  if (geom.mass && !(*geom.mass >= 0.0 && std::isfinite(*geom.mass))) a.fail("mass", "must be non-negative");
  geom.density = a.number("density", geom.density);
  if (!(geom.density >= 0.0) || !std::isfinite(geom.density)) a.fail("density", "must be non-negative");
  if (a.flag("shellinertia", false)) scene.warn("mjcf: geom shellinertia is not supported: the shape counts as solid");

  if (const auto friction = a.finite("friction", 1, 3)) geom.surface.friction = (*friction)[0];
  if (!(geom.surface.friction >= 0.0) || !std::isfinite(geom.surface.friction)) {
    a.fail("friction", "must be non-negative");
  }
  geom.surface.priority = a.integer("priority", 0);
  if (a.has("rgba")) {
    geom.colour = *a.finite("rgba", 4, 4);
  } else if (const auto material = spec.assets.materials.find(a.text("material"));
             material != spec.assets.materials.end()) {
    geom.colour = material->second;
  }
  geom.group = a.integer("group", 0);
  geom.contype = a.integer("contype", 1);
  geom.conaffinity = a.integer("conaffinity", 1);
  geom.condim = a.integer("condim", 3);
  if (geom.condim != 1 && geom.condim != 3 && geom.condim != 4 && geom.condim != 6) {
    a.fail("condim", "is not 1, 3, 4 or 6");
  }
  if (a.text("fluidshape", "none") != "none") scene.warn("mjcf: geom fluidshape is not supported");
  warn_about_softness(a, scene);
  return geom;
}

SE3 read_site(const Attributes& a, const SE3& frame, const Compiler& compiler) {
  const auto ends = a.finite("fromto", 6, 6);
  if (!ends) return frame * read_placement(a, compiler);
  if (a.text("type", "sphere") == "sphere") a.fail("fromto", kWrongSpan);
  return frame * read_span(a, *ends).first;
}

Inertia read_inertial(const Attributes& a, const Compiler& compiler) {
  a.required("mass");
  const double mass = a.number("mass", 0.0);
  if (!(mass >= 0.0) || !std::isfinite(mass)) a.fail("mass", "must be non-negative");
  const Eigen::Matrix3d R = read_orientation(a, compiler);
  const Vector3d center = a.vector3("pos", Vector3d::Zero());
  if (const auto full = a.finite("fullinertia", 6, 6)) {
    const auto& I = *full;
    Eigen::Matrix3d matrix;
    matrix << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    return {mass, center, R * matrix * R.transpose()};
  }
  const Vector3d diagonal = a.vector3("diaginertia", Vector3d::Zero());
  if (!(diagonal.minCoeff() >= 0.0)) a.fail("diaginertia", "must be non-negative");
  return {mass, center, R * diagonal.asDiagonal() * R.transpose()};
}

}  // namespace taut::mjcf
