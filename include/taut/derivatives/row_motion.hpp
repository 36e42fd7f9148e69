#pragma once

#include <array>
#include <span>
#include <vector>

#include "taut/derivatives/response.hpp"
#include "taut/dynamics/spatial.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut {

/// A block of rows between two bodies, c = W (V₊ − V₋) with the world twists of the bodies: a contact or a loop.
struct BlockMotion {
  /// How W and the gap move with one of the two bodies, per world twist.
  struct Body {
    int joint = 0;
    double sign = 1.0;
    Eigen::Matrix<double, 3, 6> point, frame;  ///< a contact's
    std::array<LoopMatrix, 6> rates;           ///< dW of a loop
    LoopMatrix gap;
  };
  int block = 0, start = 0;
  bool is_contact = true;
  LoopMatrix W;
  Eigen::Vector3d x;  ///< contact: its point
  Eigen::Matrix3d R;  ///< contact: its frame
  std::array<Body, 2> bodies;

  /// The 6 × 6 of dWᵀ λ, a column per twist of the body.
  Matrix6 wrenches(const Body& body, const ConstVectorRef& lambda) const;
  /// The size × 6 of dW V for a relative twist V, a column per twist of the body.
  LoopMatrix velocities(const Body& body, const Vector6& relative) const;
  int size() const { return static_cast<int>(W.rows()); }
};

/// How the rows of a step move with the configuration.
///
/// The columns of J are J_k, the world twists of the degrees of freedom: ∂J_k/∂q_j = J_j × J_k if j comes before k on
/// the way from the root, hence ∂V_b/∂q_j = J_j × (V_b − V_parent(j)) for the twist V_b of a body.
class RowMotion {
 public:
  explicit RowMotion(const pinocchio::Model& model);

  /// Of the last step of `simulator`, for the blocks that are not open: what is open carries nothing and asks nothing.
  void update(const Simulator& simulator, const ImpulseResponse& response, const CollisionDerivativeOptions& collision,
              bool move_contacts);

  /// After `update`, the dense matrices below.
  void fill(const Simulator& simulator, const ImpulseResponse& response);

  // Transposed, nv × rows: a column per row of the step.
  const Eigen::MatrixXd& rates() const { return rates_; }                    ///< d(J v⁺)/dq at fixed v⁺
  const Eigen::MatrixXd& approach_rates() const { return approach_rates_; }  ///< d(J v)/dq at the old velocity
  const Eigen::MatrixXd& gaps() const { return gaps_; }  ///< dφ/dq of rows that have a gap, zero elsewhere
  /// d(Jᵀ λ)/dq at fixed λ, less that of wrenches fixed in the frames of their bodies.
  const Eigen::MatrixXd& torques() const { return torques_; }
  /// Sum of the wrenches that rows put on each joint, in its frame, in N s.
  std::span<const pinocchio::Force> impulses() const { return impulses_; }

  /// The adjoint of these: `rate`, `approach` and `gap` are multipliers of d(J v⁺), d(J v) and dφ, row by row, `w` that
  /// of d(Jᵀ λ) less that of fixed wrenches; their sum is added to q̄.
  struct Multipliers {
    ConstVectorRef rate, approach, gap, w;
  };
  void pull(const Simulator& simulator, const ImpulseResponse& response, const Multipliers& bars, VectorRef q_bar);
  /// Twists of the joints at `w` of the last `pull`.
  std::span<const Vector6> virtual_twists() const { return virtual_; }

  std::span<const BlockMotion> blocks() const { return {blocks_.data(), static_cast<std::size_t>(count_)}; }
  /// Twists of all joints in the world at v⁺, and at the old velocity if anything depends on it.
  std::span<const Vector6> twists() const { return twists_; }
  std::span<const Vector6> approach() const { return approach_; }
  bool looks_back() const { return looks_back_; }

  /// World twists of the joints at velocities `v`.
  static void spread(const Simulator& simulator, const ConstVectorRef& v, std::vector<Vector6>& twists);
  int joint_of(int dof) const { return joint_of_[static_cast<std::size_t>(dof)]; }

 private:
  BlockMotion& next();
  void add_contact(const Simulator& simulator, int index, const CollisionDerivativeOptions& collision,
                   bool move_contacts);
  void add_loop(const Simulator& simulator, const Loop& loop, int block, int row);
  void fill_block(const Simulator& simulator, const BlockMotion& motion);
  template <typename Gap, typename Turn>
  void for_each_entry(const Simulator& simulator, const ImpulseResponse& response, Gap&& gap, Turn&& turn) const;

  std::vector<int> joint_of_;  ///< of each degree of freedom
  std::vector<BlockMotion> blocks_;
  int count_ = 0;
  std::vector<Vector6> twists_, approach_, virtual_;
  std::vector<Vector6> moved_, carried_, carried_back_;  ///< of `pull`, per joint
  std::vector<pinocchio::Force> impulses_;
  /// S_kᵀ turning S_j is the torque on degrees of freedom k of one joint's chain when j of the other's moves.
  struct Turning {
    int pushed, moved;
    Matrix6 matrix;
  };
  std::vector<Turning> turnings_;
  Eigen::MatrixXd rates_, approach_rates_, gaps_, torques_;
  bool looks_back_ = false;
};

}  // namespace taut
