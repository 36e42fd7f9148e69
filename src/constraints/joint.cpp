#include "taut/constraints/joint.hpp"

#include <cmath>

namespace taut {

namespace {

// One row that is ±1 on a degree of freedom: the arm ends at its joint.
void add_dof_row(const JointRow& row, double sign, const Dynamics& dynamics, Rows& rows) {
  const auto dofs = dynamics.chain(row.joint);
  auto J = rows.add_arm(row.joint, static_cast<int>(dofs.size()));
  for (std::size_t k = 0; k < dofs.size(); ++k) J(0, static_cast<Eigen::Index>(k)) = dofs[k] == row.dof ? sign : 0.0;
}

}  // namespace

std::vector<JointRow> joint_rows(const pinocchio::Model& model) {
  std::vector<JointRow> found;
  for (int joint = 1; joint < model.njoints; ++joint) {
    const int dof = model.idx_vs[joint], q_index = model.idx_qs[joint];
    if (model.nqs[joint] == 1 && model.nvs[joint] == 1) {
      // Pinocchio's stand-in for "no limit" is the largest double.
      if (model.lowerPositionLimit[q_index] > -1e30)
        found.push_back({JointRow::Kind::lower_limit, joint, dof, q_index});
      if (model.upperPositionLimit[q_index] < 1e30) found.push_back({JointRow::Kind::upper_limit, joint, dof, q_index});
    }
    for (int k = 0; k < model.nvs[joint]; ++k) {
      if (model.upperDryFrictionLimit[dof + k] > 0.0) {
        found.push_back({JointRow::Kind::dry_friction, joint, dof + k, q_index});
      }
    }
  }
  return found;
}

void add_joint_rows(const pinocchio::Model& model, std::span<const JointRow> candidates, const Dynamics& dynamics,
                    const ConstVectorRef& q, const ConstVectorRef& v, double dt, const Stabilization& stabilization,
                    Rows& rows, std::vector<int>& active) {
  active.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const JointRow& row = candidates[i];
    if (row.kind == JointRow::Kind::dry_friction) {
      rows.add_block({.kind = SetKind::interval, .size = 1, .bound = dt * model.upperDryFrictionLimit[row.dof]});
      add_dof_row(row, 1.0, dynamics, rows);
    } else {
      const bool lower = row.kind == JointRow::Kind::lower_limit;
      const double gap = lower ? q[row.q_index] - model.lowerPositionLimit[row.q_index]
                               : model.upperPositionLimit[row.q_index] - q[row.q_index];
      if (gap > stabilization.limit_margin + dt * std::abs(v[row.dof])) continue;
      rows.add_block({.kind = SetKind::positive, .size = 1});
      rows.last_bias()[0] = gap_bias(gap, dt, stabilization);
      add_dof_row(row, lower ? 1.0 : -1.0, dynamics, rows);
    }
    active.push_back(static_cast<int>(i));
  }
}

}  // namespace taut
