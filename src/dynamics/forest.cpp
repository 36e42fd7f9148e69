#include "taut/dynamics/forest.hpp"

#include <algorithm>

namespace taut {

Forest::Forest(const pinocchio::Model& model) {
  first_.push_back(0);
  for (int joint = 0; joint < model.njoints; ++joint) {
    for (const auto ancestor : model.supports[joint]) {
      for (int k = 0; k < model.nvs[ancestor]; ++k) dofs_.push_back(model.idx_vs[ancestor] + k);
    }
    first_.push_back(static_cast<int>(dofs_.size()));
  }

  // A tree begins where no later joint hangs on an earlier one: trees whose joints interleave count as one, and so do
  // all trees of a model with mimic joints, which name other joints by their index.
  std::vector<bool> begins(static_cast<std::size_t>(model.njoints), false);
  int lowest = model.njoints;  // parent of any joint from here on, the world aside
  for (int joint = model.njoints - 1; joint > 0; --joint) {
    const int parent = static_cast<int>(model.parents[joint]);
    if (parent > 0) lowest = std::min(lowest, parent);
    begins[joint] = joint == 1 || (lowest >= joint && model.mimicking_joints.empty());
  }
  tree_of_.assign(static_cast<std::size_t>(model.njoints), -1);
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (begins[joint]) trees_.push_back({joint, 0, model.idx_qs[joint], 0, model.idx_vs[joint], 0});
    Tree& tree = trees_.back();
    tree.joints += 1;
    tree.nq += model.nqs[joint];
    tree.nv += model.nvs[joint];
    tree_of_[joint] = static_cast<int>(trees_.size()) - 1;
  }

  common_.push_back(0);  // the world, with itself
  row_.push_back(0);
  for (const Tree& tree : trees_) {
    for (int a = tree.first_joint; a < tree.first_joint + tree.joints; ++a) {
      row_.push_back(static_cast<std::ptrdiff_t>(common_.size()) - tree.first_joint);
      for (int b = tree.first_joint; b < tree.first_joint + tree.joints; ++b) {
        const auto chain_a = chain(a), chain_b = chain(b);
        std::size_t shared = 0;
        while (shared < chain_a.size() && shared < chain_b.size() && chain_a[shared] == chain_b[shared]) ++shared;
        common_.push_back(static_cast<std::uint16_t>(shared));
      }
    }
  }
}

}  // namespace taut
