#include "taut/simulation/scene.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>

#include <coal/shape/geometric_shapes.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace taut {

namespace {

using Eigen::VectorXd;

void grow(VectorXd& v, Eigen::Index size, double fill = 0.0) {
  const Eigen::Index old = v.size();
  v.conservativeResize(size);
  if (size > old) v.tail(size - old).setConstant(fill);
}

// Two joints whose shapes must not collide with each other: the same one, or neighbours in a tree. The world is
// nobody's neighbour: a floor collides with a robot's base.
bool joined(const pinocchio::Model& model, pinocchio::JointIndex a, pinocchio::JointIndex b) {
  return a == b || (a != 0 && model.parents[b] == a) || (b != 0 && model.parents[a] == b);
}

void collide_with_all_others(Scene& scene, std::size_t shape) {
  const auto& objects = scene.geometry.geometryObjects;
  for (std::size_t other = 0; other < objects.size(); ++other) {
    if (!joined(scene.model, objects[other].parentJoint, objects[shape].parentJoint)) {
      scene.geometry.addCollisionPair({std::min(other, shape), std::max(other, shape)});
    }
  }
}

void check_name(const Scene& scene, const std::string& name) {
  if (scene.geometry.existGeometryName(name)) {
    throw std::invalid_argument("scene: a shape named '" + name + "' is there already");
  }
}

}  // namespace

double combine(FrictionRule rule, double mu_1, double mu_2) {
  switch (rule) {
    case FrictionRule::maximum:
      return std::max(mu_1, mu_2);
    case FrictionRule::minimum:
      return std::min(mu_1, mu_2);
    case FrictionRule::average:
      return 0.5 * (mu_1 + mu_2);
    case FrictionRule::geometric_mean:
      return std::sqrt(mu_1 * mu_2);
    case FrictionRule::product:
      return mu_1 * mu_2;
  }
  throw std::invalid_argument("scene: unknown friction rule");
}

Scene::Scene() { fit_arrays(); }

double Scene::combined_friction(std::size_t shape_1, std::size_t shape_2) const {
  const Surface& a = surfaces[shape_1];
  const Surface& b = surfaces[shape_2];
  if (a.priority != b.priority) return a.priority > b.priority ? a.friction : b.friction;
  return combine(friction_rule, a.friction, b.friction);
}

double Scene::friction(std::size_t shape_1, std::size_t shape_2) const {
  const auto found =
      pair_friction.find(std::minmax(geometry.geometryObjects[shape_1].name, geometry.geometryObjects[shape_2].name));
  return found != pair_friction.end() ? found->second : combined_friction(shape_1, shape_2);
}

void Scene::fit_arrays(double friction) {
  grow(stiffness, model.nv);
  grow(spring_reference, model.nv);
  surfaces.resize(geometry.ngeoms, Surface{.friction = friction});
  if (q0.size() != model.nq) {
    VectorXd q = pinocchio::neutral(model);
    q.head(std::min<Eigen::Index>(q0.size(), q.size())) = q0.head(std::min<Eigen::Index>(q0.size(), q.size()));
    q0 = std::move(q);
  }
}

void Scene::warn(const std::string& what) {
  if (std::find(warnings.begin(), warnings.end(), what) == warnings.end()) warnings.push_back(what);
}

pinocchio::JointIndex add_free_body(Scene& scene, const std::string& name, const pinocchio::Inertia& inertia,
                                    const pinocchio::SE3& placement) {
  if (scene.model.existJointName(name)) {
    throw std::invalid_argument("scene: a body named '" + name + "' is there already");
  }
  if (!(inertia.mass() > 0.0) || !std::isfinite(inertia.mass())) {
    throw std::invalid_argument("scene: mass of '" + name + "' is " + std::to_string(inertia.mass()) +
                                ", it must be positive");
  }
  auto& model = scene.model;
  const auto joint = model.addJoint(0, pinocchio::JointModelFreeFlyer(), pinocchio::SE3::Identity(), name);
  model.appendBodyToJoint(joint, inertia, pinocchio::SE3::Identity());
  model.addJointFrame(joint);
  scene.fit_arrays();
  const int start = model.idx_qs[joint];
  scene.q0.segment<3>(start) = placement.translation();
  scene.q0.segment<4>(start + 3) = Eigen::Quaterniond(placement.rotation()).normalized().coeffs();
  for (auto& [_, pose] : scene.poses) {
    pose.conservativeResize(model.nq);
    pose.tail<7>() = scene.q0.tail<7>();
  }
  return joint;
}

std::size_t add_shape(Scene& scene, pinocchio::JointIndex parent, const std::string& name,
                      std::shared_ptr<coal::CollisionGeometry> shape, const pinocchio::SE3& placement,
                      Surface surface) {
  check_name(scene, name);
  if (!shape) throw std::invalid_argument("scene: shape '" + name + "' has no geometry");
  if (parent >= scene.model.joints.size()) {
    throw std::invalid_argument("scene: shape '" + name + "' is on joint " + std::to_string(parent) +
                                ", which does not exist");
  }
  if (!(surface.friction >= 0.0) || !std::isfinite(surface.friction)) {
    throw std::invalid_argument("scene: friction of '" + name + "' is " + std::to_string(surface.friction) +
                                ", it must be non-negative and finite");
  }
  shape->computeLocalAABB();
  pinocchio::GeometryObject object(name, parent, placement, shape);
  const auto& frames = scene.model.frames;  // Pinocchio's appendModel looks at the frame too
  const auto frame = std::find_if(frames.begin(), frames.end(), [&](const auto& f) { return f.parentJoint == parent; });
  object.parentFrame = static_cast<pinocchio::FrameIndex>(frame == frames.end() ? 0 : frame - frames.begin());
  const auto index = scene.geometry.addGeometryObject(object);
  scene.fit_arrays();
  scene.surfaces[index] = surface;
  collide_with_all_others(scene, index);
  return index;
}

void append(Scene& scene, const Scene& robot, const std::string& prefix, const pinocchio::SE3& placement) {
  Scene added = robot;
  for (std::size_t j = 1; j < added.model.names.size(); ++j) added.model.names[j] = prefix + added.model.names[j];
  for (std::size_t f = 1; f < added.model.frames.size(); ++f)
    added.model.frames[f].name = prefix + added.model.frames[f].name;
  for (auto& object : added.geometry.geometryObjects) object.name = prefix + object.name;
  for (std::size_t j = 1; j < added.model.names.size(); ++j) {
    if (scene.model.existJointName(added.model.names[j])) {
      throw std::invalid_argument("scene: a joint named '" + added.model.names[j] +
                                  "' is there already; give the robot a prefix");
    }
  }
  for (const auto& object : added.geometry.geometryObjects) check_name(scene, object.name);

  // Pinocchio appends the joints of the second model after those of the first when the frame is the universe, and
  // adds every pair between the two; the pairs between fixed shapes are dropped below.
  pinocchio::Model model;
  pinocchio::GeometryModel geometry;
  pinocchio::appendModel(scene.model, added.model, scene.geometry, added.geometry, 0, placement, model, geometry);
  model.gravity = scene.model.gravity;
  std::erase_if(geometry.collisionPairs, [&](const pinocchio::CollisionPair& pair) {
    return geometry.geometryObjects[pair.first].parentJoint == geometry.geometryObjects[pair.second].parentJoint;
  });

  const auto joined_vectors = [](const VectorXd& a, const VectorXd& b) {
    VectorXd both(a.size() + b.size());
    both << a, b;
    return both;
  };
  const int old_nv = scene.model.nv;
  const VectorXd old_q0 = scene.q0;
  scene.q0 = joined_vectors(scene.q0, added.q0);
  scene.stiffness = joined_vectors(scene.stiffness, added.stiffness);
  scene.spring_reference = joined_vectors(scene.spring_reference, added.spring_reference);
  scene.surfaces.insert(scene.surfaces.end(), added.surfaces.begin(), added.surfaces.end());
  for (Actuator actuator : added.actuators) {
    actuator.name = prefix + actuator.name;
    actuator.dof += old_nv;
    scene.actuators.push_back(std::move(actuator));
  }
  for (const auto& [names, mu] : added.pair_friction) {
    scene.pair_friction[{prefix + names.first, prefix + names.second}] = mu;
  }
  for (auto& [_, pose] : scene.poses) pose = joined_vectors(pose, added.q0);
  for (const auto& [name, pose] : added.poses) scene.poses[prefix + name] = joined_vectors(old_q0, pose);
  for (const auto& warning : added.warnings) scene.warn(warning);
  scene.model = std::move(model);
  scene.geometry = std::move(geometry);
}

std::size_t add_floor(Scene& scene, double height, Surface surface) {
  std::string name = "floor";
  while (scene.geometry.existGeometryName(name)) name += "_";
  return add_shape(scene, 0, name, std::make_shared<coal::Halfspace>(Eigen::Vector3d::UnitZ(), 0.0),
                   pinocchio::SE3(Eigen::Matrix3d::Identity(), Eigen::Vector3d(0.0, 0.0, height)), surface);
}

void validate(const Scene& scene) {
  const auto& model = scene.model;
  const auto fail = [](const std::string& what, const std::string& where, double value) {
    throw std::invalid_argument("scene: " + what + " of '" + where + "' is " + std::to_string(value));
  };
  for (std::size_t j = 1; j < model.joints.size(); ++j) {
    const double mass = model.inertias[j].mass();
    if (!(mass >= 0.0) || !std::isfinite(mass)) fail("mass", model.names[j], mass);
    const double inertia = model.inertias[j].inertia().matrix().diagonal().minCoeff();
    if (!(inertia >= -1e-12)) fail("rotational inertia", model.names[j], inertia);
    // A massless link is fine between two joints, not at the end of a chain: its acceleration would be undefined.
    double subtree_mass = 0.0, armature = 0.0;
    for (const auto k : model.subtrees[j]) subtree_mass += model.inertias[k].mass();
    for (int k = 0; k < model.nvs[j]; ++k) armature += model.armature[model.idx_vs[j] + k];
    if (!(subtree_mass + armature > 0.0)) fail("mass of the subtree", model.names[j], subtree_mass);
  }
  if (scene.surfaces.size() != scene.geometry.ngeoms) {
    throw std::invalid_argument("scene: " + std::to_string(scene.geometry.ngeoms) + " shapes but " +
                                std::to_string(scene.surfaces.size()) + " surfaces; call fit_arrays");
  }
  for (std::size_t i = 0; i < scene.surfaces.size(); ++i) {
    const double mu = scene.surfaces[i].friction;
    if (!(mu >= 0.0) || !std::isfinite(mu)) fail("friction", scene.geometry.geometryObjects[i].name, mu);
  }
  for (const auto& [names, mu] : scene.pair_friction) {
    if (!(mu >= 0.0) || !std::isfinite(mu)) fail("friction", names.first + "' with '" + names.second, mu);
  }
  if (scene.stiffness.size() != model.nv || scene.spring_reference.size() != model.nv) {
    throw std::invalid_argument("scene: " + std::to_string(model.nv) + " degrees of freedom but " +
                                std::to_string(scene.stiffness.size()) + " stiffnesses; call fit_arrays");
  }
  for (int joint = 1; joint < model.njoints; ++joint) {
    const int k = model.idx_qs[joint];
    if (model.nqs[joint] == 1 && !(model.lowerPositionLimit[k] <= model.upperPositionLimit[k])) {
      fail("lower limit (above the upper one)", model.names[static_cast<std::size_t>(joint)],
           model.lowerPositionLimit[k]);
    }
  }
  for (int k = 0; k < model.nv; ++k) {
    if (!(model.armature[k] >= 0.0)) fail("armature", "dof " + std::to_string(k), model.armature[k]);
    if (!(model.damping[k] >= 0.0)) fail("damping", "dof " + std::to_string(k), model.damping[k]);
    if (!(scene.stiffness[k] >= 0.0)) fail("stiffness", "dof " + std::to_string(k), scene.stiffness[k]);
    if (!(model.upperDryFrictionLimit[k] >= 0.0)) {
      fail("dry friction", "dof " + std::to_string(k), model.upperDryFrictionLimit[k]);
    }
  }
}

}  // namespace taut
