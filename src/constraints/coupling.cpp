#include "taut/constraints/coupling.hpp"

#include <utility>

namespace taut {

namespace {

bool is_endless(const pinocchio::Model& model, int joint) { return joint != 0 && model.nqs[joint] == 2; }

double second(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q) {
  if (coupling.joint_2 == 0 || is_endless(model, coupling.joint_2)) return 0.0;
  return q[model.idx_qs[coupling.joint_2]] - coupling.reference_2;
}

}  // namespace

bool is_endless(const Coupling& coupling, const pinocchio::Model& model) {
  return is_endless(model, coupling.joint_1) || is_endless(model, coupling.joint_2);
}

double coupling_error(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q) {
  if (is_endless(coupling, model)) return 0.0;
  const double x = second(coupling, model, q);
  double law = 0.0;
  for (int k = 4; k >= 0; --k) law = law * x + coupling.polynomial[k];
  return q[model.idx_qs[coupling.joint_1]] - coupling.reference_1 - law;
}

double coupling_slope(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q) {
  const double x = second(coupling, model, q);
  double slope = 0.0;
  for (int k = 4; k >= 1; --k) slope = slope * x + k * coupling.polynomial[k];
  return -slope;
}

double coupling_bend(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q) {
  const double x = second(coupling, model, q);
  double bend = 0.0;
  for (int k = 4; k >= 2; --k) bend = bend * x + k * (k - 1) * coupling.polynomial[k];
  return -bend;
}

void add_coupling(const Coupling& coupling, const pinocchio::Model& model, const Dynamics& dynamics,
                  const ConstVectorRef& q, const Instant& instant, Rows& rows) {
  rows.add_block({.kind = SetKind::free, .size = 1});
  if (coupling.compliance > 0.0) rows.last_compliance()[0] = spring_compliance(coupling.compliance, instant);
  const double slope = coupling.joint_2 != 0 ? coupling_slope(coupling, model, q) : 0.0;
  for (const auto& [joint, value] : {std::pair(coupling.joint_1, 1.0), std::pair(coupling.joint_2, slope)}) {
    if (joint == 0) continue;
    const auto dofs = dynamics.chain(joint);
    auto J = rows.add_arm(joint, static_cast<int>(dofs.size()));
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      J(0, static_cast<Eigen::Index>(k)) = dofs[k] == model.idx_vs[joint] ? value : 0.0;
    }
  }
}

}  // namespace taut
