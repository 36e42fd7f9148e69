#include "taut/solvers/cluster.hpp"

#include <algorithm>
#include <cmath>

#include "taut/problem/sets.hpp"

namespace taut {
namespace {

// The natural map of one block, as the judge has it.
double natural_map(const Problem& problem, int i, const double* lambda, const double* velocity) {
  const Block& block = problem.blocks[i];
  const double stiffness = mean_diagonal(problem, i), *x = lambda + block.start, *c = velocity + block.start;
  if (block.kind == SetKind::cone) {
    const Eigen::Map<const Eigen::Vector3d> x_i(x), c_i(c);
    const Eigen::Vector3d s = c_i + de_saxce(c_i, block.mu);
    return stiffness * (x_i - project_onto_cone(x_i - s / stiffness, block.mu)).lpNorm<Eigen::Infinity>();
  }
  double worst = 0.0;
  for (int r = 0; r < block.size; ++r) {
    if (block.kind == SetKind::free) {
      worst = std::max(worst, std::abs(c[r]));
    } else {
      double y[3] = {x[r] - c[r] / stiffness};  // room for the cone it is not
      project(block, y);
      worst = std::max(worst, stiffness * std::abs(x[r] - y[0]));
    }
  }
  return worst;
}

}  // namespace

bool Cluster::gather(const Problem& problem, const SparseSystem& system, const ConstVectorRef& lambda,
                     const ConstVectorRef& velocity, int most_rows) {
  seed_ = 0;
  residual_ = -1.0;
  for (int i = 0; i < problem.size(); ++i) {
    const double residual = natural_map(problem, i, lambda.data(), velocity.data());
    if (residual > residual_) {
      residual_ = residual;
      seed_ = i;
    }
  }
  members_.clear();
  blocks_.clear();
  place_.assign(static_cast<std::size_t>(problem.size()), -1);
  int rows = 0;
  system.for_each_touched(problem, seed_, [&](int i, const double*) {
    place_[static_cast<std::size_t>(i)] = static_cast<int>(members_.size());
    members_.push_back(i);
    blocks_.push_back(problem.blocks[i]);
    blocks_.back().start = rows;
    rows += problem.blocks[i].size;
  });
  if (rows > most_rows) return false;

  const auto n = static_cast<std::size_t>(rows);
  G_.assign(n * n, 0.0);
  for (auto* buffer : {&g_, &R_, &lambda_, &velocity_}) buffer->resize(n);
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const int j = members_[m];
    const Block &block = problem.blocks[j], &local = blocks_[m];
    const std::ptrdiff_t stride = problem.panel(j).stride;
    for (int r = 0; r < block.size; ++r) {
      R_[local.start + r] = problem.R[block.start + r];
      lambda_[local.start + r] = lambda[block.start + r];
      g_[local.start + r] = velocity[block.start + r];
    }
    system.for_each_touched(problem, j, [&](int i, const double* tile) {
      const int place = place_[static_cast<std::size_t>(i)];
      if (place < 0) return;
      const Block& other = blocks_[static_cast<std::size_t>(place)];
      for (int c = 0; c < block.size; ++c) {
        double* column = G_.data() + static_cast<std::size_t>(local.start + c) * n + other.start;
        for (int r = 0; r < other.size; ++r) column[r] = tile[c * stride + r];
      }
    });
  }
  // c = (G + R) λ + g of the whole with the others frozen: g of the cluster is what its own impulses do not make.
  const Eigen::Map<const Eigen::MatrixXd> G(G_.data(), rows, rows);
  for (int r = 0; r < rows; ++r) {
    double own = R_[r] * lambda_[r];
    for (int k = 0; k < rows; ++k) own += G(r, k) * lambda_[k];
    g_[r] -= own;
  }
  return true;
}

void Cluster::scatter(const Problem& problem, VectorRef lambda, VectorRef velocity) const {
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const int i = members_[m];
    const Block& block = problem.blocks[i];
    // The change goes where the impulse was, then the impulse over it.
    double* x = lambda.data() + block.start;
    for (int r = 0; r < block.size; ++r) x[r] = lambda_[blocks_[m].start + r] - x[r];
    multiply_add_block(problem, i, x, velocity.data());
    for (int r = 0; r < block.size; ++r) x[r] = lambda_[blocks_[m].start + r];
  }
}

}  // namespace taut
