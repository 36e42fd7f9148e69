#pragma once

#include <string>
#include <utility>
#include <vector>

#include "taut/derivatives/integration.hpp"
#include "taut/derivatives/response.hpp"
#include "taut/derivatives/row_motion.hpp"
#include "taut/dynamics/inverse_dynamics_derivatives.hpp"

namespace taut {

/// What says how far a Jacobian is to be trusted.
struct Certificate {
  std::vector<Mode> modes;       ///< of each block of the problem: contacts, limits and dry friction, loops
  std::vector<double> distance;  ///< m/s or rad/s: about how much of a block's free velocity changes its mode
  double nearest = 0.0;          ///< the least of them
  int unknowns = 0, rank = 0;    ///< of the system of impulses; less than full: redundant, and impulses are not unique
  double conditioning = 1.0;     ///< its reciprocal condition number
  bool unique = true;            ///< false: redundant contacts slide while they turn, and several velocities are right
  bool solved = true;            ///< the step had converged
  bool loops_asked_again = false;   ///< after an impact loops were closed in rounds, which are not differentiated
  bool scaled_restitution = false;  ///< bounces were lowered to keep energy, by a factor that is taken as constant
};

/// d(q⁺, v⁺)/d(q, v, τ) in the tangents of q and q⁺, as Pinocchio's.
struct StepJacobian {
  Eigen::MatrixXd dq_dq, dq_dv, dq_dtau, dv_dq, dv_dv, dv_dtau;
  /// Of the impulses, in the order of the problem's rows; those of least size where they are not unique.
  Eigen::MatrixXd dimpulse_dq, dimpulse_dv, dimpulse_dtau;
  Certificate certificate;
};

/// Adjoints of (q, v, τ), in their tangents.
struct StepAdjoint {
  Eigen::VectorXd q, v, tau;
};

struct StepDerivativeOptions {
  CollisionDerivativeOptions collision{.method = CollisionMethod::exact};
  bool move_contacts = true;  ///< false: contact points and frames stand still, to see what the collision term is worth
  bool impulses = false;      ///< dλ, too
};

/// The exact derivative of a step on its modes [S, Sec. 4].
///
///   M̃ (v⁺ − v_axes) = dt (τ + torque) − dt b + Jᵀ λ,      c = J v⁺ + bias + R λ
///
/// is differentiated with λ held, by the derivatives of inverse dynamics with λ as forces and the motion of the rows;
/// then λ answers as its modes allow (`ImpulseResponse`).
class StepDerivatives {
 public:
  explicit StepDerivatives(const Simulator& simulator);

  /// Of the simulator's last step. Throws std::invalid_argument if there was none, if it is not finite, or if it has
  /// something whose derivative is not there (actuators on loops, Moreau's scheme, softening).
  const StepJacobian& jacobian(const Simulator& simulator, const StepDerivativeOptions& options = {});

  /// (δq⁺, δv⁺) of (δq, δv, δτ), and the adjoint of (q, v, τ) for one of (q⁺, v⁺): one linear solve each, without the
  /// Jacobian. Throw as `jacobian` does, and on wrong sizes and values that are not finite.
  std::pair<Eigen::VectorXd, Eigen::VectorXd> jvp(const Simulator& simulator, const ConstVectorRef& dq,
                                                  const ConstVectorRef& dv, const ConstVectorRef& dtau,
                                                  const StepDerivativeOptions& options = {});
  StepAdjoint vjp(const Simulator& simulator, const ConstVectorRef& q_bar, const ConstVectorRef& v_bar,
                  const StepDerivativeOptions& options = {});

  /// Of the last of these calls.
  const Certificate& certificate() const { return jacobian_.certificate; }

 private:
  void linearize(const Simulator& simulator, const StepDerivativeOptions& options);
  void smooth(const Simulator& simulator);
  void set_bias(const Simulator& simulator);
  void set_loop_bias(const Simulator& simulator);
  void certify(const Simulator& simulator);
  void set_impulse_derivatives(const Problem& problem);
  double distance_to_kink(const Simulator& simulator, int block) const;

  InverseDynamicsDerivatives inverse_, inverse_slow_;
  Dynamics ahead_;  ///< where the old velocity leads: loops look there
  FreeJoints free_joints_;
  Rows ahead_rows_;
  std::string unknown_joint_;  ///< the first one whose columns change with its own coordinates; none if empty
  RowMotion motion_;
  ImpulseResponse response_;
  IntegrationDerivatives integration_;
  StepJacobian jacobian_;
  std::vector<pinocchio::Force> forces_;
  // M̃ da = A_q dq + A_v dv + dτ − dt/2 C w, and M̃ w = S_q dq + S_v dv + dτ for steps that are fast; at fixed λ.
  Eigen::MatrixXd A_q_, A_v_, S_q_, S_v_, axes_;
  Eigen::MatrixXd rows_q_, rows_v_;  ///< d(J v⁺ + bias) at fixed v⁺
  bool rows_depend_on_v_ = false;
  Eigen::MatrixXd X_, J_, XJ_, Q_, P_, work_;
  Eigen::VectorXd acceleration_, q_ahead_, v_ahead_;
};

}  // namespace taut
