#include "taut/derivatives/parameter_adjoint.hpp"

#include <pinocchio/algorithm/regressor.hpp>

#include <Eigen/LU>

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using Kind = Parameter::Kind;
using Vector10 = Eigen::Matrix<double, 10, 1>;

// ∂/∂(symmetric matrix) as the six numbers that Pinocchio's dynamic parameters have of it.
Eigen::Matrix<double, 6, 1> packed(const Matrix3d& G) {
  Eigen::Matrix<double, 6, 1> result;
  result << G(0, 0), G(0, 1) + G(1, 0), G(1, 1), G(0, 2) + G(2, 0), G(1, 2) + G(2, 1), G(2, 2);
  return result;
}

Matrix3d unpacked(const Eigen::Matrix<double, 6, 1>& g) {
  Matrix3d G;
  G << g[0], 0.5 * g[1], 0.5 * g[3], 0.5 * g[1], g[2], 0.5 * g[4], 0.5 * g[3], 0.5 * g[4], g[5];
  return G;
}

// The effects of a free body are those of a step: the gyroscopic torque of its middle, m × I m instead of ω × I ω, and
// a force m_b δ at the centre of mass. What that adds to the adjoint of (m_b, m_b c, I about the joint), for a
// multiplier W of the forces.
Vector10 step_adjoint(const pinocchio::Inertia& inertia, const Vector3d& omega, const pinocchio::Motion& W,
                      const Instant& when) {
  const Matrix3d I = inertia.inertia().matrix();
  const Vector3d c = inertia.lever(), w = W.angular(), m = midpoint_spin(I, omega, when.dt), end = end_spin(omega, m);
  const Vector3d at_centre = W.linear() + w.cross(c);  // W · (f, c × f) = at_centre · f
  const Vector3d delta = centre_turn(omega, end, c, when);
  const CentreTurnSlopes by = centre_turn_slopes(omega, end, c, when);

  // δ is linear in c, and c × m_b δ in m_b c twice, over m_b.
  Vector10 result = Vector10::Zero();
  result[0] = w.dot(c.cross(delta));
  result.segment<3>(1) = -by.c.transpose() * at_centre - delta.cross(w);

  // I about the centre of mass is in the middle, which is in the torque and in δ by ω⁺ = 2 m − ω.
  Matrix3d G = w.cross(omega) * omega.transpose() - w.cross(m) * m.transpose();
  if (!m.isZero(0.0)) {
    const Matrix3d slope = gyroscopic_slope(I, m);
    const Vector3d bar = slope.transpose() * w + 2.0 * inertia.mass() * by.end.transpose() * at_centre;
    const Vector3d u = (2.0 * I + when.dt * slope).transpose().inverse() * bar;
    G += 2.0 * u * (m - omega).transpose() + when.dt * u.cross(m) * m.transpose();
  }
  // It is that about the joint less ((m_b c)² − m_b c m_b cᵀ)/m_b.
  result.tail<6>() = packed(G);
  result.segment<3>(1) -= 2.0 * G.trace() * c - (G + G.transpose()) * c;
  result[0] += G.trace() * c.squaredNorm() - c.dot(G * c);
  return result;
}

// Of (m, m c, I about the joint), the parameters inverse dynamics is linear in.
Vector10 dynamic_adjoint(const Simulator& simulator, const StepMultipliers& bars, int joint) {
  const auto at = static_cast<std::size_t>(joint);
  const auto& model = simulator.scene().model;
  const pinocchio::SE3& oMi = simulator.dynamics().placements()[at];
  Vector10 result = Vector10::Zero();
  const auto add = [&](const InverseDynamicsAdjoint& adjoint) {
    const auto local = [&](std::span<const Vector6> field) { return oMi.actInv(pinocchio::Motion(field[at])); };
    const pinocchio::Motion V = local(adjoint.twists()), A = local(adjoint.accelerations()),
                            W = local(adjoint.virtual_twists());
    result.noalias() -= pinocchio::bodyRegressor(V, A).transpose() * W.toVector();
    if (!adjoint.is_free_body(joint)) return;
    result += step_adjoint(model.inertias[at], V.angular(), W, simulator.options().instant());
  };
  add(bars.adjoint);
  if (bars.slow.size() > 0) add(bars.adjoint_slow);
  return result;
}

VectorXd inertial(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter) {
  const Vector10 bar = dynamic_adjoint(simulator, bars, parameter.index);
  const pinocchio::Inertia& inertia = simulator.scene().model.inertias[static_cast<std::size_t>(parameter.index)];
  const Vector3d c = inertia.lever();
  if (parameter.kind == Kind::inertia) {
    return pinocchio::LogCholeskyParameters(log_cholesky(inertia)).calculateJacobian().transpose() * bar;
  }
  // I about the joint is that about the centre of mass and m (c² − c cᵀ).
  const Matrix3d G = unpacked(bar.tail<6>());
  if (parameter.kind == Kind::mass) {
    return VectorXd::Constant(1, bar[0] + c.dot(bar.segment<3>(1)) + G.trace() * c.squaredNorm() - c.dot(G * c));
  }
  return inertia.mass() * (bar.segment<3>(1) + 2.0 * (G.trace() * c - G * c));
}

VectorXd per_dof(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter) {
  const Record& record = simulator.record();
  const auto& model = simulator.scene().model;
  const auto joint = static_cast<std::size_t>(parameter.index);
  const double dt = simulator.options().dt, ahead = simulator.options().instant().ahead;
  VectorXd result = VectorXd::Zero(parameter.size);
  if (parameter.kind == Kind::dry_friction) {
    // A joint that slips carries all that its friction has.
    for (std::size_t i = 0; i < record.joint_rows.size(); ++i) {
      const JointRow& row = simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[i])];
      if (row.kind != JointRow::Kind::dry_friction || row.joint != parameter.index) continue;
      if (bars.response.mode(static_cast<int>(record.contacts.size() + i)) != Mode::open) continue;
      const int at = record.joint_start + static_cast<int>(i);
      result[row.dof - model.idx_vs[joint]] = std::copysign(dt, record.impulse[at]) * bars.lambda_bar[at];
    }
    return result;
  }
  const auto add = [&](const VectorXd& bar, const VectorXd& a) {
    for (int k = 0; k < parameter.size; ++k) {
      const int dof = model.idx_vs[joint] + k;
      const double v = record.v_look[dof] + dt * a[dof];  // where implicit terms are taken
      if (parameter.kind == Kind::damping) result[k] -= bar[dof] * v;
      if (parameter.kind == Kind::armature) result[k] -= bar[dof] * a[dof];
      if (parameter.kind == Kind::stiffness && model.nqs[joint] == 1) {
        const double q = record.q_look[model.idx_qs[joint]] + ahead * v;
        result[k] -= bar[dof] * (q - simulator.scene().spring_reference[dof]);
      }
    }
  };
  add(bars.force, bars.acceleration);
  if (bars.slow.size() > 0) add(bars.slow, bars.slow_acceleration);
  return result;
}

bool is_pair(const std::pair<std::size_t, std::size_t>& shapes, const Parameter& parameter) {
  const auto one = static_cast<std::size_t>(parameter.index), two = static_cast<std::size_t>(parameter.other);
  return std::minmax(shapes.first, shapes.second) == std::minmax(one, two);
}

// How a contact's coefficient grows with a parameter that is a shape's or a pair's: `own` are the slopes of the rule.
double share(const Scene& scene, const std::pair<std::size_t, std::size_t>& shapes, const Parameter& parameter,
             const std::map<std::pair<std::string, std::string>, double>& pairs, std::pair<double, double> own) {
  if (parameter.other >= 0) return is_pair(shapes, parameter) ? 1.0 : 0.0;
  const auto& objects = scene.geometry.geometryObjects;
  if (pairs.contains(std::minmax(objects[shapes.first].name, objects[shapes.second].name))) return 0.0;
  const auto index = static_cast<std::size_t>(parameter.index);
  return (shapes.first == index ? own.first : 0.0) + (shapes.second == index ? own.second : 0.0);
}

double surface(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter) {
  const Record& record = simulator.record();
  const Scene& scene = simulator.scene();
  const Instant when = simulator.options().instant();
  double result = 0.0;
  const auto shapes_of = [&](int contact) {
    return simulator.pair_shapes(record.contacts[static_cast<std::size_t>(contact)].pair);
  };
  if (parameter.kind == Kind::friction) {
    for (const ImpulseResponse::Slide& slide : bars.response.slides()) {  // λ_t = μ λ_n d
      const auto shapes = shapes_of(slide.block);
      const double slope =
          share(scene, shapes, parameter, scene.pair_friction, friction_slopes(scene, shapes.first, shapes.second));
      result += slope * record.impulse[slide.start + 2] * slide.d.dot(bars.lambda_bar.segment<2>(slide.start));
    }
  } else if (parameter.kind == Kind::restitution) {
    for (const Bounce& bounce : simulator.bouncing()) {
      if (bounce.row >= record.joint_start || bars.conditions.approach[bounce.row] == 0.0) continue;
      const auto shapes = shapes_of(bounce.row / 3);
      const double one = scene.surfaces[shapes.first].restitution, two = scene.surfaces[shapes.second].restitution;
      const std::pair own = one == two ? std::pair(0.5, 0.5) : std::pair(one > two ? 1.0 : 0.0, one > two ? 0.0 : 1.0);
      result += share(scene, shapes, parameter, scene.pair_restitution, own) * record.restitution_scale *
                bounce.approach * bars.y[bounce.row];
    }
  } else {
    for (int i = 0; i < static_cast<int>(record.contacts.size()); ++i) {
      const int row = 3 * i + 2;
      if (record.rows.compliance()[row] == 0.0) continue;  // a rigid contact is another law, not a stiff spring
      const double slope = share(scene, shapes_of(i), parameter, {}, {1.0, 1.0});
      result += slope * spring_compliance(1.0, when) * record.impulse[row] * bars.y[row];
    }
  }
  return result;
}

// Shapes that move or grow on bodies that do not: points, frames and gaps of contacts change, velocities of bodies
// stay.
VectorXd shape(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter) {
  const Record& record = simulator.record();
  const auto& geometry = simulator.scene().geometry;
  VectorXd result = VectorXd::Zero(parameter.size);
  for (const BlockMotion& motion : bars.motion.blocks()) {
    if (!motion.is_contact) continue;
    const Contact& contact = record.contacts[static_cast<std::size_t>(motion.block)];
    const auto pair = simulator.pair_shapes(contact.pair);
    const auto index = static_cast<std::size_t>(parameter.index);
    if (pair.first != index && pair.second != index) continue;
    const auto& object = geometry.geometryObjects[index];
    const int side = static_cast<int>(object.parentJoint) == contact.joint_1 ? 0 : 1;
    // Columns: of a twist of the shape in the world, or of its sizes.
    BlockMotion::Body moved = motion.bodies[static_cast<std::size_t>(side)];
    if (parameter.kind == Kind::size) {
      const ContactSizeDerivatives sizes = simulator.detector().size_derivatives(contact);
      moved.point.setZero(), moved.frame.setZero(), moved.gap.setZero();
      moved.point.leftCols<3>() = sizes.point.middleCols<3>(3 * side);
      moved.frame.leftCols<3>() = sizes.frame.middleCols<3>(3 * side);
      moved.gap.row(2).leftCols<3>() = sizes.gap.middleCols<3>(3 * side);
    }
    const auto relative = [&](std::span<const Vector6> twists) {
      return Vector6(twists[static_cast<std::size_t>(contact.joint_1)] -
                     twists[static_cast<std::size_t>(contact.joint_2)]);
    };
    const Vector3d y = bars.y.segment<3>(motion.start), lambda = record.impulse.segment<3>(motion.start);
    Vector6 bar = motion.wrenches(moved, y).transpose() * relative(bars.motion.twists());
    bar.noalias() += motion.wrenches(moved, lambda).transpose() * relative(bars.motion.virtual_twists());
    bar += moved.gap.row(2).transpose() * bars.gap_bar[motion.start + 2];
    if (bars.motion.looks_back()) {
      const Vector3d back = bars.approach_bar.segment<3>(motion.start);
      bar.noalias() += motion.wrenches(moved, back).transpose() * relative(bars.motion.approach());
    }
    if (parameter.kind == Kind::size) {
      result += bar.head(parameter.size);
    } else {
      const pinocchio::SE3 oM = simulator.dynamics().placements()[object.parentJoint] * object.placement;
      result.noalias() += oM.toActionMatrix().transpose() * bar;
    }
  }
  return result;
}

double gain(const Simulator& simulator, const StepMultipliers& bars, Kind kind) {
  const Record& record = simulator.record();
  const int n = record.rows.rows();
  const int first = kind == Kind::correction         ? 0
                    : kind == Kind::limit_correction ? record.joint_start
                                                     : record.loop_start;
  const int last = kind == Kind::correction         ? record.joint_start
                   : kind == Kind::limit_correction ? record.loop_start
                                                    : n;
  return bars.conditions.gain.segment(first, last - first).dot(bars.y.segment(first, last - first));
}

}  // namespace

VectorXd pull_parameter(const Simulator& simulator, const StepMultipliers& bars, const Parameter& parameter) {
  switch (parameter.kind) {
    case Kind::friction:
    case Kind::restitution:
    case Kind::compliance:
      return VectorXd::Constant(1, surface(simulator, bars, parameter));
    case Kind::size:
    case Kind::placement:
      return shape(simulator, bars, parameter);
    case Kind::mass:
    case Kind::com:
    case Kind::inertia:
      return inertial(simulator, bars, parameter);
    case Kind::damping:
    case Kind::dry_friction:
    case Kind::stiffness:
    case Kind::armature:
      return per_dof(simulator, bars, parameter);
    case Kind::gravity: {
      Vector3d bar = bars.adjoint.momentum().head<3>();
      if (bars.slow.size() > 0) bar += bars.adjoint_slow.momentum().head<3>();
      return bar;
    }
    case Kind::correction:
    case Kind::limit_correction:
    case Kind::loop_correction:
      break;
  }
  return VectorXd::Constant(1, gain(simulator, bars, parameter.kind));
}

}  // namespace taut
