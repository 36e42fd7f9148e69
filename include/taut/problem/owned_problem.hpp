#pragma once

#include <vector>

#include "taut/problem/problem.hpp"

namespace taut {

/// A problem that owns its data: what files, Python and tests hold.
struct OwnedProblem {
  Eigen::MatrixXd G;  ///< empty if the matrix is `sparse`
  Eigen::VectorXd g, R;
  std::vector<Block> blocks;
  BlockSparse sparse = {};

  bool is_sparse() const { return sparse.size() > 0; }
  Problem view() const {
    return {.G = is_sparse() ? BlockMatrix(sparse) : BlockMatrix(G), .g = g, .R = R, .blocks = blocks};
  }

  /// A copy of what a view shows.
  static OwnedProblem copy(const Problem& problem) {
    OwnedProblem owned{{}, problem.g, problem.R, {problem.blocks.begin(), problem.blocks.end()}, {}};
    if (problem.G.is_sparse()) {
      owned.sparse = problem.G.sparse();
    } else {
      owned.G = problem.G.dense();
    }
    return owned;
  }

  /// Contacts only, one μ each, rigid.
  static OwnedProblem contacts(Eigen::MatrixXd G, Eigen::VectorXd g, const Eigen::VectorXd& mu) {
    OwnedProblem problem{std::move(G), std::move(g), {}, {}, {}};
    problem.R.setZero(problem.g.size());
    for (Eigen::Index i = 0; i < mu.size(); ++i) {
      problem.blocks.push_back({.kind = SetKind::cone, .start = static_cast<int>(3 * i), .size = 3, .mu = mu[i]});
    }
    return problem;
  }
};

}  // namespace taut
