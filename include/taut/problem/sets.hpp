#pragma once

#include "taut/math/cones.hpp"
#include "taut/problem/problem.hpp"

namespace taut {

/// Replaces the block's own impulses `x` (size `block.size`) by the nearest ones its set allows.
inline void project(const Block& block, double* x) {
  switch (block.kind) {
    case SetKind::free:
      return;
    case SetKind::positive:
      for (int r = 0; r < block.size; ++r) x[r] = std::max(0.0, x[r]);
      return;
    case SetKind::interval:
      for (int r = 0; r < block.size; ++r) x[r] = std::clamp(x[r], -block.bound, block.bound);
      return;
    case SetKind::cone:
      Eigen::Map<Eigen::Vector3d> lambda(x);
      lambda = project_onto_cone(lambda, block.mu);
      return;
  }
}

/// Every block of λ onto its set.
inline void project(const Problem& problem, VectorRef lambda) {
  for (const Block& block : problem.blocks) project(block, lambda.data() + block.start);
}

/// 1/ρ of a block: the mean diagonal entry of (G + R)_ii, which turns an impulse into a velocity. One where the block
/// moves nothing, so that dividing by it stays harmless.
inline double mean_diagonal(const Problem& problem, int i) {
  const Block& block = problem.blocks[i];
  const Tile G = problem.diagonal(i);
  double trace = 0.0;
  for (int r = 0; r < block.size; ++r) trace += G(r, r) + problem.R[block.start + r];
  return trace > 0.0 ? trace / block.size : 1.0;
}

}  // namespace taut
