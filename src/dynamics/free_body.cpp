#include "taut/dynamics/free_body.hpp"

#include <pinocchio/spatial/explog.hpp>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <cmath>

namespace taut {

namespace {

// Newton's method on 2 I (m − ω) + dt m × I m = 0 from `start`; false if it does not arrive. Lengths are those of
// energy, √(m·I m): what is far along a thin axis is near beside it.
bool find_middle(const Eigen::Matrix3d& I, const Eigen::Vector3d& omega, double dt, const Eigen::Vector3d& start,
                 Eigen::Vector3d& middle) {
  constexpr int kMost = 20;
  constexpr double kExact = 1e-30, kRounding = 1e-22;  // of a step, squared: there, and where rounding stops it
  middle = start;
  double before = HUGE_VAL;
  for (int i = 0; i < kMost; ++i) {
    const Eigen::Vector3d momentum = I * middle;
    const Eigen::Vector3d rest = 2.0 * I * (middle - omega) + dt * middle.cross(momentum);
    if (rest.isZero(0.0)) return true;
    const Eigen::Vector3d step = (2.0 * I + dt * gyroscopic_slope(I, middle)).inverse() * rest;
    const double size = step.dot(I * step) / middle.dot(momentum);
    middle -= step;
    if (!std::isfinite(size)) return false;
    if (size <= kExact || (size <= kRounding && size >= 0.25 * before)) return true;
    before = size;
  }
  return false;
}

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(x) / x; }

// (exp(angle) − 1) x, without the error of a difference for small angles.
Eigen::Vector3d turned_by(const Eigen::Vector3d& angle, const Eigen::Vector3d& x) {
  const double size = angle.norm(), half = sinc(0.5 * size);
  return angle.cross(Eigen::Vector3d(sinc(size) * x + 0.5 * half * half * angle.cross(x)));
}

// Its slope for angle = t ω and x = ω × c, in ω.
Eigen::Matrix3d turned_by_slope(const Eigen::Vector3d& omega, double t, const Eigen::Vector3d& c) {
  const Eigen::Vector3d angle = t * omega;
  const Eigen::Matrix3d E = pinocchio::exp3(angle);
  Eigen::Matrix3d J;
  pinocchio::Jexp3(angle, J);
  return (Eigen::Matrix3d::Identity() - E) * pinocchio::skew(c) -
         t * E * pinocchio::skew(Eigen::Vector3d(omega.cross(c))) * J;
}

}  // namespace

// m·I m = m·I ω puts every solution into the ball of energy of ω, and whichever it is keeps the energy. With an inertia
// that a body can have, |I_2 − I_3| ≤ I_1, Newton arrives from ω where the body turns by less than 0.86 rad in dt
// (Kantorovich). Further on there are several, and about the middle axis none near ω: then from where ω is heading, and
// from nearer to zero, where those of large dt lie.
Eigen::Vector3d midpoint_spin(const Eigen::Matrix3d& inertia, const Eigen::Vector3d& omega, double dt) {
  Eigen::Vector3d middle;
  if (find_middle(inertia, omega, dt, omega, middle)) return middle;
  const Eigen::Vector3d way = -(inertia.inverse() * omega.cross(inertia * omega)).normalized() * omega.norm();
  constexpr double kStarts[][2] = {{0.5, 0.5}, {0.5, 0.25}, {0.25, -0.25}, {0.25, 0.5}, {0.7, 0.7},
                                   {0.5, 0.0}, {0.75, 0.0}, {0.25, 0.0},   {0.1, 0.0},  {0.01, 0.0}};
  for (const auto& [of_omega, of_way] : kStarts) {
    if (find_middle(inertia, omega, dt, of_omega * omega + of_way * way, middle)) return middle;
  }
  return Eigen::Vector3d::Zero();
}

// Where no middle is found there is no torque.
Eigen::Vector3d end_spin(const Eigen::Vector3d& omega, const Eigen::Vector3d& middle) {
  return middle.isZero(0.0) ? omega : Eigen::Vector3d(2.0 * middle - omega);
}

Eigen::Vector3d centre_turn(const Eigen::Vector3d& omega, const Eigen::Vector3d& end, const Eigen::Vector3d& c,
                            const Instant& when) {
  const double back = when.dt - when.ahead;
  const Eigen::Vector3d before = omega.cross(c), after = end.cross(c);
  return (turned_by(when.ahead * end, after) - turned_by(-back * omega, before)) / when.dt - omega.cross(before);
}

CentreTurnSlopes centre_turn_slopes(const Eigen::Vector3d& omega, const Eigen::Vector3d& end, const Eigen::Vector3d& c,
                                    const Instant& when) {
  using pinocchio::skew;
  const double dt = when.dt, back = dt - when.ahead;
  const Eigen::Matrix3d one = Eigen::Matrix3d::Identity(), spin = skew(omega);
  const Eigen::Matrix3d after = pinocchio::exp3(Eigen::Vector3d(when.ahead * end)) - one,
                        before = pinocchio::exp3(Eigen::Vector3d(-back * omega)) - one;
  return {.omega = skew(Eigen::Vector3d(omega.cross(c))) + spin * skew(c) - turned_by_slope(omega, -back, c) / dt,
          .end = turned_by_slope(end, when.ahead, c) / dt,
          .c = (after * skew(end) - before * spin) / dt - spin * spin};
}

void FreeBody::update(const pinocchio::Model& model, const double* q, const double* v, const Instant& when,
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
  if (when.dt > 0.0) {
    const Eigen::Matrix3d central = inertia.inertia().matrix();
    const Eigen::Vector3d spin = velocity.angular(), middle = midpoint_spin(central, spin, when.dt),
                          c = inertia.lever();
    nonlinear_effects.tail<3>() += middle.cross(central * middle) - spin.cross(central * spin);
    if (!c.isZero(0.0)) {
      const Eigen::Vector3d force = inertia.mass() * centre_turn(spin, end_spin(spin, middle), c, when);
      nonlinear_effects.head<3>() += force;
      nonlinear_effects.tail<3>() += c.cross(force);
    }
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

FreeBody::Matrix6 free_body_slope(const pinocchio::Inertia& inertia, const FreeBody::Vector6& v, const Instant& when) {
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
  if (when.dt > 0.0) {
    const Matrix3d central = inertia.inertia().matrix();
    const Vector3d omega = v.tail<3>(), middle = midpoint_spin(central, omega, when.dt), c = inertia.lever();
    const Matrix3d turned = gyroscopic_slope(central, middle);
    // 2 I (m − ω) + dt m × I m = 0 moves m with ω.
    const Matrix3d moved = (2.0 * central + when.dt * turned).inverse() * (2.0 * central);
    slope.bottomRightCorner<3, 3>() += turned * moved - gyroscopic_slope(central, omega);
    if (!c.isZero(0.0)) {
      const CentreTurnSlopes by = centre_turn_slopes(omega, end_spin(omega, middle), c, when);
      const Matrix3d force = inertia.mass() * (by.omega + by.end * (2.0 * moved - Matrix3d::Identity()));
      slope.topRightCorner<3, 3>() += force;
      slope.bottomRightCorner<3, 3>() += pinocchio::skew(c) * force;
    }
  }
  return slope;
}

}  // namespace taut
