#pragma once

#include <vector>

#include "taut/problem/owned_problem.hpp"
#include "taut/solvers/sparse_system.hpp"

namespace taut {

/// The worst block of a sparse problem and those it touches, as a small dense problem with the others frozen.
///
/// What is left of a pile's residual often sits in a few corners of a sliding box, which methods that see the whole
/// pile improve slowly: solved alone it is a robot's problem. Buffers grow and stay.
class Cluster {
 public:
  /// Gathers the cluster around the block with the largest natural map at (λ, c). False if it has more than `most_rows`
  /// rows. `system` must have ordered the problem.
  bool gather(const Problem& problem, const SparseSystem& system, const ConstVectorRef& lambda,
              const ConstVectorRef& velocity, int most_rows);

  Problem view() const {
    const int n = static_cast<int>(g_.size());
    return {.G = Eigen::Map<const Eigen::MatrixXd>(G_.data(), n, n),
            .g = Eigen::Map<const Eigen::VectorXd>(g_.data(), n),
            .R = Eigen::Map<const Eigen::VectorXd>(R_.data(), n),
            .blocks = blocks_};
  }
  Eigen::Map<Eigen::VectorXd> impulse() { return {lambda_.data(), static_cast<Eigen::Index>(lambda_.size())}; }
  Eigen::Map<Eigen::VectorXd> velocity() { return {velocity_.data(), static_cast<Eigen::Index>(velocity_.size())}; }

  /// Puts `impulse()` back into λ and brings c up to date.
  void scatter(const Problem& problem, VectorRef lambda, VectorRef velocity) const;

  int seed() const { return seed_; }             ///< the worst block
  double residual() const { return residual_; }  ///< its natural map, m/s

 private:
  int seed_ = -1;
  double residual_ = 0.0;
  std::vector<int> members_;
  std::vector<int> place_;  ///< of each block of the problem: its index among the members, −1 for the others
  std::vector<Block> blocks_;
  std::vector<double> G_, g_, R_, lambda_, velocity_;
};

}  // namespace taut
