#pragma once

#include <vector>

#include "taut/constraints/contact.hpp"

namespace taut {

/// What a joint can ask for: one row on one degree of freedom.
struct JointRow {
  enum class Kind { lower_limit, upper_limit, dry_friction };
  Kind kind;
  int joint;
  int dof;
  int q_index;  ///< limits: where the coordinate stands in q
};

/// The rows of a model: limits of revolute and prismatic joints with a finite bound, dry friction where it is positive.
std::vector<JointRow> joint_rows(const pinocchio::Model& model);

/// Appends the rows of `candidates` that matter in this state and notes which in `active` (indices into
/// `candidates`): limits within the margin plus what the joint travels in dt, every dry friction.
void add_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, const Dynamics& dynamics,
                    const ConstVectorRef& q, const ConstVectorRef& v, double dt, const Stabilization& stabilization,
                    Rows& rows, std::vector<int>& active);

}  // namespace taut
