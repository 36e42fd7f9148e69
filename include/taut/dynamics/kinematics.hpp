#pragma once

#include <pinocchio/multibody.hpp>

#include <span>
#include <vector>

#include "taut/problem/problem.hpp"

namespace taut {

/// Placements of some joints in any configuration, without a `pinocchio::Data`, whose size grows with the cube of the
/// degrees of freedom.
class Kinematics {
 public:
  Kinematics() = default;
  /// Of all joints.
  explicit Kinematics(const pinocchio::Model& model);
  /// Of some joints and those above them.
  Kinematics(const pinocchio::Model& model, std::span<const int> joints);

  void update(const pinocchio::Model& model, const ConstVectorRef& q);
  /// Spatial velocities too, in the joints' own frames.
  void update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v);

  /// Of a joint that was asked for, one above it, or the world.
  const pinocchio::SE3& operator[](int joint) const { return placements_[static_cast<std::size_t>(joint)]; }
  const pinocchio::Motion& velocity(int joint) const { return velocities_[static_cast<std::size_t>(joint)]; }
  /// The columns of a joint's own degrees of freedom: the velocity, in the world, of what they move.
  pinocchio::Data::Matrix6x columns(int joint) const;

 private:
  std::vector<int> joints_;  ///< asked for or above one that is, parents first
  std::vector<int> place_;   ///< of a joint in `joints_`
  std::vector<pinocchio::JointData> data_;
  std::vector<pinocchio::SE3> placements_;
  std::vector<pinocchio::Motion> velocities_;
};

}  // namespace taut
