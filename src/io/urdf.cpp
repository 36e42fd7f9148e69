#include <coal/BVH/BVH_model.h>
#include <coal/collision.h>
#include <coal/shape/convex.h>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "floor.hpp"
#include "hull.hpp"
#include "pairs.hpp"
#include "source.hpp"
#include "taut/io/errors.hpp"
#include "taut/io/load.hpp"
#include "taut/math/interruption.hpp"
#include "urdf_dropped.hpp"
#include "urdf_meshes.hpp"
#include "urdf_xml.hpp"

namespace taut {

using Eigen::VectorXd;

namespace {

bool root_is_fixed(const xml::Element& robot, const urdf::Srdf& srdf, Root root) {
  if (root != Root::automatic) return root == Root::fixed;
  if (srdf.virtual_joint == "fixed") return true;
  return srdf.virtual_joint != "floating" && urdf::root_is_fixed(robot);
}

void build_model(const std::string& text, bool fixed, Scene& scene) {
  if (fixed)
    pinocchio::urdf::buildModelFromXML(text, scene.model);
  else
    pinocchio::urdf::buildModelFromXML(text, pinocchio::JointModelFreeFlyer(), scene.model);
}

// 0, which stands for no joint, if the name is that of a fixed one: it stays at zero.
int joint_index(const pinocchio::Model& model, const std::string& name) {
  return model.existJointName(name) ? static_cast<int>(model.getJointId(name)) : 0;
}

void couple(const std::vector<urdf::Mimic>& mimics, Scene& scene) {
  for (const urdf::Mimic& mimic : mimics) {
    add_coupling(scene, {.name = mimic.joint,
                         .joint_1 = joint_index(scene.model, mimic.joint),
                         .joint_2 = joint_index(scene.model, mimic.leader),
                         .polynomial = {mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0}});
  }
}

// Puts a joint of q where its leader wants it.
void follow(const pinocchio::Model& model, const urdf::Mimic& mimic, VectorXd& q) {
  const auto at = [&](int joint) { return q.data() + model.idx_qs[joint]; };
  const auto is_endless = [&](int joint) { return model.nqs[joint] == 2; };
  const int leader = joint_index(model, mimic.leader), joint = joint_index(model, mimic.joint);
  double angle = 0.0;
  if (leader != 0) angle = is_endless(leader) ? std::atan2(at(leader)[1], at(leader)[0]) : *at(leader);
  angle = mimic.multiplier * angle + mimic.offset;
  if (is_endless(joint)) {
    at(joint)[0] = std::cos(angle);
    at(joint)[1] = std::sin(angle);
  } else {
    *at(joint) = angle;
  }
}

constexpr int kMeshWork = 1000, kPairWork = 100;  // for `may_interrupt`

// Coal has no contact derivatives for triangle soups, and a hull is what the robots' collision meshes stand for.
void replace_meshes(Scene& scene) {
  std::map<const coal::CollisionGeometry*, io::Hull> hulls;
  std::vector<std::string> without;
  std::size_t meshes = 0;
  for (auto& object : scene.geometry.geometryObjects) {
    auto* mesh = dynamic_cast<coal::BVHModelBase*>(object.geometry.get());
    if (!mesh) continue;
    may_interrupt(kMeshWork);
    ++meshes;
    auto [found, is_new] = hulls.try_emplace(mesh);
    if (is_new) {
      try {
        found->second = io::convex_hull(*mesh->vertices);
      } catch (const std::invalid_argument&) {  // all on a line
      }
    }
    if (found->second.plate) scene.warn("urdf: the mesh of '" + object.name + "' is flat and collides as a thin plate");
    if (found->second.shape)
      object.geometry = found->second.shape;
    else
      without.push_back(object.name);
  }
  for (const auto& name : without) {
    scene.geometry.removeGeometryObject(name);
    scene.warn("urdf: the mesh of '" + name + "' has no volume and is dropped");
  }
  if (meshes > without.size()) {
    scene.warn("urdf: " + std::to_string(meshes - without.size()) + " meshes are replaced by their convex hulls");
  }
}

void build_geometry(const std::string& text, const std::shared_ptr<urdf::MeshLoader>& meshes, Scene& scene) {
  std::istringstream stream(text);
  pinocchio::urdf::buildGeom(scene.model, stream, pinocchio::COLLISION, scene.geometry, std::vector<std::string>{},
                             meshes);
  replace_meshes(scene);
  scene.fit_arrays();
}

void build_pairs(const urdf::Srdf& srdf, Scene& scene) {
  const auto& objects = scene.geometry.geometryObjects;
  const auto& parents = scene.model.parents;
  const auto link = [&](std::size_t i) -> const std::string& {
    return scene.model.frames[objects[i].parentFrame].name;
  };
  for (std::size_t i = 0; i < objects.size(); ++i) {
    for (std::size_t j = i + 1; j < objects.size(); ++j) {
      may_interrupt(kPairWork);
      const auto a = objects[i].parentJoint, b = objects[j].parentJoint;
      const bool adjacent = a == b || parents[a] == b || parents[b] == a;
      if (!adjacent && !srdf.disabled.contains(std::minmax(link(i), link(j)))) io::add_new_pair(scene.geometry, i, j);
    }
  }
}

// Links that are drawn into each other, often by their hulls, would be blown apart. An SRDF should list them but may be
// that of a sister robot.
void drop_overlapping_pairs(Scene& scene) {
  pinocchio::Data data(scene.model);
  pinocchio::forwardKinematics(scene.model, data, Eigen::Ref<const VectorXd>(scene.q0));
  const auto overlap = [&](const pinocchio::CollisionPair& pair) {
    const auto& a = scene.geometry.geometryObjects[pair.first];
    const auto& b = scene.geometry.geometryObjects[pair.second];
    const pinocchio::SE3 oMa = data.oMi[a.parentJoint] * a.placement, oMb = data.oMi[b.parentJoint] * b.placement;
    coal::CollisionResult result;
    return coal::collide(a.geometry.get(), coal::Transform3s(oMa.rotation(), oMa.translation()), b.geometry.get(),
                         coal::Transform3s(oMb.rotation(), oMb.translation()), coal::CollisionRequest(), result) > 0;
  };
  std::vector<pinocchio::CollisionPair> kept;
  for (const auto& pair : scene.geometry.collisionPairs) {
    may_interrupt(kPairWork);
    if (!overlap(pair)) kept.push_back(pair);
  }
  const std::size_t dropped = scene.geometry.collisionPairs.size() - kept.size();
  scene.geometry.removeAllCollisionPairs();
  for (const auto& pair : kept) io::add_new_pair(scene.geometry, pair.first, pair.second);
  if (dropped > 0) {
    scene.warn("urdf: " + std::to_string(dropped) + " pairs of shapes that overlap in q0 are not checked for contact");
  }
}

// A pose by joints. Those that follow others need not be given.
VectorXd pose(const Scene& scene, const std::map<std::string, std::vector<double>>& joints,
              const std::vector<urdf::Mimic>& mimics, const std::string& where) {
  VectorXd q = pinocchio::neutral(scene.model);
  for (const auto& [name, values] : joints) {
    if (!scene.model.existJointName(name)) continue;  // a fixed joint, or one of a larger variant of the robot
    const auto j = scene.model.getJointId(name);
    const int nq = scene.model.nqs[j], start = scene.model.idx_qs[j];
    if (nq == 2 && values.size() == 1) {  // a continuous joint: its angle
      q.segment<2>(start) << std::cos(values[0]), std::sin(values[0]);
    } else if (static_cast<int>(values.size()) == nq) {
      q.segment(start, nq) = Eigen::Map<const VectorXd>(values.data(), nq);
    } else {
      throw std::invalid_argument(where + ": joint '" + name + "' has " + std::to_string(values.size()) +
                                  " values instead of " + std::to_string(nq));
    }
  }
  for (const urdf::Mimic& mimic : mimics) {
    if (!joints.contains(mimic.joint)) follow(scene.model, mimic, q);
  }
  pinocchio::normalize(scene.model, q);
  if (!q.allFinite()) throw std::invalid_argument(where + ": the pose has a zero quaternion");
  return q;
}

void apply_srdf(const urdf::Srdf& srdf, const std::vector<urdf::Mimic>& mimics, Scene& scene) {
  std::string start;
  for (const auto& [name, joints] : srdf.poses) {
    scene.poses[name] = pose(scene, joints, mimics, srdf.path + ": <group_state name=\"" + name + "\">");
    if (start.empty()) start = name;
  }
  for (const char* favourite : {"home", "half_sitting", "standing"}) {
    if (scene.poses.contains(favourite)) start = favourite;
  }
  scene.q0 = start.empty() ? pose(scene, {}, mimics, srdf.path) : scene.poses.at(start);
  for (const auto& [name, armature] : srdf.rotor_armatures) {
    if (!scene.model.existJointName(name)) continue;
    const auto j = scene.model.getJointId(name);
    scene.model.armature.segment(scene.model.idx_vs[j], scene.model.nvs[j]).array() += armature;
  }
}

void put_on_floor(Scene& scene) {
  const bool free = scene.model.njoints > 1 && scene.model.nqs[1] == 7;
  if (!free) return;
  const double lowest = io::lowest_point(scene, scene.q0);
  if (!std::isfinite(lowest)) return;
  if (scene.poses.empty() || lowest < -1e-4) scene.q0[2] -= lowest;
}

urdf::Srdf srdf_of(const std::string& path, const std::string& robot, const LoadOptions& options,
                   const io::ReadingRights& rights, io::Allowance& allowance, Scene& scene) {
  if (!options.srdf.empty()) {
    return urdf::read_srdf(io::read_file(options.srdf, allowance), options.srdf, options.max_bytes);
  }
  const std::string found = urdf::find_srdf(path, robot, rights, options.max_bytes, scene);
  return found.empty() ? urdf::Srdf{} : urdf::read_srdf(rights.read(found, path, allowance), found, options.max_bytes);
}

}  // namespace

Scene load_urdf(const std::string& path, const LoadOptions& options) {
  Scene scene;
  io::ReadingRights rights(path, options);
  io::Allowance allowance = xml::allowance(options.max_bytes);
  const std::string file = io::read_file(path, allowance);
  const xml::Element robot = xml::parse(file, path, options.max_bytes);
  if (robot.tag != "robot") robot.own().fail("the root element of a URDF file is <robot>");
  urdf::check_links(robot);
  const urdf::Srdf srdf = srdf_of(path, robot.own().text("name"), options, rights, allowance, scene);
  const std::string text =
      urdf::resolve_meshes(file, path, "collision", options.package_dirs, rights, options.max_bytes);
  const std::vector<urdf::Mimic> mimics = urdf::read_mimics(robot, scene);
  try {
    build_model(text, root_is_fixed(robot, srdf, options.root), scene);
    scene.fit_arrays();
    couple(mimics, scene);
    build_geometry(text, std::make_shared<urdf::MeshLoader>(rights, path, options.max_bytes), scene);
  } catch (const PermissionDenied&) {
    throw;
  } catch (const std::exception& error) {
    const std::string what = error.what();
    throw std::invalid_argument(what.starts_with(path) ? what : path + ": " + what);
  }
  urdf::warn_about_dropped(robot, scene);
  apply_srdf(srdf, mimics, scene);
  build_pairs(srdf, scene);
  drop_overlapping_pairs(scene);

  io::override_friction(scene, options.friction);
  if (options.floor.value_or(false)) {
    io::add_floor_once(scene, options.friction);
    put_on_floor(scene);
  }
  io::finish(path, options, scene);
  return scene;
}

}  // namespace taut
