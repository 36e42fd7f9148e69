#pragma once

#include <pinocchio/multibody.hpp>

#include "taut/dynamics/forest.hpp"

namespace taut {

/// The joints of one tree as a model of their own: Pinocchio's `Data` is dense in its model.
inline pinocchio::Model model_of_tree(const pinocchio::Model& whole, const Forest::Tree& tree) {
  pinocchio::Model model;
  for (int k = 0; k < tree.joints; ++k) {
    const auto joint = static_cast<std::size_t>(tree.first_joint + k);
    const auto parent = whole.parents[joint];
    model.addJoint(parent == 0 ? 0 : parent - tree.first_joint + 1, whole.joints[joint], whole.jointPlacements[joint],
                   whole.names[joint]);
  }
  return model;
}

/// What a user may change between two steps.
inline void refresh(pinocchio::Model& model, const pinocchio::Model& whole, const Forest::Tree& tree) {
  for (int k = 0; k < tree.joints; ++k) {
    const auto from = static_cast<std::size_t>(tree.first_joint + k), to = static_cast<std::size_t>(k + 1);
    model.inertias[to] = whole.inertias[from];
    model.jointPlacements[to] = whole.jointPlacements[from];
  }
  model.armature = whole.armature.segment(tree.first_dof, tree.nv);
  model.gravity = whole.gravity;
}

inline bool is_free_body(const pinocchio::Model& model, const Forest::Tree& tree) {
  return tree.joints == 1 &&
         model.joints[static_cast<std::size_t>(tree.first_joint)].shortname() == "JointModelFreeFlyer";
}

}  // namespace taut
