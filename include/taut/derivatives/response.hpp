#pragma once

#include <Eigen/QR>
#include <span>
#include <vector>

#include "taut/math/dense.hpp"
#include "taut/problem/problem.hpp"
#include "taut/solvers/newton.hpp"

namespace taut {

/// How impulses answer: on fixed modes the conditions of a solved problem are equations, and
///
///   dλ = −Z A⁻ W (dc at fixed λ),   A = W (G + R) Z + diagonal        [S, Sec. 3.3, App. D; docs/theory.md, "Modes"].
///
/// Unknowns come in two groups: rows that are closed, where Z = W picks them and A is symmetric, and the rest (the two
/// of a contact that slides; loops seen where the step ends). The first group is factored by Cholesky, A₁₁ = L Lᵀ,
/// with pivots, which leaves out rows that repeat others; their impulses do not change then, and what impulses do to
/// velocities is the same whoever of them carries it. The second is what is left, S = A₂₂ − A₂₁ A₁₁⁻ A₁₂, a few
/// unknowns.
class ImpulseResponse {
 public:
  /// A contact that slides: its unknowns are λ = (μ d, 1) x₀ + (d⊥, 0) x₁, its conditions c_n and turn d⊥ · c_t.
  struct Slide {
    int block, start;
    Eigen::Vector2d d;
    double mu, turn;
    Eigen::Vector3d column(int k) const;     ///< of Z
    Eigen::Vector3d condition(int k) const;  ///< of W
  };

  /// Rows whose condition is not their own velocity but another one: row k looks at `G`.row(k) λ + ….
  struct Turned {
    std::span<const int> rows;
    Eigen::Ref<const Eigen::MatrixXd> G;
  };

  /// From a solution: modes and the factors of A.
  void update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity);
  void update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
              const Turned& turned);

  /// x ← Y x, and x ← Yᵀ x, with Y = Z A⁻ W.
  void apply(VectorRef x);
  void apply_transpose(VectorRef x);

  /// Changes of the impulses that change no condition, as columns, where the second group is singular; else none. If
  /// they move anything, several velocities solve the problem (docs/theory.md, Errata) and a derivative is that of one
  /// of them.
  const Eigen::MatrixXd& kernel() const { return kernel_; }

  Mode mode(int block) const { return modes_.blocks[static_cast<std::size_t>(block)].mode; }
  int unknowns() const { return unknowns_; }
  int rank() const { return rank_; }
  /// What is left of the constraint that the others repeat most nearly, as a share of it; those that count as repeated
  /// are not asked.
  double conditioning() const { return conditioning_; }

  /// About how much the free velocity of a block (m/s or rad/s) must change for it to change its mode; infinite for
  /// bilateral ones.
  double distance_to_switch(int block) const { return switching_[static_cast<std::size_t>(block)]; }

  // The pieces, for those who need more than one answer.
  std::span<const int> closed() const { return closed_; }  ///< rows of the first group that repeat no others
  std::span<const Slide> slides() const { return slides_; }
  std::span<const int> turned() const { return turned_; }
  int first() const { return static_cast<int>(closed_.size()); }
  int second() const { return static_cast<int>(2 * slides_.size() + turned_.size()); }
  MatrixView L() const { return {L_.data(), first(), first(), Eigen::OuterStride<>(L_.rows())}; }
  /// x ← S⁻¹ x and x ← S⁻ᵀ x, least squares where S is singular.
  void solve_second(VectorRef x) const;
  void solve_second_transpose(VectorRef x) const;

 private:
  void update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
              const Turned* turned);
  void sort_unknowns(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
                     const Turned* turned);
  void factor_first(const Problem& problem);
  void factor_second(const Problem& problem, const Turned* turned);

  NewtonWorkspace modes_;
  std::vector<int> closed_, turned_;
  std::vector<Slide> slides_;
  std::vector<double> switching_, diagonal_;
  std::vector<int> pivots_, order_, kept_;
  mutable Eigen::MatrixXd L_, S_;
  Eigen::MatrixXd B_, C_, columns_, kernel_;  ///< L⁻¹ A₁₂, L⁻¹ A₂₁ᵀ, (G + R) Z₂
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> singular_;
  bool is_singular_ = false;
  Eigen::VectorXd x_1_, x_2_, work_;
  int unknowns_ = 0, rank_ = 0;
  int loops_ = 0;  ///< rows of the first group that are loops, which come first
  double conditioning_ = 1.0;
};

}  // namespace taut
