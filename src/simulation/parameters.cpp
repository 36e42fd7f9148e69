#include "taut/simulation/parameters.hpp"

#include <coal/shape/geometric_shapes.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "taut/collision/feature.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Kind = Parameter::Kind;

enum class Of { shape, pair, joint, scene, simulator };

struct Entry {
  const char* name;
  Kind kind;
  Of of;
};
constexpr std::array<Entry, 16> kKinds{{
    {"friction", Kind::friction, Of::pair},
    {"restitution", Kind::restitution, Of::pair},
    {"compliance", Kind::compliance, Of::shape},
    {"size", Kind::size, Of::shape},
    {"placement", Kind::placement, Of::shape},
    {"mass", Kind::mass, Of::joint},
    {"com", Kind::com, Of::joint},
    {"inertia", Kind::inertia, Of::joint},
    {"damping", Kind::damping, Of::joint},
    {"dry_friction", Kind::dry_friction, Of::joint},
    {"stiffness", Kind::stiffness, Of::joint},
    {"armature", Kind::armature, Of::joint},
    {"gravity", Kind::gravity, Of::scene},
    {"correction", Kind::correction, Of::simulator},
    {"limit_correction", Kind::limit_correction, Of::simulator},
    {"loop_correction", Kind::loop_correction, Of::simulator},
}};

[[noreturn]] void fail(const std::string& what) { throw std::invalid_argument("parameter " + what); }

int shape_of(const Scene& scene, const std::string& name, const std::string& whole) {
  if (!scene.geometry.existGeometryName(name)) fail("'" + whole + "': no shape is named '" + name + "'");
  return static_cast<int>(scene.geometry.getGeometryId(name));
}

int sizes_of(const Scene& scene, int shape) {
  const auto& object = scene.geometry.geometryObjects[static_cast<std::size_t>(shape)];
  return static_cast<int>(size_names(make_shape(*object.geometry, object.name.c_str())).size());
}

std::pair<std::string, std::string> pair_of(const Scene& scene, const Parameter& parameter) {
  const auto& objects = scene.geometry.geometryObjects;
  return std::minmax(objects[static_cast<std::size_t>(parameter.index)].name,
                     objects[static_cast<std::size_t>(parameter.other)].name);
}

// The sizes of a shape as a user of Coal knows them, in the order of `size_names`; none for a mesh.
template <typename Visit>
bool visit_sizes(coal::CollisionGeometry& geometry, Visit&& visit) {
  if (auto* sphere = dynamic_cast<coal::Sphere*>(&geometry)) return visit(sphere->radius), true;
  if (auto* egg = dynamic_cast<coal::Ellipsoid*>(&geometry)) {
    return visit(egg->radii[0]), visit(egg->radii[1]), visit(egg->radii[2]), true;
  }
  if (auto* box = dynamic_cast<coal::Box*>(&geometry)) {
    return visit(box->halfSide[0]), visit(box->halfSide[1]), visit(box->halfSide[2]), true;
  }
  if (auto* half_space = dynamic_cast<coal::Halfspace*>(&geometry)) return visit(half_space->d), true;
  const auto round = [&](auto* shape) { return shape && (visit(shape->radius), visit(shape->halfLength), true); };
  return round(dynamic_cast<coal::Capsule*>(&geometry)) || round(dynamic_cast<coal::Cylinder*>(&geometry)) ||
         round(dynamic_cast<coal::Cone*>(&geometry));
}

Eigen::VectorXd* per_dof(Scene& scene, Kind kind) {
  switch (kind) {
    case Kind::damping:
      return &scene.model.damping;
    case Kind::dry_friction:
      return &scene.model.upperDryFrictionLimit;
    case Kind::stiffness:
      return &scene.stiffness;
    case Kind::armature:
      return &scene.model.armature;
    default:
      return nullptr;
  }
}

}  // namespace

Parameter find_parameter(const Scene& scene, const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon), rest = colon == std::string::npos ? "" : name.substr(colon + 1);
  const Entry* entry = nullptr;
  std::string known;
  for (const Entry& candidate : kKinds) {
    if (kind == candidate.name) entry = &candidate;
    known += (known.empty() ? "" : ", ") + std::string(candidate.name);
  }
  if (!entry) fail("'" + name + "': its kind is not one of " + known);
  Parameter found{.kind = entry->kind, .name = name};
  const bool has_name = colon != std::string::npos;
  if (entry->of == Of::scene || entry->of == Of::simulator) {
    if (has_name) fail("'" + name + "': there is one " + kind + " alone, without a name");
    found.size = entry->kind == Kind::gravity ? 3 : 1;
    return found;
  }
  if (rest.empty()) fail("'" + name + "': write " + kind + ":name");
  if (entry->of == Of::joint) {
    if (!scene.model.existJointName(rest) || rest == "universe") {
      fail("'" + name + "': no joint is named '" + rest + "'");
    }
    found.index = static_cast<int>(scene.model.getJointId(rest));
    found.size = scene.model.nvs[static_cast<std::size_t>(found.index)];
    if (entry->kind == Kind::mass) found.size = 1;
    if (entry->kind == Kind::com) found.size = 3;
    if (entry->kind == Kind::inertia) found.size = 10;
    return found;
  }
  const std::size_t bar = entry->of == Of::pair ? rest.find('|') : std::string::npos;
  found.index = shape_of(scene, rest.substr(0, bar), name);
  if (entry->kind == Kind::size) found.size = sizes_of(scene, found.index);
  if (entry->kind == Kind::placement) found.size = 6;
  if (bar == std::string::npos) return found;
  found.other = shape_of(scene, rest.substr(bar + 1), name);
  const auto& pairs = entry->kind == Kind::friction ? scene.pair_friction : scene.pair_restitution;
  if (!pairs.contains(pair_of(scene, found)))
    fail("'" + name + "': this pair has no value of its own, its shapes have");
  return found;
}

std::vector<std::string> parameter_names(const Scene& scene) {
  std::vector<std::string> names;
  for (const Entry& entry : kKinds) {
    const std::string kind = entry.name;
    if (entry.of == Of::scene || entry.of == Of::simulator) names.push_back(kind);
    if (entry.of == Of::joint) {
      for (int joint = 1; joint < scene.model.njoints; ++joint) {
        names.push_back(kind + ":" + scene.model.names[static_cast<std::size_t>(joint)]);
      }
    }
    if (entry.of == Of::shape || entry.of == Of::pair) {
      for (const auto& object : scene.geometry.geometryObjects) names.push_back(kind + ":" + object.name);
    }
    if (entry.of == Of::pair) {
      for (const auto& [pair, value] : entry.kind == Kind::friction ? scene.pair_friction : scene.pair_restitution) {
        names.push_back(kind + ":" + pair.first + "|" + pair.second);
      }
    }
  }
  return names;
}

VectorXd value_of(const Scene& scene, const Parameter& parameter) {
  const auto index = static_cast<std::size_t>(parameter.index);
  VectorXd value(parameter.size);
  switch (parameter.kind) {
    case Kind::friction:
      value[0] =
          parameter.other >= 0 ? scene.pair_friction.at(pair_of(scene, parameter)) : scene.surfaces[index].friction;
      break;
    case Kind::restitution:
      value[0] = parameter.other >= 0 ? scene.pair_restitution.at(pair_of(scene, parameter))
                                      : scene.surfaces[index].restitution;
      break;
    case Kind::compliance:
      value[0] = scene.surfaces[index].compliance;
      break;
    case Kind::size: {
      int k = 0;
      if (!visit_sizes(*scene.geometry.geometryObjects[index].geometry,
                       [&](const double& size) { value[k++] = size; })) {
        value.setOnes();  // scales of a mesh
      }
      break;
    }
    case Kind::placement:
      value.setZero();
      break;
    case Kind::mass:
      value[0] = scene.model.inertias[index].mass();
      break;
    case Kind::com:
      value = scene.model.inertias[index].lever();
      break;
    case Kind::inertia:
      value = log_cholesky(scene.model.inertias[index]);
      break;
    case Kind::damping:
    case Kind::dry_friction:
    case Kind::stiffness:
    case Kind::armature:
      value = per_dof(const_cast<Scene&>(scene), parameter.kind)
                  ->segment(scene.model.idx_vs[index], scene.model.nvs[index]);
      break;
    case Kind::gravity:
      value = scene.model.gravity.linear();
      break;
    case Kind::correction:
    case Kind::limit_correction:
    case Kind::loop_correction:
      fail("'" + parameter.name + "' is a simulator's: it is given where the simulator is made");
  }
  return value;
}

void set_value(Scene& scene, const Parameter& parameter, const Eigen::Ref<const VectorXd>& value) {
  if (value.size() != parameter.size) {
    fail("'" + parameter.name + "' has " + std::to_string(parameter.size) + " values, not " +
         std::to_string(value.size()));
  }
  if (!value.allFinite()) fail("'" + parameter.name + "' is not finite");
  const auto require = [&](bool fine, const char* what) {
    if (!fine) fail("'" + parameter.name + "' " + what + "; it is " + std::to_string(value.minCoeff()));
  };
  const auto index = static_cast<std::size_t>(parameter.index);
  switch (parameter.kind) {
    case Kind::friction:
      require(value[0] >= 0.0, "must not be negative");
      (parameter.other >= 0 ? scene.pair_friction.at(pair_of(scene, parameter)) : scene.surfaces[index].friction) =
          value[0];
      break;
    case Kind::restitution:
      require(value[0] >= 0.0 && value[0] <= 1.0, "must be between 0 and 1");
      (parameter.other >= 0 ? scene.pair_restitution.at(pair_of(scene, parameter))
                            : scene.surfaces[index].restitution) = value[0];
      break;
    case Kind::compliance:
      require(value[0] >= 0.0, "must not be negative");
      scene.surfaces[index].compliance = value[0];
      break;
    case Kind::size: {
      auto& object = scene.geometry.geometryObjects[index];
      std::shared_ptr<coal::CollisionGeometry> copy(object.geometry->clone());
      int k = 0;
      if (!visit_sizes(*copy, [&](double& size) { size = value[k++]; })) {
        fail("'" + parameter.name + "': a mesh is scaled where it is loaded");
      }
      make_shape(*copy, object.name.c_str());  // throws on what is no size
      copy->computeLocalAABB();
      object.geometry = std::move(copy);
      break;
    }
    case Kind::placement: {
      auto& placement = scene.geometry.geometryObjects[index].placement;
      placement = placement * pinocchio::exp6(pinocchio::Motion(Eigen::Matrix<double, 6, 1>(value)));
      break;
    }
    case Kind::mass:
      require(value[0] > 0.0, "must be positive");
      scene.model.inertias[index].mass() = value[0];
      break;
    case Kind::com:
      scene.model.inertias[index].lever() = value;
      break;
    case Kind::inertia:
      scene.model.inertias[index] = pinocchio::Inertia::FromLogCholeskyParameters(
          pinocchio::LogCholeskyParameters(Eigen::Matrix<double, 10, 1>(value)));
      break;
    case Kind::damping:
    case Kind::dry_friction:
    case Kind::stiffness:
    case Kind::armature:
      require((value.array() >= 0.0).all(), "must not be negative");
      per_dof(scene, parameter.kind)->segment(scene.model.idx_vs[index], scene.model.nvs[index]) = value;
      if (parameter.kind == Kind::dry_friction) {
        scene.model.lowerDryFrictionLimit.segment(scene.model.idx_vs[index], scene.model.nvs[index]) = -value;
      }
      break;
    case Kind::gravity:
      scene.model.gravity.linear() = value;
      break;
    case Kind::correction:
    case Kind::limit_correction:
    case Kind::loop_correction:
      fail("'" + parameter.name + "' is a simulator's: it is given where the simulator is made");
  }
}

std::pair<double, double> friction_slopes(const Scene& scene, std::size_t shape_1, std::size_t shape_2) {
  const Surface &a = scene.surfaces[shape_1], &b = scene.surfaces[shape_2];
  if (a.priority != b.priority) return a.priority > b.priority ? std::pair(1.0, 0.0) : std::pair(0.0, 1.0);
  const double one = a.friction, two = b.friction;
  switch (scene.friction_rule) {
    case FrictionRule::maximum:
      return one == two ? std::pair(0.5, 0.5) : std::pair(one > two ? 1.0 : 0.0, one > two ? 0.0 : 1.0);
    case FrictionRule::minimum:
      return one == two ? std::pair(0.5, 0.5) : std::pair(one < two ? 1.0 : 0.0, one < two ? 0.0 : 1.0);
    case FrictionRule::average:
      return {0.5, 0.5};
    case FrictionRule::geometric_mean:
      return one > 0.0 && two > 0.0 ? std::pair(0.5 * std::sqrt(two / one), 0.5 * std::sqrt(one / two))
                                    : std::pair(0.0, 0.0);
    case FrictionRule::product:
      return {two, one};
  }
  return {0.0, 0.0};
}

// Σ = ½ tr(I) − I and the first moment make the pseudo-inertia e^{2α} U Uᵀ, U upper triangular with a last column
// (t, 1) [Rucker and Wensing 2022].
Eigen::Matrix<double, 10, 1> log_cholesky(const pinocchio::Inertia& inertia) {
  const double m = inertia.mass();
  const Matrix3d I = inertia.inertia().matrix();
  const Matrix3d A = (0.5 * I.trace() * Matrix3d::Identity() - I) / m;  // about the centre of mass
  const double e3 = std::sqrt(A(2, 2)), s13 = A(0, 2) / e3, s23 = A(1, 2) / e3;
  const double e2 = std::sqrt(A(1, 1) - s23 * s23), s12 = (A(0, 1) - s13 * s23) / e2;
  const double e1 = std::sqrt(A(0, 0) - s12 * s12 - s13 * s13);
  Eigen::Matrix<double, 10, 1> result;
  result << 0.5 * std::log(m), std::log(e1), std::log(e2), std::log(e3), s12, s23, s13, inertia.lever();
  if (!result.allFinite()) {
    throw std::invalid_argument(
        "an inertia that no body has (one moment exceeds the sum of the others) has no log-Cholesky parameters");
  }
  return result;
}

}  // namespace taut
