#pragma once

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <vector>

#include "taut/problem/problem.hpp"
#include "taut/solvers/newton.hpp"

namespace taut {

/// How impulses answer: on fixed modes the conditions of a solved problem are equations, and
///
///   dλ = −Y (dc at fixed λ),   Y = Z A⁺ W,   A = W (G + R) Z + diagonal        [S, Sec. 4; docs/theory.md, "Modes"].
///
/// Redundant constraints make A singular: its pseudo-inverse leaves dλ of least size, and what dλ does to velocities is
/// unique all the same.
class ImpulseResponse {
 public:
  /// From a solution: modes and the factors of A.
  void update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity);

  /// W rows and Zᵀ rows: what of n × k `rows` the unknowns see and do.
  void reduce(const Problem& problem, const Eigen::Ref<const Eigen::MatrixXd>& rows,
              Eigen::Ref<Eigen::MatrixXd> unknowns) const;
  void gather(const Problem& problem, const Eigen::Ref<const Eigen::MatrixXd>& rows,
              Eigen::Ref<Eigen::MatrixXd> unknowns) const;
  /// Z unknowns; rows that are open are left alone.
  void expand(const Problem& problem, const Eigen::Ref<const Eigen::MatrixXd>& unknowns,
              Eigen::Ref<Eigen::MatrixXd> rows) const;
  /// x ← A⁺ x, and x ← A⁺ᵀ x, of unknowns.
  void solve(Eigen::MatrixXd& x) const;
  void solve_transpose(Eigen::MatrixXd& x) const;

  /// x ← Y x, and x ← Yᵀ x.
  void apply(const Problem& problem, VectorRef x);
  void apply_transpose(const Problem& problem, VectorRef x);

  /// Changes of the impulses that change no condition, as columns, where A is singular; else none. If they move
  /// anything, several velocities solve the problem (docs/theory.md, Errata) and a derivative is that of one of them.
  const Eigen::MatrixXd& kernel() const { return kernel_; }

  Mode mode(int block) const { return modes_.blocks[static_cast<std::size_t>(block)].mode; }
  int unknowns() const { return unknowns_; }
  int rank() const { return rank_; }
  /// Reciprocal condition number of A, where it is regular; about that of what counts as its rank where it is not, or
  /// below 1e-9 where damping took its place.
  double conditioning() const { return conditioning_; }

  /// About how much the free velocity of a block (m/s or rad/s) must change for it to change its mode; infinite for
  /// bilateral ones.
  double distance_to_switch(int block) const { return switching_[static_cast<std::size_t>(block)]; }

 private:
  void scatter(const Problem& problem, const ConstVectorRef& unknowns, VectorRef rows) const;

  NewtonWorkspace modes_;
  Eigen::MatrixXd A_, GZ_, kernel_;
  Eigen::PartialPivLU<Eigen::MatrixXd> regular_;
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> redundant_;
  Eigen::LLT<Eigen::MatrixXd> damped_;
  std::vector<double> switching_;
  Eigen::VectorXd work_;
  /// Regular; singular and symmetric, as without sliding; singular.
  enum class Path { regular, damped, redundant } path_ = Path::regular;
  int unknowns_ = 0, rank_ = 0;
  double conditioning_ = 1.0;
};

}  // namespace taut
