#include "taut/simulation/scene.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>

#include <coal/shape/geometric_shapes.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "taut/collision/shape.hpp"
#include "taut/simulation/structure.hpp"

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

void check_loop(const pinocchio::Model& model, const Loop& loop) {
  const auto fail = [&](const std::string& what) { throw std::invalid_argument("loop '" + loop.name + "': " + what); };
  for (const int joint : {loop.joint_1, loop.joint_2}) {
    if (joint < 0 || joint >= model.njoints) fail("joint " + std::to_string(joint) + " does not exist");
  }
  if (loop.joint_1 == loop.joint_2) {
    fail("it holds '" + model.names[static_cast<std::size_t>(loop.joint_1)] + "' to itself");
  }
  for (const auto* placement : {&loop.placement_1, &loop.placement_2}) {
    const auto& R = placement->rotation();
    if (!placement->translation().allFinite() || !R.allFinite()) fail("its placement is not finite");
    if (!(R.transpose() * R).isIdentity(1e-6)) fail("the rotation of its placement is not one");
  }
  if (loop.kind == Loop::Kind::distance && !(loop.length > 0.0 && std::isfinite(loop.length))) {
    fail("its length is " + std::to_string(loop.length) + ", it must be positive; use a point for zero");
  }
  for (const auto& [what, e] :
       {std::pair("compliance", loop.compliance), std::pair("angular_compliance", loop.angular_compliance)}) {
    if (!(e >= 0.0) || !std::isfinite(e)) {
      fail("its " + std::string(what) + " is " + std::to_string(e) + ", it must not be negative");
    }
  }
}

void check_coupling(const pinocchio::Model& model, const Coupling& coupling) {
  const auto fail = [&](const std::string& what) {
    throw std::invalid_argument("coupling '" + coupling.name + "': " + what);
  };
  bool endless = false;
  for (const int joint : {coupling.joint_1, coupling.joint_2}) {
    if (joint < 0 || joint >= model.njoints) fail("joint " + std::to_string(joint) + " does not exist");
    if (joint == 0) continue;
    const auto& name = model.names[static_cast<std::size_t>(joint)];
    if (model.nvs[joint] != 1) {
      fail("joint '" + name + "' has " + std::to_string(model.nvs[joint]) + " degrees of freedom, expected 1");
    }
    endless |= model.nqs[joint] == 2;
  }
  if (coupling.joint_1 == 0) fail("it needs a first joint");
  if (coupling.joint_1 == coupling.joint_2) fail("it couples a joint with itself");
  for (const double a : coupling.polynomial) {
    if (!std::isfinite(a)) fail("a coefficient is " + std::to_string(a));
  }
  if (!std::isfinite(coupling.reference_1) || !std::isfinite(coupling.reference_2)) fail("a reference is not finite");
  if (endless && (coupling.polynomial[2] != 0.0 || coupling.polynomial[3] != 0.0 || coupling.polynomial[4] != 0.0)) {
    fail("a joint that turns without end takes a linear law");
  }
  if (!(coupling.compliance >= 0.0) || !std::isfinite(coupling.compliance)) {
    fail("its compliance is " + std::to_string(coupling.compliance) + ", it must not be negative");
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

double Scene::combined_restitution(std::size_t shape_1, std::size_t shape_2) const {
  return std::max(surfaces[shape_1].restitution, surfaces[shape_2].restitution);
}

double Scene::friction(std::size_t shape_1, std::size_t shape_2) const {
  const auto found =
      pair_friction.find(std::minmax(geometry.geometryObjects[shape_1].name, geometry.geometryObjects[shape_2].name));
  return found != pair_friction.end() ? found->second : combined_friction(shape_1, shape_2);
}

void Scene::fit_arrays(double friction) {
  grow(stiffness, model.nv);
  grow(spring_reference, model.nv);
  grow(limits.restitution, model.nv);
  grow(limits.compliance, model.nv);
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
  check_structure(scene);
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
  check_structure(scene);
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
  if (shape->getObjectType() == coal::OT_HFIELD) make_shape(*shape, name.c_str());  // Coal needs heights for bounds
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
  check_structure(scene);
  check_structure(robot);
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
  const int old_nv = scene.model.nv, old_joints = scene.model.njoints - 1;
  const int old_loops = static_cast<int>(scene.loops.size());
  const auto moved = [&](int joint) { return joint == 0 ? 0 : joint + old_joints; };
  const VectorXd old_q0 = scene.q0;
  scene.q0 = joined_vectors(scene.q0, added.q0);
  scene.stiffness = joined_vectors(scene.stiffness, added.stiffness);
  scene.spring_reference = joined_vectors(scene.spring_reference, added.spring_reference);
  scene.limits.restitution = joined_vectors(scene.limits.restitution, added.limits.restitution);
  scene.limits.compliance = joined_vectors(scene.limits.compliance, added.limits.compliance);
  for (const BallLimit& limit : added.ball_limits) scene.ball_limits.push_back({moved(limit.joint), limit.angle});
  for (Loop loop : added.loops) {
    loop.name = prefix + loop.name;
    // What the robot holds to its world, it holds to the place where it is put.
    if (loop.joint_1 == 0) loop.placement_1 = placement * loop.placement_1;
    if (loop.joint_2 == 0) loop.placement_2 = placement * loop.placement_2;
    loop.joint_1 = moved(loop.joint_1);
    loop.joint_2 = moved(loop.joint_2);
    scene.loops.push_back(std::move(loop));
  }
  for (Coupling coupling : added.couplings) {
    coupling.name = prefix + coupling.name;
    coupling.joint_1 = moved(coupling.joint_1);
    coupling.joint_2 = moved(coupling.joint_2);
    scene.couplings.push_back(std::move(coupling));
  }
  scene.surfaces.insert(scene.surfaces.end(), added.surfaces.begin(), added.surfaces.end());
  for (Actuator actuator : added.actuators) {
    actuator.name = prefix + actuator.name;
    if (actuator.loop >= 0) {
      actuator.loop += old_loops;
    } else {
      actuator.dof += old_nv;
    }
    scene.actuators.push_back(std::move(actuator));
  }
  for (const auto& [names, mu] : added.pair_friction) {
    scene.pair_friction[{prefix + names.first, prefix + names.second}] = mu;
  }
  for (const auto& [names, e] : added.pair_restitution) {
    scene.pair_restitution[{prefix + names.first, prefix + names.second}] = e;
  }
  for (auto& [_, pose] : scene.poses) pose = joined_vectors(pose, added.q0);
  for (const auto& [name, pose] : added.poses) scene.poses[prefix + name] = joined_vectors(old_q0, pose);
  for (Source source : added.sources) {
    source.prefix = prefix + source.prefix;
    source.joints_before += old_joints;
    source.placement = placement * source.placement;
    scene.sources.push_back(std::move(source));
  }
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

void add_loop(Scene& scene, Loop loop) {
  check_structure(scene);
  if (loop.name.empty()) loop.name = std::string(to_string(loop.kind)) + "_" + std::to_string(scene.loops.size());
  check_loop(scene.model, loop);
  for (const Loop& other : scene.loops) {
    if (other.name == loop.name) throw std::invalid_argument("loop '" + loop.name + "' is there already");
  }
  scene.loops.push_back(std::move(loop));
}

void add_coupling(Scene& scene, Coupling coupling) {
  check_structure(scene);
  if (coupling.name.empty()) coupling.name = "coupling_" + std::to_string(scene.couplings.size());
  check_coupling(scene.model, coupling);
  scene.couplings.push_back(std::move(coupling));
}

void validate(const Scene& scene) {
  const auto& model = scene.model;
  const auto fail = [](const std::string& what, const std::string& where, double value) {
    throw std::invalid_argument("scene: " + what + " of '" + where + "' is " + std::to_string(value));
  };
  check_structure(scene);
  for (std::size_t j = 1; j < model.joints.size(); ++j) {
    const double inertia = model.inertias[j].inertia().matrix().diagonal().minCoeff();
    if (!(inertia >= -1e-12)) fail("rotational inertia", model.names[j], inertia);
    // A massless link is fine between two joints, not at the end of a chain: its acceleration would be undefined.
    double subtree_mass = 0.0, armature = 0.0;
    for (const auto k : model.subtrees[j]) subtree_mass += model.inertias[k].mass();
    for (int k = 0; k < model.nvs[j]; ++k) armature += model.armature[model.idx_vs[j] + k];
    if (!(subtree_mass + armature > 0.0)) fail("mass of the subtree", model.names[j], subtree_mass);
  }
  for (std::size_t i = 0; i < scene.surfaces.size(); ++i) {
    const double mu = scene.surfaces[i].friction;
    if (!(mu >= 0.0) || !std::isfinite(mu)) fail("friction", scene.geometry.geometryObjects[i].name, mu);
    const auto& surface = scene.surfaces[i];
    if (!(surface.restitution >= 0.0 && surface.restitution <= 1.0)) {
      fail("restitution (0 to 1)", scene.geometry.geometryObjects[i].name, surface.restitution);
    }
    if (!(surface.compliance >= 0.0) || !std::isfinite(surface.compliance)) {
      fail("compliance", scene.geometry.geometryObjects[i].name, surface.compliance);
    }
  }
  for (const auto& [names, e] : scene.pair_restitution) {
    if (!(e >= 0.0 && e <= 1.0)) fail("restitution (0 to 1)", names.first + "' with '" + names.second, e);
  }
  for (const auto& [names, mu] : scene.pair_friction) {
    if (!(mu >= 0.0) || !std::isfinite(mu)) fail("friction", names.first + "' with '" + names.second, mu);
  }
  for (const BallLimit& limit : scene.ball_limits) {
    if (limit.joint < 1 || limit.joint >= model.njoints) {
      throw std::invalid_argument("scene: ball limit of joint " + std::to_string(limit.joint) +
                                  ", which does not exist");
    }
    const auto& name = model.names[static_cast<std::size_t>(limit.joint)];
    if (!is_ball(model, limit.joint)) fail("ball limit, without a ball joint,", name, limit.angle);
    if (!(limit.angle > 0.0 && limit.angle <= EIGEN_PI)) fail("ball limit (0 to pi)", name, limit.angle);
  }
  for (const Loop& loop : scene.loops) check_loop(model, loop);
  for (const Coupling& coupling : scene.couplings) check_coupling(model, coupling);
  for (int k = 0; k < model.nv; ++k) {
    if (!(scene.limits.restitution[k] >= 0.0 && scene.limits.restitution[k] <= 1.0)) {
      fail("restitution of the limit (0 to 1)", "dof " + std::to_string(k), scene.limits.restitution[k]);
    }
    if (!(scene.limits.compliance[k] >= 0.0) || !std::isfinite(scene.limits.compliance[k])) {
      fail("compliance of the limit", "dof " + std::to_string(k), scene.limits.compliance[k]);
    }
  }
}

}  // namespace taut
