#pragma once

#include <pinocchio/multibody.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace taut {

/// The kinematic trees of a model: what hangs on the world by one joint, and cannot feel the others but by contact.
class Forest {
 public:
  /// Joints [first_joint, first_joint + joints) and their part of q and v.
  struct Tree {
    int first_joint, joints;
    int first_q, nq;
    int first_dof, nv;
  };

  explicit Forest(const pinocchio::Model& model);

  std::span<const Tree> trees() const { return trees_; }
  /// Index of a joint's tree; −1 for the world.
  int tree_of(int joint) const { return tree_of_[static_cast<std::size_t>(joint)]; }

  /// Degrees of freedom between the root and a joint, root first.
  std::span<const int> chain(int joint) const {
    return {dofs_.data() + first_[joint], dofs_.data() + first_[joint + 1]};
  }

  /// How many of them a joint shares with another: `shared_with(joint)(other)`.
  class Shared {
   public:
    int operator()(int other) const {
      return forest_.tree_of(other) == tree_ ? forest_.common_[static_cast<std::size_t>(row_ + other)] : 0;
    }

   private:
    friend class Forest;
    Shared(const Forest& forest, int joint)
        : forest_(forest), tree_(forest.tree_of(joint)), row_(forest.row_[static_cast<std::size_t>(joint)]) {}
    const Forest& forest_;
    int tree_;
    std::ptrdiff_t row_;
  };
  Shared shared_with(int joint) const { return {*this, joint}; }

 private:
  std::vector<Tree> trees_;
  std::vector<int> tree_of_;
  std::vector<int> dofs_, first_;
  std::vector<std::uint16_t> common_;  ///< a table for each tree: nothing is square in the number of all joints
  std::vector<std::ptrdiff_t> row_;    ///< entry of joints a and b of a tree: row_[a] + b
};

}  // namespace taut
