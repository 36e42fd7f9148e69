#include "taut/constraints/contact.hpp"

#include <Eigen/Geometry>
#include <algorithm>

namespace taut {

namespace {

// Rᵀ (v + ω × p) of every joint between the root and `joint`, times `sign`.
void add_point_arm(const Contact& contact, int joint, double sign, const Dynamics& dynamics, Rows& rows) {
  const auto dofs = dynamics.chain(joint);
  auto J = rows.add_arm(joint, static_cast<int>(dofs.size()));
  const Eigen::Matrix3d turn = sign * contact.frame.transpose();
  const auto& columns = dynamics.columns();
  for (std::size_t k = 0; k < dofs.size(); ++k) {
    const auto column = columns.col(dofs[k]);
    const Eigen::Vector3d velocity = column.head<3>() + column.tail<3>().cross(contact.point);
    J.col(static_cast<Eigen::Index>(k)).noalias() = turn * velocity;
  }
}

}  // namespace

double gap_bias(double gap, double dt, const Stabilization& stabilization) {
  if (gap >= 0.0) return gap / dt;
  return std::max(stabilization.correction * gap / dt, -stabilization.correction_speed);
}

void add_contacts(std::span<const Contact> contacts, const Dynamics& dynamics, double dt,
                  const Stabilization& stabilization, Rows& rows, double compliance) {
  for (const Contact& contact : contacts) {
    rows.add_block({.kind = SetKind::cone, .size = 3, .mu = contact.mu});
    rows.last_bias()[2] = gap_bias(contact.gap, dt, stabilization);
    if (compliance > 0.0) rows.last_compliance().setConstant(compliance / (dt * dt));
    add_point_arm(contact, contact.joint_1, 1.0, dynamics, rows);
    if (contact.joint_2 != 0) add_point_arm(contact, contact.joint_2, -1.0, dynamics, rows);
  }
}

}  // namespace taut
