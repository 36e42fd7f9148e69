#include "taut/dynamics/free_body.hpp"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <cmath>

namespace taut {

Eigen::Vector3d midpoint_spin(const Eigen::Matrix3d& inertia, const Eigen::Vector3d& omega, double dt) {
  Eigen::Vector3d middle = omega;
  // Newton; two steps are enough as long as the body turns by much less than a radian in dt.
  for (int i = 0; i < 8; ++i) {
    const Eigen::Vector3d momentum = inertia * middle;
    const Eigen::Vector3d rest = 2.0 * inertia * (middle - omega) + dt * middle.cross(momentum);
    if (rest.norm() <= 1e-15 * momentum.norm()) break;
    const Eigen::Matrix3d slope = 2.0 * inertia + dt * (pinocchio::skew(middle) * inertia - pinocchio::skew(momentum));
    middle -= slope.inverse() * rest;
  }
  return middle;
}

void FreeBody::update(const pinocchio::Model& model, const double* q, const double* v, double dt,
                      pinocchio::SE3& placement, Eigen::Ref<Matrix6> jacobian, Eigen::Ref<Vector6> nonlinear_effects) {
  const auto joint = static_cast<std::size_t>(joint_);
  const Eigen::Matrix3d turn = Eigen::Map<const Eigen::Quaterniond>(q + 3).toRotationMatrix();
  placement = model.jointPlacements[joint] * pinocchio::SE3(turn, Eigen::Map<const Eigen::Vector3d>(q));

  const Eigen::Matrix3d& R = placement.rotation();
  const Eigen::Vector3d& p = placement.translation();
  jacobian.topLeftCorner<3, 3>() = R;
  jacobian.bottomLeftCorner<3, 3>().setZero();
  for (int k = 0; k < 3; ++k) jacobian.col(3 + k).head<3>() = p.cross(R.col(k));
  jacobian.bottomRightCorner<3, 3>() = R;

  const pinocchio::Inertia& inertia = model.inertias[joint];
  M_ = inertia.matrix();
  M_.diagonal() += model.armature.segment<6>(dof_);

  const pinocchio::Motion velocity{Eigen::Map<const Vector6>(v)};
  const pinocchio::Motion fall = placement.actInv(pinocchio::Motion(-model.gravity));
  nonlinear_effects = (inertia * fall + inertia.vxiv(velocity)).toVector();
  if (dt > 0.0) {
    const Eigen::Matrix3d central = inertia.inertia().matrix();
    const Eigen::Vector3d spin = velocity.angular(), middle = midpoint_spin(central, spin, dt);
    nonlinear_effects.tail<3>() += middle.cross(central * middle) - spin.cross(central * spin);
  }
}

void FreeBody::factorize(const double* implicit, double* inverse_sqrt_D) {
  M_.diagonal() += Eigen::Map<const Vector6>(implicit);
  // From the last column to the first; column j of U takes the place of that of M.
  Vector6 D;
  for (int j = 5; j >= 0; --j) {
    for (int i = j; i >= 0; --i) {
      double rest = M_(i, j);
      for (int k = j + 1; k < 6; ++k) rest -= M_(i, k) * D[k] * M_(j, k);
      if (i == j) {
        D[j] = rest;
        inverse_D_[j] = 1.0 / rest;
        inverse_sqrt_D[j] = 1.0 / std::sqrt(rest);
      } else {
        M_(i, j) = rest * inverse_D_[j];
      }
    }
  }
}

void FreeBody::solve(double* x) const {
  Eigen::Map<Vector6> y(x);
  for (int j = 5; j > 0; --j) {
    for (int i = 0; i < j; ++i) y[i] -= M_(i, j) * y[j];
  }
  y.array() *= inverse_D_.array();
  for (int j = 1; j < 6; ++j) {
    for (int i = 0; i < j; ++i) y[j] -= M_(i, j) * y[i];
  }
}

Eigen::Matrix3d gyroscopic_slope(const Eigen::Matrix3d& I, const Eigen::Vector3d& m) {
  return pinocchio::skew(m) * I - pinocchio::skew(Eigen::Vector3d(I * m));
}

FreeBody::Matrix6 free_body_slope(const pinocchio::Inertia& inertia, const FreeBody::Vector6& v, double dt) {
  using Eigen::Matrix3d;
  using Eigen::Vector3d;
  const FreeBody::Matrix6 I = inertia.matrix();
  const FreeBody::Vector6 momentum = I * v;
  const Matrix3d linear = pinocchio::skew(Vector3d(momentum.head<3>()));
  // V ×* (I δV) + δV ×* (I V)
  FreeBody::Matrix6 slope = pinocchio::Motion(v).toDualActionMatrix() * I;
  slope.topRightCorner<3, 3>() -= linear;
  slope.bottomLeftCorner<3, 3>() -= linear;
  slope.bottomRightCorner<3, 3>() -= pinocchio::skew(Vector3d(momentum.tail<3>()));
  if (dt > 0.0) {
    const Matrix3d central = inertia.inertia().matrix();
    const Vector3d omega = v.tail<3>(), middle = midpoint_spin(central, omega, dt);
    const Matrix3d turned = gyroscopic_slope(central, middle);
    // 2 I (m − ω) + dt m × I m = 0 moves m with ω.
    const Matrix3d moved = (2.0 * central + dt * turned).inverse() * (2.0 * central);
    slope.bottomRightCorner<3, 3>() += turned * moved - gyroscopic_slope(central, omega);
  }
  return slope;
}

}  // namespace taut
