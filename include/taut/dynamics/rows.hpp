#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "taut/problem/problem.hpp"

namespace taut {

/// The rows of all constraints of one step: J by arms, bias, compliance, sets. Grows and never shrinks, so a warm step
/// does not allocate.
///
/// A constraint holds one or two bodies. Each body is an *arm*: its columns of J are those of the joints between it and
/// the root, in that order, and all others are zero. Two arms can only feel each other through the joints they share,
/// which are the first ones of both: that is what keeps the Delassus matrix cheap, and sparse for separate bodies.
class Rows {
 public:
  struct Arm {
    int joint;   ///< the body
    int block;   ///< the constraint it belongs to
    int depth;   ///< columns: degrees of freedom between the root and the body
    int offset;  ///< of its first coefficient
  };
  using Map = Eigen::Map<Eigen::MatrixXd>;
  using ConstMap = Eigen::Map<const Eigen::MatrixXd>;

  void clear();
  void reserve(int rows, int coefficients);

  /// Appends a constraint of `size` rows; its `start` is set here. Bias and compliance are zero.
  void add_block(Block block);
  /// Appends an arm of the last constraint and returns its part of J, size × depth, to be filled.
  Map add_arm(int joint, int depth);

  /// Bias and compliance of the rows of the last constraint.
  Eigen::Ref<Eigen::VectorXd> last_bias();
  Eigen::Ref<Eigen::VectorXd> last_compliance();

  int rows() const { return rows_; }
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const Arm> arms() const { return arms_; }
  /// First arm of constraint `block`; the one past its last is `first_arm(block + 1)`.
  int first_arm(int block) const { return first_arm_[block]; }

  ConstMap jacobian(const Arm& arm) const {
    return {jacobian_.data() + arm.offset, blocks_[arm.block].size, arm.depth};
  }
  /// Scratch of the same shape: `Dynamics` puts D^{-1/2} U⁻¹ Jᵀ here, transposed.
  Map half(const Arm& arm) { return {half_.data() + arm.offset, blocks_[arm.block].size, arm.depth}; }
  const double* half(int arm) const { return half_.data() + arms_[arm].offset; }

  Eigen::Map<Eigen::VectorXd> bias() { return {bias_.data(), rows_}; }
  Eigen::Map<const Eigen::VectorXd> bias() const { return {bias_.data(), rows_}; }
  Eigen::Map<Eigen::VectorXd> compliance() { return {compliance_.data(), rows_}; }
  Eigen::Map<const Eigen::VectorXd> compliance() const { return {compliance_.data(), rows_}; }

 private:
  int rows_ = 0;
  std::vector<Block> blocks_;
  std::vector<int> first_arm_{0};
  std::vector<Arm> arms_;
  std::vector<double> jacobian_, half_, bias_, compliance_;
};

}  // namespace taut
