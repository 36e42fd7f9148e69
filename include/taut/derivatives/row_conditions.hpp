#pragma once

#include <vector>

#include "taut/derivatives/integration.hpp"
#include "taut/derivatives/row_motion.hpp"

namespace taut {

/// What the rows of a step ask for, differentiated at fixed v⁺. The biases of gaps, bounces, stabilization and loops
/// make of d(J v⁺ + bias), row by row,
///
///   rate d(J v⁺) + approach d(J v) + gap dφ + ahead dφ(q_ahead)
///
/// with v the velocity at the start of the step. Loops are held where the step ends: q_ahead is where the old velocity
/// leads or, if they were closed in rounds, where the step has ended; their condition is then φ(q⁺) alone.
class RowConditions {
 public:
  explicit RowConditions(const pinocchio::Model& model);

  /// First, before impulses answer: the loops.
  void look_ahead(const Simulator& simulator);
  /// Rows that were closed in rounds. Their condition, dφ(q⁺)/dv⁺ by dt, stands in `conditions`, nv × rows.
  ImpulseResponse::Turned turned() const { return {turned_, turned_G_}; }
  const Eigen::MatrixXd& conditions() const { return conditions_; }

  /// The coefficients of the rows that are not open.
  void update(const Simulator& simulator, const ImpulseResponse& response);

  // Of each row, see above; `gain` is that of the share of an error that is corrected, `kink` how far (m/s) its bias is
  // from where its slope changes.
  Eigen::VectorXd rate, approach, gap, ahead, gain, kink;
  bool depends_on_v() const { return depends_on_v_; }

  /// Dense, after `motion.fill`: transposed, nv × rows.
  void fill(const Simulator& simulator, const RowMotion& motion);
  const Eigen::MatrixXd& dq() const { return dq_; }
  const Eigen::MatrixXd& dv() const { return dv_; }

  /// Multipliers of rows become those of their φ, in place; and what q_ahead gives of them is added to q̄ and v̄.
  void pull_gaps(const ConstVectorRef& y, VectorRef gap_bar) const;
  void pull_ahead(const ConstVectorRef& y, VectorRef q_bar, VectorRef v_bar) const;

 private:
  void find_what_bends(const Simulator& simulator);
  void update_loops(const Simulator& simulator);

  Dynamics ahead_;
  FreeJoints free_joints_;
  Rows ahead_rows_;
  IntegrationDerivatives integration_;
  /// A correction that would be faster than allowed keeps its speed and turns with φ.
  struct Capped {
    int row;
    double speed;  ///< by |φ| of its rigid rows
    LoopVector way;
  };
  std::vector<Capped> capped_;
  int loop_start_ = 0;
  Eigen::MatrixXd ahead_J_;  ///< nv × loop rows: J of the loops at q_ahead
  Eigen::MatrixXd ahead_q_, ahead_v_, conditions_, turned_G_, dq_, dv_;
  std::vector<char> bends_;  ///< of the rows of loops and couplings
  std::vector<int> turned_;
  Eigen::VectorXd q_ahead_, v_ahead_, work_;
  bool depends_on_v_ = false;
};

/// out += scale J_rowᵀ.
void add_row(const Dynamics& dynamics, const Rows& rows, int row, double scale, VectorRef out);

}  // namespace taut
