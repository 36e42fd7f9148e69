#include "taut/dynamics/inverse_dynamics_adjoint.hpp"

#include <Eigen/Geometry>

#include "taut/dynamics/free_body.hpp"
#include "tree_model.hpp"

namespace taut {

InverseDynamicsAdjoint::InverseDynamicsAdjoint(const pinocchio::Model& model) {
  const auto joints = static_cast<std::size_t>(model.njoints);
  is_body_.assign(joints, 0);
  const Forest forest(model);
  for (const Forest::Tree& tree : forest.trees()) {
    if (taut::is_free_body(model, tree)) is_body_[static_cast<std::size_t>(tree.first_joint)] = 1;
  }
  for (auto* field : {&V_, &A_, &W_, &F_, &P_, &D_}) field->assign(joints, Vector6::Zero());
}

void InverseDynamicsAdjoint::subtract(const pinocchio::Model& model, const Dynamics& dynamics, const ConstVectorRef& v,
                                      const ConstVectorRef& v_bodies, const ConstVectorRef& a,
                                      std::span<const pinocchio::Force> forces, const ConstVectorRef& w,
                                      const Instant& when, VectorRef q_bar, VectorRef v_bar) {
  const auto& columns = dynamics.columns();
  const auto& placements = dynamics.placements();
  A_[0].head<3>() = -model.gravity.linear();
  P_[0].setZero();
  for (int i = 1; i < model.njoints; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto parent = model.parents[at];
    const bool body = is_body_[at];
    Vector6 own = Vector6::Zero(), pushed = Vector6::Zero(), moved = Vector6::Zero();
    for (int k = model.idx_vs[i]; k < model.idx_vs[i] + model.nvs[i]; ++k) {
      own += (body ? v_bodies[k] : v[k]) * columns.col(k);
      pushed += a[k] * columns.col(k);
      moved += w[k] * columns.col(k);
    }
    V_[at] = V_[parent] + own;
    A_[at] = A_[parent] + pushed + cross(V_[parent], own);
    W_[at] = W_[parent] + moved;
    const pinocchio::Inertia inertia = placements[at].act(model.inertias[at]);
    P_[at] = apply(inertia, W_[at]);
    if (body) continue;
    const Vector6 h = apply(inertia, V_[at]);
    F_[at] = apply(inertia, A_[at]) + cross_dual(V_[at], h) - placements[at].act(forces[at]).toVector();
    D_[at] = cross_dual(V_[at], P_[at]) - cross_dual(W_[at], h) - apply(inertia, cross(V_[at], W_[at]));
  }
  for (int i = model.njoints - 1; i > 0; --i) {
    const auto at = static_cast<std::size_t>(i);
    const auto parent = model.parents[at];
    const int first = model.idx_vs[i];
    if (is_body_[at]) {  // feels its attitude by gravity alone
      const Vector6 turned = cross_dual(A_[0], P_[at]);
      const auto S = columns.middleCols<6>(first);
      q_bar.segment<6>(first).noalias() += S.transpose() * turned;
      const auto slope = free_body_slope(model.inertias[at], v_bodies.segment<6>(first), when);
      v_bar.segment<6>(first).noalias() -= slope.transpose() * w.segment<6>(first);
    } else {
      const Vector6 carried = D_[at] - cross_dual(V_[parent], P_[at]);
      const Vector6 of_q =
          cross_dual(W_[parent], F_[at]) + cross_dual(A_[parent], P_[at]) + cross_dual(V_[parent], carried);
      const Vector6 of_v = carried - cross_dual(V_[at], P_[at]);
      for (int k = first; k < first + model.nvs[i]; ++k) {
        q_bar[k] += columns.col(k).dot(of_q);
        v_bar[k] -= columns.col(k).dot(of_v);
      }
      if (parent != 0) {
        F_[parent] += F_[at];
        D_[parent] += D_[at];
      }
    }
    P_[parent] += P_[at];
  }
}

}  // namespace taut
