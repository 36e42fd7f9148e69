#include "taut/solvers/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/factored.hpp"

namespace taut {
namespace {

// Pivots of redundant rows come out at 1e-16 to 1e-14 of the diagonal, those of the worst chains we know (mass ratio
// 25 000, 60 bodies) above 1e-9.
constexpr double kDrop = 1e-12;
// Rows that no impulse moves: smaller than any other's by this, they are rounding from the outset.
constexpr double kNothing = 1e-20;

// Each other row costs a sparse solve, and S is dense: beyond this many Newton's method on the whole is cheaper.
constexpr std::size_t kMostOthers = 240;

bool bilateral(const Block& block) { return block.kind == SetKind::free; }

// out += what the impulses x of bilateral blocks do to the others, or those of the others to them.
void add_coupling(const Problem& problem, const SparseSystem& system, bool from_joints, const double* x, double* out) {
  for (int j = 0; j < problem.size(); ++j) {
    const Block& block = problem.blocks[j];
    if (bilateral(block) != from_joints) continue;
    const double* x_j = x + block.start;
    if (std::all_of(x_j, x_j + block.size, [](double value) { return value == 0.0; })) continue;
    const std::ptrdiff_t stride = problem.panel(j).stride;
    system.for_each_touched(problem, j, [&](int i, const double* tile) {
      if (bilateral(problem.blocks[i]) == from_joints) return;
      multiply_add(problem.blocks[i].size, block.size, tile, stride, x_j, out + problem.blocks[i].start);
    });
  }
}

}  // namespace

void Elimination::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (work_.size() >= n) return;
  const auto side = static_cast<std::size_t>(std::min(rows, kFactoredRows));
  matrix_.resize(side * side);
  S_.resize(side * side);
  for (auto* list : {&joints_, &rest_, &others_}) list->reserve(n);
  blocks_.reserve(n);
  place_.resize(n);
  for (auto* buffer : {&least_, &s_, &R_, &lambda_, &velocity_, &forward_, &change_, &work_}) buffer->resize(n);
}

bool Elimination::factor(const Problem& problem) {
  joints_.clear();
  rest_.clear();
  double most = 0.0;
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    std::vector<int>& rows = bilateral(block) ? joints_ : rest_;
    const Tile G = problem.diagonal(i);
    double largest = 0.0;
    for (int r = 0; r < block.size; ++r) largest = std::max(largest, G(r, r) + problem.R[block.start + r]);
    most = std::max(most, largest);
    for (int r = 0; r < block.size; ++r) {
      const int row = block.start + r;
      place_[row] = static_cast<int>(rows.size());
      least_[row] = kDrop * largest;
      rows.push_back(row);
    }
  }
  if (joints_.empty()) return false;
  for (int row = 0; row < problem.rows(); ++row) least_[row] = std::max(least_[row], kNothing * most);
  sparse_ = problem.G.is_sparse();
  if (sparse_) return factor_sparse(problem);
  factor_dense(problem);
  return true;
}

bool Elimination::reduce(const Problem& problem) {
  if (sparse_ && rest_.size() > kMostOthers) return false;
  if (sparse_) reduce_sparse(problem);
  take_reduced(problem, sparse_ ? 0 : static_cast<int>(joints_.size()));
  return true;
}

void Elimination::reconcile(VectorRef x) {
  const int joints = static_cast<int>(joints_.size());
  for (int k = 0; k < joints; ++k) work_[k] = x[joints_[k]];
  if (sparse_) {
    system_.lu().reconcile(work_.data());
  } else {
    taut::reconcile(L(), joints, work_.data(), forward_.data());
  }
  for (int k = 0; k < joints; ++k) x[joints_[k]] = work_[k];
}

void Elimination::factor_dense(const Problem& problem) {
  const int joints = static_cast<int>(joints_.size());
  height_ = problem.rows();
  const auto needed = static_cast<std::size_t>(height_) * height_;
  if (matrix_.size() < needed) matrix_.resize(needed);
  const auto G = problem.G.dense();
  const auto row_of = [&](int k) { return k < joints ? joints_[k] : rest_[k - joints]; };
  for (int k = 0; k < height_; ++k) {  // the lower triangle is all that is read
    double* column = matrix_.data() + static_cast<std::ptrdiff_t>(k) * height_;
    const double* G_k = G.data() + row_of(k) * G.outerStride();
    for (int r = k; r < joints; ++r) column[r] = G_k[joints_[r]];
    for (int r = std::max(k, joints); r < height_; ++r) column[r] = G_k[rest_[r - joints]];
    if (k < joints) {
      column[k] += problem.R[joints_[k]];
      work_[k] = least_[joints_[k]];
    }
  }
  eliminate(L(), joints, {work_.data(), joints_.size()});
}

bool Elimination::factor_sparse(const Problem& problem) {
  if (!system_.order(problem, SparseSystem::Of::bilateral)) return false;
  const auto joint_rows = [&](int i) { return bilateral(problem.blocks[i]) ? problem.blocks[i].size : 0; };
  system_.start([&](int i) { return place_[problem.blocks[i].start]; }, joint_rows);
  for (int j = 0; j < problem.size(); ++j) {
    const Block& block = problem.blocks[j];
    if (!bilateral(block)) continue;
    const std::ptrdiff_t stride = problem.panel(j).stride;
    int size = 0;
    system_.for_each_touched(problem, j, [&](int i, const double*) { size += joint_rows(i); });
    for (int k = 0; k < block.size; ++k) {
      SparseLu::Room room = system_.lu().add_column(size);
      system_.for_each_touched(problem, j, [&](int i, const double* tile) {
        for (int r = 0; r < joint_rows(i); ++r) {
          *room.rows++ = place_[problem.blocks[i].start] + r;
          *room.values++ = tile[k * stride + r] + (i == j && r == k ? problem.R[block.start + k] : 0.0);
        }
      });
    }
  }
  for (std::size_t k = 0; k < joints_.size(); ++k) work_[k] = least_[joints_[k]];
  system_.lu().factor_semidefinite({work_.data(), joints_.size()});
  return true;
}

void Elimination::reduce_sparse(const Problem& problem) {
  height_ = static_cast<int>(rest_.size());
  const auto needed = static_cast<std::size_t>(height_) * height_;
  if (matrix_.size() < needed) matrix_.resize(needed);
  VectorView unit(change_.data(), problem.rows()), column(forward_.data(), problem.rows());
  unit.setZero();
  for (int k = 0; k < height_; ++k) {
    may_interrupt(problem.rows());
    unit[rest_[k]] = 1.0;
    column.setZero();
    add_coupling(problem, system_, false, unit.data(), column.data());
    solve_joints(column);
    for (const int row : joints_) column[row] = -column[row];
    add_coupling(problem, system_, true, column.data(), column.data());
    for (std::size_t r = 0; r < rest_.size(); ++r) matrix_[k * rest_.size() + r] = column[rest_[r]];
    unit[rest_[k]] = 0.0;
  }
  // G_oo itself.
  for (int j = 0; j < problem.size(); ++j) {
    const Block& block = problem.blocks[j];
    if (bilateral(block)) continue;
    const std::ptrdiff_t stride = problem.panel(j).stride;
    system_.for_each_touched(problem, j, [&](int i, const double* tile) {
      if (bilateral(problem.blocks[i])) return;
      for (int k = 0; k < block.size; ++k) {
        double* out = matrix_.data() + (place_[block.start] + k) * rest_.size() + place_[problem.blocks[i].start];
        for (int r = 0; r < problem.blocks[i].size; ++r) out[r] += tile[k * stride + r];
      }
    });
  }
}

// S from the lower triangle of `matrix_` at `first`. Limits and contacts that the joints do not let move are left out:
// their rows of S are rounding, and an impulse could only grow there.
void Elimination::take_reduced(const Problem& problem, int first) {
  const auto at = [&](int r, int c) -> double& {
    return matrix_[static_cast<std::size_t>(first + std::min(r, c)) * height_ + first + std::max(r, c)];
  };
  const auto moves = [&](int row) { return at(place_[row], place_[row]) + problem.R[row] > least_[row]; };
  others_.clear();
  blocks_.clear();
  for (const Block& block : problem.blocks) {
    if (bilateral(block)) continue;
    bool any = block.kind == SetKind::interval;
    for (int r = 0; r < block.size; ++r) any |= moves(block.start + r);
    if (!any) continue;
    blocks_.push_back(block);
    blocks_.back().start = static_cast<int>(others_.size());
    for (int r = 0; r < block.size; ++r) others_.push_back(block.start + r);
  }
  const std::size_t n = others_.size();
  if (S_.size() < n * n) S_.resize(n * n);
  for (std::size_t c = 0; c < n; ++c) {
    const bool column_moves = moves(others_[c]);
    for (std::size_t r = c; r < n; ++r) {
      const bool both = column_moves && moves(others_[r]);
      S_[c * n + r] = S_[r * n + c] = both ? at(place_[others_[r]], place_[others_[c]]) : 0.0;
    }
    R_[c] = problem.R[others_[c]];
  }
}

void Elimination::solve_joints(VectorRef x) {
  const int joints = static_cast<int>(joints_.size());
  for (int k = 0; k < joints; ++k) work_[k] = x[joints_[k]];
  if (sparse_) {
    system_.lu().solve(work_.data());
  } else {
    cholesky_solve({matrix_.data(), joints, joints, Eigen::OuterStride<>(height_)}, work_.data());
  }
  for (int k = 0; k < joints; ++k) x[joints_[k]] = work_[k];
}

Problem Elimination::reduced() const {
  const auto n = static_cast<Eigen::Index>(others_.size());
  using Eigen::Map;
  return {.G = Map<const Eigen::MatrixXd>(S_.data(), n, n),
          .g = Map<const Eigen::VectorXd>(s_.data(), n),
          .R = Map<const Eigen::VectorXd>(R_.data(), n),
          .blocks = blocks_};
}

void Elimination::restrict_from(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity) {
  const std::size_t joints = joints_.size(), n = others_.size();
  if (sparse_) {
    VectorView answer(change_.data(), problem.rows()), seen(forward_.data(), problem.rows());
    answer.setZero();
    for (const int row : joints_) answer[row] = -velocity[row];
    solve_joints(answer);
    seen = velocity;
    add_coupling(problem, system_, true, answer.data(), seen.data());
    for (std::size_t k = 0; k < n; ++k) s_[k] = seen[others_[k]];
  } else {
    for (std::size_t k = 0; k < joints; ++k) forward_[k] = velocity[joints_[k]];
    for (std::size_t k = 0; k < rest_.size(); ++k) forward_[joints + k] = velocity[rest_[k]];
    eliminate_forward(L(), static_cast<int>(joints), forward_.data());
    for (std::size_t k = 0; k < n; ++k) s_[k] = forward_[joints + place_[others_[k]]];
  }
  for (std::size_t k = 0; k < n; ++k) lambda_[k] = lambda[others_[k]];
  for (std::size_t c = 0; c < n; ++c) {
    s_[c] -= R_[c] * lambda_[c];
    for (std::size_t r = 0; r < n; ++r) s_[r] -= S_[c * n + r] * lambda_[c];
  }
}

void Elimination::recover(const Problem& problem, VectorRef lambda) {
  const std::size_t joints = joints_.size();
  VectorView change(change_.data(), problem.rows());
  change = -lambda;  // of what was left out, which ends at zero
  for (const int row : joints_) change[row] = 0.0;
  for (std::size_t k = 0; k < others_.size(); ++k) change[others_[k]] += lambda_[k];
  if (sparse_) {
    VectorView seen(forward_.data(), problem.rows());
    // c_f as `restrict_from` left it there.
    add_coupling(problem, system_, false, change.data(), seen.data());
    for (const int row : joints_) change[row] = -seen[row];
    solve_joints(change);
  } else {
    for (std::size_t k = 0; k < rest_.size(); ++k) forward_[joints + k] = -change[rest_[k]];
    eliminate_backward(L(), static_cast<int>(joints), forward_.data());
    for (std::size_t k = 0; k < joints; ++k) change[joints_[k]] = -forward_[k];
  }
  lambda += change;
  for (std::size_t k = 0; k < others_.size(); ++k) lambda[others_[k]] = lambda_[k];  // in its set to the last bit
}

double Elimination::joint_residual(const ConstVectorRef& velocity) const {
  double worst = 0.0;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const double pivot = sparse_ ? system_.lu().pivot(static_cast<int>(k)) : matrix_[k * (height_ + 1)];
    if (std::isfinite(pivot)) worst = std::max(worst, std::abs(velocity[joints_[k]]));
  }
  return worst;
}

}  // namespace taut
