#pragma once

#include <string>
#include <vector>

#include "taut/derivatives/certificate.hpp"
#include "taut/derivatives/constrained_mobility.hpp"
#include "taut/derivatives/integration.hpp"
#include "taut/derivatives/parameter_adjoint.hpp"
#include "taut/derivatives/row_conditions.hpp"
#include "taut/dynamics/inverse_dynamics_adjoint.hpp"
#include "taut/dynamics/inverse_dynamics_derivatives.hpp"

namespace taut {

/// d(q⁺, v⁺)/d(q, v, τ) in the tangents of q and q⁺, as Pinocchio's.
struct StepJacobian {
  Eigen::MatrixXd dq_dq, dq_dv, dq_dtau, dv_dq, dv_dv, dv_dtau;
  /// Of the impulses, in the order of the problem's rows; where they are not unique, those of rows that repeat others
  /// do not change.
  Eigen::MatrixXd dimpulse_dq, dimpulse_dv, dimpulse_dtau;
  /// Of external forces, nv × 6 njoints: (force, moment) of each joint in its frame, the world first.
  Eigen::MatrixXd dq_dforce, dv_dforce;
  Certificate certificate;
};

/// Of (δq, δv, δτ): where they lead.
struct StepTangent {
  Eigen::VectorXd q, v;
  Certificate certificate;
};

/// Adjoints of (q, v, τ), in their tangents, of external forces (6 × njoints, in the joints' frames) and of the
/// actuators' controls, where they were given.
struct StepAdjoint {
  Eigen::VectorXd q, v, tau;
  Eigen::Matrix<double, 6, Eigen::Dynamic> force;
  Eigen::VectorXd control;
  Certificate certificate;
};

struct StepDerivativeOptions {
  CollisionDerivativeOptions collision{.method = CollisionMethod::exact};
  bool move_contacts = true;  ///< false: contact points and frames stand still, to see what the collision term is worth
  bool impulses = false;      ///< dλ, too
  bool forces = false;        ///< of external forces, too
};

/// The exact derivative of a step on its modes [S, Sec. 3.3, App. D].
///
///   M̃ (v⁺ − v_axes) = dt (τ + torque) − dt b + Jᵀ λ,      c = J v⁺ + bias + R λ
///
/// is differentiated with λ held, by the derivatives of inverse dynamics with λ as forces and the motion of the rows;
/// then λ answers as its modes allow (`ImpulseResponse`). Moreau's scheme is the same half a step on.
///
/// Throws std::runtime_error if another thread steps the simulator meanwhile.
class StepDerivatives {
 public:
  explicit StepDerivatives(const Simulator& simulator);

  /// Of the simulator's last step. Throws std::invalid_argument if there was none, if it is not finite, if it has
  /// something whose derivative is not there (actuators on loops, softening), or if a solver of another contact model
  /// has made it and its answer does not solve the exact law, which is what is differentiated.
  const StepJacobian& jacobian(const Simulator& simulator, const StepDerivativeOptions& options = {});

  /// (δq⁺, δv⁺) of (δq, δv, δτ), without the Jacobian. Throws as `jacobian` does, and on wrong sizes and values that
  /// are not finite.
  StepTangent jvp(const Simulator& simulator, const ConstVectorRef& dq, const ConstVectorRef& dv,
                  const ConstVectorRef& dtau, const StepDerivativeOptions& options = {});

  /// The adjoint for one of (q⁺, v⁺): one transposed solve and sweeps over the bodies, without any matrix of the size
  /// of the model. Throws likewise.
  const StepAdjoint& vjp(const Simulator& simulator, const ConstVectorRef& q_bar, const ConstVectorRef& v_bar,
                         const StepDerivativeOptions& options = {});

  /// The adjoints of parameters. Throws std::invalid_argument if the last call was not `vjp` of the same step.
  Eigen::VectorXd vjp_parameter(const Simulator& simulator, const Parameter& parameter);

  /// Of the last derivative.
  const Certificate& certificate() const { return certificate_; }

 private:
  void prepare(const Simulator& simulator, const StepDerivativeOptions& options);
  void linearize(const Simulator& simulator, const StepDerivativeOptions& options);
  void gather_forces(const Simulator& simulator, bool with_impulses);
  void set_acceleration(const Simulator& simulator);
  void smooth(const Simulator& simulator);
  template <typename X, typename Out>
  void add_axes_transposed(const Record& record, double dt, const X& x, Out& out, double sign) const;
  void set_impulse_derivatives(const Simulator& simulator);
  void set_force_derivatives(const Simulator& simulator);

  InverseDynamicsDerivatives inverse_, inverse_slow_;
  InverseDynamicsAdjoint adjoint_, adjoint_slow_;
  RowMotion motion_;
  RowConditions conditions_;
  ImpulseResponse response_;
  ConstrainedMobility mobility_;
  IntegrationDerivatives entry_, integration_;  ///< to where the step looks, in Moreau's scheme; to its end
  std::string unknown_joint_;  ///< the first one whose columns change with its own coordinates; none if empty
  struct Base {
    int dof;
    bool planar;
  };
  std::vector<Base> bases_;   ///< joints whose axes turn while they move
  std::uint64_t pulled_ = 0;  ///< the step that multipliers are of: the last call was `vjp`

  Certificate certificate_;
  StepJacobian jacobian_;
  StepAdjoint bars_;
  std::vector<pinocchio::Force> forces_;
  // M̃ da = A_q dq + A_v dv + dτ − dt/2 C w, and M̃ w = S_q dq + S_v dv + dτ for steps that are fast; at fixed λ.
  Eigen::MatrixXd A_q_, A_v_, S_q_, S_v_, axes_, see_, work_;
  Eigen::VectorXd acceleration_, slow_acceleration_;
  Eigen::VectorXd plus_, force_, slow_, y_, seen_, gap_bar_, rate_bar_, approach_bar_, virtual_, lambda_bar_;
};

}  // namespace taut
