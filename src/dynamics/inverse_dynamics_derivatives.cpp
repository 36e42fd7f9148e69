#include "taut/dynamics/inverse_dynamics_derivatives.hpp"

#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include <Eigen/Geometry>
#include <Eigen/LU>

#include "taut/dynamics/free_body.hpp"
#include "tree_model.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

// d(m × I m)/dm
Matrix3d gyroscopic_slope(const Matrix3d& I, const Vector3d& m) {
  return pinocchio::skew(m) * I - pinocchio::skew(Vector3d(I * m));
}

// A free body feels its attitude through gravity only, which is fixed in the world, and its velocity through
// v ×* (I v).
void free_body(const pinocchio::Inertia& inertia, const Vector3d& gravity, const Matrix3d& R,
               const pinocchio::Motion& v, double dt, Eigen::Ref<Matrix6> dq, Eigen::Ref<Matrix6> dv) {
  const Matrix6 I = inertia.matrix();
  const Vector3d fall = R.transpose() * -gravity;
  dq.setZero();
  dq.rightCols<3>() = I.leftCols<3>() * pinocchio::skew(fall);

  const Vector6 momentum = I * v.toVector();
  const Matrix3d linear = pinocchio::skew(Vector3d(momentum.head<3>()));
  const Matrix3d angular = pinocchio::skew(Vector3d(momentum.tail<3>()));
  dv = v.toDualActionMatrix() * I;  // v ×* (I δv) + δv ×* (I v)
  dv.topRightCorner<3, 3>() -= linear;
  dv.bottomLeftCorner<3, 3>() -= linear;
  dv.bottomRightCorner<3, 3>() -= angular;
  if (dt > 0.0) {
    const Matrix3d central = inertia.inertia().matrix();
    const Vector3d middle = midpoint_spin(central, v.angular(), dt);
    const Matrix3d slope = gyroscopic_slope(central, middle);
    // 2 I (m − ω) + dt m × I m = 0 moves m with ω.
    const Matrix3d moved = (2.0 * central + dt * slope).inverse() * (2.0 * central);
    dv.bottomRightCorner<3, 3>() += slope * moved - gyroscopic_slope(central, v.angular());
  }
}

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
                                        std::span<const pinocchio::Force> forces, double dt) {
  for (Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    if (!whole_) refresh(part.model, model, tree);
    for (int k = 0; k < tree.joints; ++k) {
      part.forces[static_cast<std::size_t>(k) + 1] = forces[static_cast<std::size_t>(tree.first_joint + k)];
    }
    const ConstVectorRef q_part = q.segment(tree.first_q, tree.nq), v_part = v.segment(tree.first_dof, tree.nv),
                         a_part = a.segment(tree.first_dof, tree.nv);
    pinocchio::computeRNEADerivatives(whole_ ? model : part.model, part.data, q_part, v_part, a_part, part.forces);
    dq_.block(tree.first_dof, tree.first_dof, tree.nv, tree.nv) = part.data.dtau_dq;
    dv_.block(tree.first_dof, tree.first_dof, tree.nv, tree.nv) = part.data.dtau_dv;
  }
  for (const int t : bodies_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(t)];
    const auto joint = static_cast<std::size_t>(tree.first_joint);
    const Matrix3d R = model.jointPlacements[joint].rotation() *
                       Eigen::Map<const Eigen::Quaterniond>(q.data() + tree.first_q + 3).toRotationMatrix();
    free_body(model.inertias[joint], model.gravity.linear(), R,
              pinocchio::Motion(Vector6(v_bodies.segment<6>(tree.first_dof))), dt,
              dq_.block<6, 6>(tree.first_dof, tree.first_dof), dv_.block<6, 6>(tree.first_dof, tree.first_dof));
  }
}

void InverseDynamicsDerivatives::clear_bodies(Eigen::Ref<Eigen::MatrixXd> rows) const {
  for (const int t : bodies_) rows.middleRows<6>(forest_.trees()[static_cast<std::size_t>(t)].first_dof).setZero();
}

}  // namespace taut
