#include "taut/dynamics/inverse_dynamics_derivatives.hpp"

#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include <Eigen/Geometry>

#include "taut/dynamics/free_body.hpp"
#include "tree_model.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

}  // namespace

InverseDynamicsDerivatives::InverseDynamicsDerivatives(const pinocchio::Model& model) : forest_(model) {
  const auto trees = forest_.trees();
  whole_ = trees.size() == 1 && !is_free_body(model, trees[0]);
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (is_free_body(model, trees[t])) {
      bodies_.push_back(static_cast<int>(t));
      continue;
    }
    pinocchio::Model part = whole_ ? pinocchio::Model() : model_of_tree(model, trees[t]);
    pinocchio::Data data(whole_ ? model : part);
    parts_.push_back({static_cast<int>(t), std::move(part), std::move(data), {}});
    parts_.back().forces.resize(static_cast<std::size_t>(trees[t].joints) + 1, pinocchio::Force::Zero());
  }
  dq_.setZero(model.nv, model.nv);
  dv_.setZero(model.nv, model.nv);
}

void InverseDynamicsDerivatives::update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v,
                                        const ConstVectorRef& v_bodies, const ConstVectorRef& a,
                                        std::span<const pinocchio::Force> forces, const Instant& when) {
  for (Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    if (!whole_) refresh(part.model, model, tree);
    for (int k = 0; k < tree.joints; ++k) {
      part.forces[static_cast<std::size_t>(k) + 1] = forces[static_cast<std::size_t>(tree.first_joint + k)];
    }
    const ConstVectorRef q_part = q.segment(tree.first_q, tree.nq), v_part = v.segment(tree.first_dof, tree.nv),
                         a_part = a.segment(tree.first_dof, tree.nv);
    pinocchio::computeRNEADerivatives(whole_ ? model : part.model, part.data, q_part, v_part, a_part, part.forces);
    dv_.block(tree.first_dof, tree.first_dof, tree.nv, tree.nv) = part.data.dtau_dv;
  }
  for (const int t : bodies_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(t)];
    const auto joint = static_cast<std::size_t>(tree.first_joint);
    const Matrix3d R = model.jointPlacements[joint].rotation() *
                       Eigen::Map<const Eigen::Quaterniond>(q.data() + tree.first_q + 3).toRotationMatrix();
    // It feels its attitude through gravity alone, which is fixed in the world.
    const Vector3d fall = R.transpose() * -model.gravity.linear();
    auto dq = dq_.block<6, 6>(tree.first_dof, tree.first_dof);
    dq.setZero();
    dq.rightCols<3>() = model.inertias[joint].matrix().leftCols<3>() * pinocchio::skew(fall);
    dv_.block<6, 6>(tree.first_dof, tree.first_dof) =
        free_body_slope(model.inertias[joint], v_bodies.segment<6>(tree.first_dof), when);
  }
}

void InverseDynamicsDerivatives::subtract_dq(Eigen::MatrixXd& out) const {
  for (const Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    out.block(tree.first_dof, tree.first_dof, tree.nv, tree.nv) -= part.data.dtau_dq;
  }
  for (const int t : bodies_) {
    const int first = forest_.trees()[static_cast<std::size_t>(t)].first_dof;
    out.block<6, 6>(first, first) -= dq_.block<6, 6>(first, first);
  }
}

void InverseDynamicsDerivatives::clear_bodies(Eigen::Ref<Eigen::MatrixXd> rows) const {
  for (const int t : bodies_) rows.middleRows<6>(forest_.trees()[static_cast<std::size_t>(t)].first_dof).setZero();
}

}  // namespace taut
