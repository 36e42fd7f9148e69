#pragma once

#include <array>
#include <vector>

#include <pinocchio/spatial.hpp>

#include "taut/collision/contact.hpp"
#include "taut/dynamics/rows.hpp"
#include "taut/problem/block_matrix.hpp"
#include "taut/solvers/solver.hpp"

namespace taut {

/// Where the time of a step went.
enum class Phase { dynamics, collision, delassus, solver, integration };
inline constexpr int phase_count = 5;

/// The last step, for users and for derivatives, which read the simulator and its scene beside it.
struct Record {
  Eigen::VectorXd q, v, tau;       ///< where it started; tau includes external forces, motors and saturated servos
  Eigen::VectorXd q_look, v_look;  ///< where constraints and dynamics were looked at, and v in the axes there
  Eigen::VectorXd v_coriolis;      ///< where Coriolis torques were taken: v_look, or half a step on
  bool is_fast = false;            ///< the latter
  std::vector<pinocchio::Force> external;  ///< forces that were given, per joint in its frame; may be empty
  Eigen::VectorXd v_free;                  ///< velocity without constraint impulses, in the axes of q_look
  Eigen::VectorXd v_plus;                  ///< velocity with them, in the axes of q_look: what constraints hold
  Eigen::VectorXd q_next, v_next;          ///< where it ended: v_next is v_plus in the axes of q_next
  std::vector<Contact> contacts;           ///< the first blocks of the problem, in this order
  std::vector<int> joint_rows;             ///< the blocks after them: indices into `Simulator::joint_rows()`
  int joint_start = 0, loop_start = 0;     ///< first rows of the joint rows and of loops, couplings and driven loops
  std::vector<int> driven;                 ///< the last blocks: actuators that hold a loop's coordinate
  bool asked_again = false;                ///< loops were left open by the first solve and asked for once more
  bool put_back = false;                   ///< what was left open then was put back, velocities left alone
  double restitution_scale = 1.0;          ///< below one where Newton's law would have added energy
  Rows rows;
  Eigen::MatrixXd G;   ///< at least rows() × rows(), unless `is_sparse`: see `problem()`
  BlockSparse sparse;  ///< the Delassus matrix of a pile, instead of `G`
  bool is_sparse = false;
  Eigen::VectorXd g, impulse, velocity;  ///< at least rows() long
  SolveReport report;
  std::array<double, phase_count> seconds{};

  Problem problem() const;
  /// Impulse on body 1 of each contact, in its frame (t1, t2, n).
  Eigen::Map<const Eigen::Matrix3Xd> contact_impulses() const;
};

}  // namespace taut
