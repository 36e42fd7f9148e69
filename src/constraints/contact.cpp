#include "taut/constraints/contact.hpp"

#include <Eigen/Geometry>

#include "taut/constraints/bias.hpp"

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

void add_contacts(std::span<const Contact> contacts, const Dynamics& dynamics, const Instant& instant,
                  const ContactCompliance& compliance, Rows& rows) {
  for (const Contact& contact : contacts) {
    rows.add_block({.kind = SetKind::cone, .size = 3, .mu = contact.mu});
    const double normal = compliance.normal + contact.compliance;
    if (normal > 0.0) rows.last_compliance()[2] = spring_compliance(normal, instant);
    if (compliance.tangential > 0.0) {
      rows.last_compliance().head<2>().setConstant(spring_compliance(compliance.tangential, instant));
    }
    add_point_arm(contact, contact.joint_1, 1.0, dynamics, rows);
    if (contact.joint_2 != 0) add_point_arm(contact, contact.joint_2, -1.0, dynamics, rows);
  }
}

void bias_contacts(std::span<const Contact> contacts, const ConstVectorRef& approach, const Instant& instant,
                   const Stabilization& stabilization, Rows& rows) {
  auto bias = rows.bias();
  const auto compliance = rows.compliance();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i) + 2;
    bias[row] = bias_of_gap(contacts[i].gap, approach.size() > 0 ? approach[row] : 0.0, compliance[row] > 0.0,
                            stabilization.correction, instant, stabilization)
                    .value;
  }
}

}  // namespace taut
