#pragma once

#include <span>
#include <vector>

#include "taut/derivatives/response.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut {

/// How the rows of a step move with the configuration: d(J v) at fixed v, and the part of d(Jᵀ λ) that wrenches fixed
/// in the frames of their bodies do not have.
///
/// The columns of J are J_k, the world twists of the degrees of freedom: ∂J_k/∂q_j = J_j × J_k if j comes before k on
/// the way from the root, hence ∂V_b/∂q_j = J_j × (V_b − V_parent(j)) for the twist V_b of a body.
class RowMotion {
 public:
  explicit RowMotion(const pinocchio::Model& model);

  /// Of the last step of `simulator`, for the blocks that are not open: what is open carries nothing and asks nothing.
  void update(const Simulator& simulator, const ImpulseResponse& response, const CollisionDerivativeOptions& collision,
              bool move_contacts);

  const Eigen::MatrixXd& rates() const { return rates_; }      ///< d(J v⁺)/dq at fixed v⁺, rows × nv
  const Eigen::MatrixXd& gaps() const { return gaps_; }        ///< dφ/dq of rows that have a gap, zero elsewhere
  const Eigen::MatrixXd& torques() const { return torques_; }  ///< d(Jᵀ λ)/dq at fixed λ, less that of fixed wrenches
  /// Sum of the wrenches that rows put on each joint, in its frame, in N s.
  std::span<const pinocchio::Force> impulses() const { return impulses_; }

  /// d(J v)/dq at the velocity the step began with: what bounces and loops look at.
  const Eigen::MatrixXd& approach_rates() const { return approach_rates_; }

 private:
  void add_contact(const Simulator& simulator, int index, const ContactDerivatives& moves);
  void add_joint_row(const Simulator& simulator, int index);
  void add_loop(const Simulator& simulator, const Loop& loop, int row);
  void add_coupling(const Simulator& simulator, const Coupling& coupling, int row);
  void spread(const Simulator& simulator, const ConstVectorRef& v, std::vector<pinocchio::Motion>& twists) const;

  std::vector<int> joint_of_;                         ///< of each degree of freedom
  std::vector<pinocchio::Motion> twists_, approach_;  ///< of the joints in the world, at v⁺ and at v
  std::vector<pinocchio::Force> impulses_;
  Eigen::MatrixXd rates_, approach_rates_, gaps_, torques_;
  bool wants_approach_ = false;
};

}  // namespace taut
