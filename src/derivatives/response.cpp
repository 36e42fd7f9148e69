#include "taut/derivatives/response.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "taut/math/interruption.hpp"
#include "taut/problem/block_at.hpp"

namespace taut {

namespace {

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Linearization = NewtonWorkspace::Linearization;

// Pivots of rows that repeat others come out at 1e-16 to 1e-14 of their diagonal; those of the worst chains we know at
// 1e-6. In between are rows that repeat others but for a little, as feet that stand at almost the same height do: an
// angle of 3e-5, squared. To hold what only that angle sees takes impulses that no cone has.
constexpr double kRepeated = 1e-9;

double distance(const Block& block, const Linearization& lin, const double* lambda, const double* c) {
  switch (block.kind) {
    case SetKind::positive:
      return lin.mode == Mode::open ? std::abs(c[0]) : std::abs(lambda[0]) * lin.stiffness;
    case SetKind::interval:
      return lin.mode == Mode::open ? std::abs(c[0]) : std::max(0.0, block.bound - std::abs(lambda[0])) * lin.stiffness;
    case SetKind::cone: {
      if (lin.mode == Mode::open) return std::abs(c[2]);
      const double tangential = std::hypot(lambda[0], lambda[1]), left = block.mu * lambda[2] - tangential;
      const double lift = std::max(0.0, lambda[2]) * lin.stiffness;
      if (block.mu == 0.0) return lift;  // nothing to stick with
      return std::min(lift, lin.mode == Mode::sliding ? std::hypot(c[0], c[1]) : std::max(0.0, left) * lin.stiffness);
    }
    default:
      return std::numeric_limits<double>::infinity();
  }
}

}  // namespace

Vector3d ImpulseResponse::Slide::column(int k) const {
  return k == 0 ? Vector3d(mu * d.x(), mu * d.y(), 1.0) : Vector3d(-d.y(), d.x(), 0.0);
}

Vector3d ImpulseResponse::Slide::condition(int k) const {
  return k == 0 ? Vector3d(0.0, 0.0, 1.0) : Vector3d(-turn * d.y(), turn * d.x(), 0.0);
}

void ImpulseResponse::solve_second(VectorRef x) const {
  if (is_singular_) {
    x = singular_.solve(x).eval();
  } else if (second() > 0) {
    lu_solve({S_.data(), second(), second(), Eigen::OuterStride<>(second())}, pivots_, x.data());
  }
}

void ImpulseResponse::solve_second_transpose(VectorRef x) const {
  if (is_singular_) {
    x = singular_.transpose().solve(x).eval();
  } else if (second() > 0) {
    lu_solve_transposed({S_.data(), second(), second(), Eigen::OuterStride<>(second())}, pivots_, x.data());
  }
}

void ImpulseResponse::apply(VectorRef x) {
  const int s = static_cast<int>(slides_.size());
  for (int k = 0; k < first(); ++k) x_1_[k] = x[closed_[k]];
  for (int i = 0; i < s; ++i) {
    for (int k = 0; k < 2; ++k) x_2_[2 * i + k] = slides_[i].condition(k).dot(x.segment<3>(slides_[i].start));
  }
  for (std::size_t k = 0; k < turned_.size(); ++k) x_2_[2 * s + static_cast<int>(k)] = x[turned_[k]];
  eliminate_forward(L(), first(), x_1_.data());
  if (second() > 0) {
    x_2_.noalias() -= C_.transpose() * x_1_;
    solve_second(x_2_);
    x_1_.noalias() -= B_ * x_2_;
  }
  eliminate_backward(L(), first(), x_1_.data());
  x.setZero();
  for (int k = 0; k < first(); ++k) x[closed_[k]] = x_1_[k];
  for (int i = 0; i < s; ++i) {
    x.segment<3>(slides_[i].start) = slides_[i].column(0) * x_2_[2 * i] + slides_[i].column(1) * x_2_[2 * i + 1];
  }
  for (std::size_t k = 0; k < turned_.size(); ++k) x[turned_[k]] = x_2_[2 * s + static_cast<int>(k)];
}

void ImpulseResponse::apply_transpose(VectorRef x) {
  const int s = static_cast<int>(slides_.size());
  for (int k = 0; k < first(); ++k) x_1_[k] = x[closed_[k]];
  for (int i = 0; i < s; ++i) {
    for (int k = 0; k < 2; ++k) x_2_[2 * i + k] = slides_[i].column(k).dot(x.segment<3>(slides_[i].start));
  }
  for (std::size_t k = 0; k < turned_.size(); ++k) x_2_[2 * s + static_cast<int>(k)] = x[turned_[k]];
  eliminate_forward(L(), first(), x_1_.data());
  if (second() > 0) {
    x_2_.noalias() -= B_.transpose() * x_1_;
    solve_second_transpose(x_2_);
    x_1_.noalias() -= C_ * x_2_;
  }
  eliminate_backward(L(), first(), x_1_.data());
  x.setZero();
  for (int k = 0; k < first(); ++k) x[closed_[k]] = x_1_[k];
  for (int i = 0; i < s; ++i) {
    x.segment<3>(slides_[i].start) = slides_[i].condition(0) * x_2_[2 * i] + slides_[i].condition(1) * x_2_[2 * i + 1];
  }
  for (std::size_t k = 0; k < turned_.size(); ++k) x[turned_[k]] = x_2_[2 * s + static_cast<int>(k)];
}

void ImpulseResponse::update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity) {
  update(problem, lambda, velocity, nullptr);
}

void ImpulseResponse::update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
                             const Turned& turned) {
  update(problem, lambda, velocity, &turned);
}

void ImpulseResponse::update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
                             const Turned* turned) {
  sort_unknowns(problem, lambda, velocity, turned);
  unknowns_ = first() + second();
  conditioning_ = 1.0;
  kernel_.resize(problem.rows(), 0);
  factor_first(problem);
  x_1_.resize(first());
  x_2_.resize(second());
  factor_second(problem, turned);
}

void ImpulseResponse::sort_unknowns(const Problem& problem, const ConstVectorRef& lambda,
                                    const ConstVectorRef& velocity, const Turned* turned) {
  modes_.reserve(problem.rows());
  identify_modes(problem, lambda, velocity, modes_);
  switching_.resize(problem.blocks.size());
  closed_.clear();
  slides_.clear();
  loops_ = -1;
  turned_.clear();
  if (turned) turned_.assign(turned->rows.begin(), turned->rows.end());
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const double* x = lambda.data() + block.start;
    switching_[static_cast<std::size_t>(i)] = distance(block, lin, x, velocity.data() + block.start);
    if (lin.mode == Mode::closed) {
      for (int row = block.start; row < block.start + lin.count; ++row) {
        if (std::find(turned_.begin(), turned_.end(), row) == turned_.end()) closed_.push_back(row);
      }
      if (lin.bilateral && loops_ < 0) loops_ = static_cast<int>(closed_.size()) - lin.count;
    } else if (lin.mode == Mode::sliding) {
      // The impulse itself, where there is one, knows the direction better than the guess of a mode.
      const double length = std::hypot(x[0], x[1]);
      slides_.push_back({.block = i,
                         .start = block.start,
                         .d = length > 0.0 ? Vector2d(x[0] / length, x[1] / length) : lin.d,
                         .mu = block.mu,
                         .turn = lin.turn});
    }
  }
  // Loops first: of those that repeat each other the step keeps the first ones, and tells the others what they say.
  if (!turned_.empty() || loops_ < 0) loops_ = static_cast<int>(closed_.size());
  std::rotate(closed_.begin(), closed_.begin() + loops_, closed_.end());
  loops_ = static_cast<int>(closed_.size()) - loops_;
}

void ImpulseResponse::factor_first(const Problem& problem) {
  const int c = first();
  L_.resize(c, c);
  if (!problem.G.is_sparse()) {
    const auto G = problem.G.dense();
    for (int j = 0; j < c; ++j) {
      const double* column = G.data() + closed_[j] * G.outerStride();
      for (int i = j; i < c; ++i) L_(i, j) = column[closed_[i]];
      L_(j, j) += problem.R[closed_[j]];
    }
  } else {
    work_.resize(problem.rows());
    for (int j = 0; j < c; ++j) {
      const int block = block_at(problem.blocks, closed_[j]);
      const Eigen::Matrix<double, 6, 1> unit =
          Eigen::Matrix<double, 6, 1>::Unit(closed_[j] - problem.blocks[block].start);
      work_.setZero();
      multiply_add_block(problem, block, unit.data(), work_.data());
      for (int i = j; i < c; ++i) L_(i, j) = work_[closed_[i]];
    }
  }
  order_.resize(static_cast<std::size_t>(c));
  diagonal_.resize(static_cast<std::size_t>(c));
  rank_ = pivoted_cholesky({L_.data(), c, c, Eigen::OuterStride<>(c)}, order_, diagonal_, kRepeated, loops_);
  kept_.resize(static_cast<std::size_t>(rank_));
  for (int k = 0; k < rank_; ++k) {
    kept_[k] = closed_[order_[k]];
    conditioning_ = std::min(conditioning_, L_(k, k) * L_(k, k) / diagonal_[k]);
  }
  closed_.swap(kept_);
}

void ImpulseResponse::factor_second(const Problem& problem, const Turned* turned) {
  const int c = first(), n = problem.rows(), slides = static_cast<int>(slides_.size()), m = second();
  is_singular_ = false;
  if (m == 0) return;
  columns_.setZero(n, m);
  B_.resize(c, m);
  C_.resize(c, m);
  S_.resize(m, m);
  work_.resize(n);
  for (int i = 0; i < slides; ++i) {
    for (int k = 0; k < 2; ++k) {
      const Vector3d z = slides_[i].column(k), w = slides_[i].condition(k);
      multiply_add_block(problem, slides_[i].block, z.data(), columns_.col(2 * i + k).data());
      work_.setZero();
      multiply_add_block(problem, slides_[i].block, w.data(), work_.data());
      for (int j = 0; j < c; ++j) C_(j, 2 * i + k) = work_[closed_[j]];
    }
  }
  for (int k = 2 * slides; k < m; ++k) {
    const int row = turned_[k - 2 * slides], block = block_at(problem.blocks, row);
    Eigen::Matrix<double, 6, 1> unit = Eigen::Matrix<double, 6, 1>::Unit(row - problem.blocks[block].start);
    multiply_add_block(problem, block, unit.data(), columns_.col(k).data());
    for (int j = 0; j < c; ++j) C_(j, k) = turned->G(k - 2 * slides, closed_[j]);
  }
  for (int k = 0; k < m; ++k) {
    may_interrupt(n);
    for (int j = 0; j < c; ++j) B_(j, k) = columns_(closed_[j], k);
    for (int i = 0; i < slides; ++i) {
      for (int l = 0; l < 2; ++l) {
        S_(2 * i + l, k) = slides_[i].condition(l).dot(columns_.col(k).segment<3>(slides_[i].start));
      }
    }
    for (int i = 2 * slides; i < m; ++i) {
      const auto seen = turned->G.row(i - 2 * slides);
      S_(i, k) = k < 2 * slides ? seen.segment<3>(slides_[k / 2].start).dot(slides_[k / 2].column(k % 2))
                                : seen[turned_[k - 2 * slides]];
    }
  }
  for (int i = 0; i < slides; ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(slides_[i].block)];
    S_(2 * i + 1, 2 * i + 1) += (1.0 - lin.turn) * lin.stiffness;
  }
  const double scale = S_.diagonal().cwiseAbs().maxCoeff();
  for (int k = 0; k < m; ++k) {
    eliminate_forward(L(), c, B_.col(k).data());
    eliminate_forward(L(), c, C_.col(k).data());
  }
  if (c > 0) S_.noalias() -= C_.transpose() * B_;
  pivots_.resize(static_cast<std::size_t>(m));
  columns_ = S_;  // factored in place
  const bool factored = lu({S_.data(), m, m, Eigen::OuterStride<>(m)}, pivots_);
  const double least = factored ? S_.diagonal().cwiseAbs().minCoeff() / scale : 0.0;
  // Rounding may leave a pivot of some size where a few rows repeat each other at once: below this, look closer.
  constexpr double kSuspicious = 1e-6;
  if (least > kSuspicious) {
    rank_ += m;
    conditioning_ = std::min(conditioning_, least);
    return;
  }
  is_singular_ = true;
  const double most = columns_.colPivHouseholderQr().maxPivot() / scale;
  if (most < kRepeated) columns_.setZero();  // all of it is rounding
  singular_.setThreshold(std::min(1.0, kRepeated / most));
  singular_.compute(columns_);
  const int rank = static_cast<int>(singular_.rank());
  rank_ += rank;
  if (rank > 0) {
    conditioning_ = std::min(conditioning_, std::abs(singular_.matrixQTZ()(rank - 1, rank - 1)) / scale);
  }
  if (rank == m) return;
  // What S does not see, I − S⁺ S, and what the first group does about it.
  const MatrixXd unseen = MatrixXd::Identity(m, m) - singular_.solve(columns_);
  kernel_.setZero(n, m);
  for (int k = 0; k < m; ++k) {
    x_1_.noalias() = -(B_ * unseen.col(k));
    eliminate_backward(L(), c, x_1_.data());
    for (int j = 0; j < c; ++j) kernel_(closed_[j], k) = x_1_[j];
    for (int i = 0; i < slides; ++i) {
      kernel_.col(k).segment<3>(slides_[i].start) =
          slides_[i].column(0) * unseen(2 * i, k) + slides_[i].column(1) * unseen(2 * i + 1, k);
    }
    for (int i = 2 * slides; i < m; ++i) kernel_(turned_[i - 2 * slides], k) = unseen(i, k);
  }
}

}  // namespace taut
