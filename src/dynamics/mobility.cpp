#include "taut/dynamics/mobility.hpp"

namespace taut {

double mobility(const pinocchio::Model& model, const ConstVectorRef& q, int joint, const Eigen::Vector3d& point) {
  Dynamics dynamics(model);
  dynamics.update(model, q, Eigen::VectorXd::Zero(model.nv));
  dynamics.factorize(model, Eigen::VectorXd::Zero(model.nv));
  std::vector<pinocchio::Force> impulses(static_cast<std::size_t>(model.njoints), pinocchio::Force::Zero());
  double sum = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    const Eigen::Vector3d along = Eigen::Vector3d::Unit(axis);
    impulses[static_cast<std::size_t>(joint)] = pinocchio::Force(along, point.cross(along));
    Eigen::VectorXd torque = Eigen::VectorXd::Zero(model.nv);  // Jᵀ e
    dynamics.add_external_forces(impulses, torque);
    Eigen::VectorXd velocity = torque;
    dynamics.solve(model, velocity);
    sum += torque.dot(velocity);  // eᵀ J M⁻¹ Jᵀ e
  }
  return sum / 3.0;
}

}  // namespace taut
