#include "taut/simulation/structure.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/simulation/scene.hpp"

namespace taut {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("scene: " + what); }

template <typename Array>
void require_size(const char* name, const Array& array, int expected, const char* of) {
  if (array.size() == static_cast<decltype(array.size())>(expected)) return;
  refuse(std::string(name) + " has " + std::to_string(array.size()) + " entries, expected " + std::to_string(expected) +
         ", " + of);
}

void require_not_negative(const char* name, const Eigen::VectorXd& values) {
  if ((values.array() >= 0.0).all()) return;
  for (Eigen::Index k = 0; k < values.size(); ++k) {
    if (!(values[k] >= 0.0)) {
      refuse(std::string(name) + " of 'dof " + std::to_string(k) + "' is " + std::to_string(values[k]));
    }
  }
}

// What no rotation matrix lacks; three of these sums cost less than RᵀR.
bool may_be_placement(const pinocchio::SE3& M) {
  return std::abs(M.rotation().squaredNorm() - 3.0) <= 1e-5 && std::isfinite(M.translation().squaredNorm());
}

bool is_placement(const pinocchio::SE3& M) {
  const Eigen::Matrix3d& R = M.rotation();
  return may_be_placement(M) && (R.transpose() * R).isIdentity(1e-5) && R.determinant() > 0.0;
}

void check_arrays(const Scene& scene) {
  const auto& model = scene.model;
  const int joints = model.njoints, nq = model.nq, nv = model.nv;
  const char* per_joint = "one for each joint and one for the world";
  if (joints < 1) refuse("njoints is " + std::to_string(joints));
  require_size("joints", model.joints, joints, per_joint);
  require_size("names", model.names, joints, per_joint);
  require_size("parents", model.parents, joints, per_joint);
  require_size("inertias", model.inertias, joints, per_joint);
  require_size("jointPlacements", model.jointPlacements, joints, per_joint);
  require_size("idx_qs", model.idx_qs, joints, per_joint);
  require_size("idx_vs", model.idx_vs, joints, per_joint);
  require_size("nqs", model.nqs, joints, per_joint);
  require_size("nvs", model.nvs, joints, per_joint);
  const char* per_dof = "one for each degree of freedom";
  require_size("armature", model.armature, nv, per_dof);
  require_size("damping", model.damping, nv, per_dof);
  require_size("lowerDryFrictionLimit", model.lowerDryFrictionLimit, nv, per_dof);
  require_size("upperDryFrictionLimit", model.upperDryFrictionLimit, nv, per_dof);
  require_size("stiffness", scene.stiffness, nv, per_dof);
  require_size("spring_reference", scene.spring_reference, nv, per_dof);
  require_size("restitution of the limits", scene.limits.restitution, nv, per_dof);
  require_size("compliance of the limits", scene.limits.compliance, nv, per_dof);
  const char* per_coordinate = "one for each coordinate";
  require_size("lowerPositionLimit", model.lowerPositionLimit, nq, per_coordinate);
  require_size("upperPositionLimit", model.upperPositionLimit, nq, per_coordinate);
  require_size("q0", scene.q0, nq, per_coordinate);
  const auto shapes = static_cast<int>(scene.geometry.ngeoms);
  require_size("geometryObjects", scene.geometry.geometryObjects, shapes, "ngeoms");
  require_size("surfaces", scene.surfaces, shapes, "one for each shape; call fit_arrays");
}

}  // namespace

void check_live(const Scene& scene) {
  check_arrays(scene);
  const auto& model = scene.model;
  int q = 0, v = 0;
  for (int joint = 1; joint < model.njoints; ++joint) {
    const auto j = static_cast<std::size_t>(joint);
    const auto named = [&](const std::string& what) { refuse(what + " of '" + model.names[j] + "'"); };
    if (model.idx_qs[j] != q || model.idx_vs[j] != v || model.nqs[j] < 0 || model.nvs[j] < 0) {
      named("idx_qs, idx_vs, nqs or nvs do not follow each other at the place");
    }
    if (model.joints[j].idx_q() != q || model.joints[j].idx_v() != v) named("joints have another place for that");
    q += model.nqs[j];
    v += model.nvs[j];
    if (model.parents[j] >= j) named("parents has " + std::to_string(model.parents[j]) + " for that");
    const double mass = model.inertias[j].mass();
    if (!(mass >= 0.0) || !std::isfinite(mass)) {
      refuse("mass of '" + model.names[j] + "' is " + std::to_string(mass));
    }
    if (!may_be_placement(model.jointPlacements[j])) named("jointPlacements has no placement, that");
  }
  if (q != model.nq || v != model.nv) {
    refuse("nq is " + std::to_string(model.nq) + " and nv " + std::to_string(model.nv) + ", the joints have " +
           std::to_string(q) + " and " + std::to_string(v));
  }
  require_not_negative("armature", model.armature);
  require_not_negative("damping", model.damping);
  require_not_negative("dry friction", model.upperDryFrictionLimit);
  require_not_negative("stiffness", scene.stiffness);
  if (!(model.lowerPositionLimit.array() <= model.upperPositionLimit.array()).all()) {
    for (int joint = 1; joint < model.njoints; ++joint) {
      const auto j = static_cast<std::size_t>(joint);
      for (int k = model.idx_qs[j]; k < model.idx_qs[j] + model.nqs[j]; ++k) {
        if (model.lowerPositionLimit[k] <= model.upperPositionLimit[k]) continue;
        refuse("lower limit of '" + model.names[j] + "' is " + std::to_string(model.lowerPositionLimit[k]) +
               ", the upper one " + std::to_string(model.upperPositionLimit[k]));
      }
    }
  }
  if (!model.gravity.linear().allFinite()) refuse("gravity is not finite");
  for (const auto& object : scene.geometry.geometryObjects) {
    if (object.parentJoint >= static_cast<std::size_t>(model.njoints)) {
      refuse("parentJoint of shape '" + object.name + "' is " + std::to_string(object.parentJoint) +
             ", there are joints 0 to " + std::to_string(model.njoints - 1));
    }
    if (!object.geometry) refuse("shape '" + object.name + "' has no geometry");
    if (!may_be_placement(object.placement)) refuse("placement of shape '" + object.name + "' is none");
  }
}

void check_structure(const Scene& scene) {
  check_live(scene);
  const auto& model = scene.model;
  const auto joints = static_cast<std::size_t>(model.njoints);
  const char* per_joint = "one for each joint and one for the world";
  require_size("children", model.children, model.njoints, per_joint);
  require_size("supports", model.supports, model.njoints, per_joint);
  require_size("subtrees", model.subtrees, model.njoints, per_joint);
  for (const auto* lists : {&model.children, &model.supports, &model.subtrees}) {
    for (const auto& list : *lists) {
      for (const auto joint : list) {
        if (joint >= joints) refuse("children, supports or subtrees name joint " + std::to_string(joint));
      }
    }
  }
  // What Pinocchio copies where models are put together.
  const char* per_dof = "one for each degree of freedom";
  for (const auto& [name, array] : {std::pair("rotorInertia", &model.rotorInertia),
                                    {"rotorGearRatio", &model.rotorGearRatio},
                                    {"lowerEffortLimit", &model.lowerEffortLimit},
                                    {"upperEffortLimit", &model.upperEffortLimit},
                                    {"lowerVelocityLimit", &model.lowerVelocityLimit},
                                    {"upperVelocityLimit", &model.upperVelocityLimit}}) {
    require_size(name, *array, model.nv, per_dof);
  }
  for (std::size_t j = 1; j < joints; ++j) {
    // Pinocchio's algorithms on M take the joints of a subtree to follow each other, and are wrong where they do not.
    const auto& before = model.supports[j - 1];
    if (std::ranges::find(before, model.parents[j]) == before.end()) {
      refuse("joint '" + model.names[j] + "' comes after the subtree of its parent '" + model.names[model.parents[j]] +
             "' has ended; joints must be in depth-first order");
    }
    if (model.joints[j].nq() != model.nqs[j] || model.joints[j].nv() != model.nvs[j]) {
      refuse("joint '" + model.names[j] + "' has " + std::to_string(model.joints[j].nq()) + " coordinates, nqs says " +
             std::to_string(model.nqs[j]));
    }
    if (!is_placement(model.jointPlacements[j])) refuse("jointPlacements of '" + model.names[j] + "' is no placement");
  }
  require_size("frames", model.frames, model.nframes, "nframes");
  for (const auto& frame : model.frames) {
    if (frame.parentJoint >= joints || frame.parentFrame >= model.frames.size()) {
      refuse("frame '" + frame.name + "' is on joint " + std::to_string(frame.parentJoint) + " and frame " +
             std::to_string(frame.parentFrame));
    }
  }
  for (const auto& object : scene.geometry.geometryObjects) {
    if (!is_placement(object.placement)) refuse("placement of shape '" + object.name + "' is none");
  }
  for (const auto& pair : scene.geometry.collisionPairs) {
    if (pair.first >= scene.geometry.ngeoms || pair.second >= scene.geometry.ngeoms) {
      refuse("a collision pair is of shapes " + std::to_string(pair.first) + " and " + std::to_string(pair.second) +
             ", there are " + std::to_string(scene.geometry.ngeoms));
    }
  }
}

}  // namespace taut
