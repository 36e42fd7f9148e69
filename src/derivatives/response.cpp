#include "taut/derivatives/response.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <limits>

namespace taut {

namespace {

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Linearization = NewtonWorkspace::Linearization;

Vector2d side(const Vector2d& d) { return {-d.y(), d.x()}; }

// The c-th column of Z in the rows of its block.
Eigen::Vector3d sliding_unknown(const Block& block, const Linearization& lin, int c) {
  if (c == 0) return {block.mu * lin.d.x(), block.mu * lin.d.y(), 1.0};
  const Vector2d s = side(lin.d);
  return {s.x(), s.y(), 0.0};
}

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

// W rows
void ImpulseResponse::reduce(const Problem& problem, const Eigen::Ref<const MatrixXd>& rows,
                             Eigen::Ref<MatrixXd> unknowns) const {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const int start = problem.blocks[i].start;
    if (lin.mode == Mode::closed) unknowns.middleRows(lin.first, lin.count) = rows.middleRows(start, lin.count);
    if (lin.mode == Mode::sliding) {
      const Vector2d s = lin.turn * side(lin.d);
      unknowns.row(lin.first) = rows.row(start + 2);
      unknowns.row(lin.first + 1) = s.x() * rows.row(start) + s.y() * rows.row(start + 1);
    }
  }
}

// Z unknowns; what is open stays as it is.
void ImpulseResponse::expand(const Problem& problem, const Eigen::Ref<const MatrixXd>& unknowns,
                             Eigen::Ref<MatrixXd> rows) const {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const int start = problem.blocks[i].start;
    if (lin.mode == Mode::closed) rows.middleRows(start, lin.count) = unknowns.middleRows(lin.first, lin.count);
    if (lin.mode == Mode::sliding) {
      rows.middleRows<3>(start) = sliding_unknown(problem.blocks[i], lin, 0) * unknowns.row(lin.first) +
                                  sliding_unknown(problem.blocks[i], lin, 1) * unknowns.row(lin.first + 1);
    }
  }
}

// Wᵀ unknowns
void ImpulseResponse::scatter(const Problem& problem, const ConstVectorRef& unknowns, VectorRef rows) const {
  rows.setZero();
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const int start = problem.blocks[i].start;
    if (lin.mode == Mode::closed) rows.segment(start, lin.count) = unknowns.segment(lin.first, lin.count);
    if (lin.mode == Mode::sliding) {
      rows[start + 2] = unknowns[lin.first];
      rows.segment<2>(start) = lin.turn * unknowns[lin.first + 1] * side(lin.d);
    }
  }
}

void ImpulseResponse::gather(const Problem& problem, const Eigen::Ref<const MatrixXd>& rows,
                             Eigen::Ref<MatrixXd> unknowns) const {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const int start = problem.blocks[i].start;
    if (lin.mode == Mode::closed) unknowns.middleRows(lin.first, lin.count) = rows.middleRows(start, lin.count);
    if (lin.mode == Mode::sliding) {
      for (int c = 0; c < 2; ++c) {
        unknowns.row(lin.first + c) =
            sliding_unknown(problem.blocks[i], lin, c).transpose() * rows.middleRows<3>(start);
      }
    }
  }
}

void ImpulseResponse::solve(MatrixXd& x) const {
  switch (path_) {
    case Path::regular:
      x = regular_.solve(x);
      break;
    case Path::redundant:
      x = redundant_.solve(x);
      break;
    case Path::damped: {
      // Twice: what the damping takes from directions that A sees is its share of their eigenvalue, squared then.
      const MatrixXd first = damped_.solve(x);
      x -= A_ * first;
      x = first + damped_.solve(x);
      break;
    }
  }
}

void ImpulseResponse::solve_transpose(MatrixXd& x) const {
  if (path_ == Path::regular) {
    x = regular_.transpose().solve(x);
  } else if (path_ == Path::redundant) {
    x = redundant_.transpose().solve(x);
  } else {
    solve(x);  // symmetric
  }
}

void ImpulseResponse::apply(const Problem& problem, VectorRef x) {
  MatrixXd z(unknowns_, 1);
  reduce(problem, x, z);
  if (unknowns_ > 0) solve(z);
  x.setZero();
  expand(problem, z, x);
}

void ImpulseResponse::apply_transpose(const Problem& problem, VectorRef x) {
  MatrixXd z(unknowns_, 1);
  gather(problem, x, z);
  if (unknowns_ > 0) solve_transpose(z);
  scatter(problem, z.col(0), x);
}

void ImpulseResponse::update(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity) {
  const int n = problem.rows();
  modes_.reserve(n);
  identify_modes(problem, lambda, velocity, modes_);
  unknowns_ = rank_ = modes_.unknowns;
  conditioning_ = 1.0;
  switching_.resize(problem.blocks.size());
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const double* x = lambda.data() + block.start;
    switching_[static_cast<std::size_t>(i)] = distance(block, lin, x, velocity.data() + block.start);
    // The impulse itself, where there is one, knows the direction better than the guess of a mode.
    if (const double length = lin.mode == Mode::sliding ? std::hypot(x[0], x[1]) : 0.0; length > 0.0) {
      lin.d = Vector2d(x[0], x[1]) / length;
    }
  }
  const int m = unknowns_;
  kernel_.resize(n, 0);
  path_ = Path::regular;
  if (m == 0) return;

  // (G + R) Z, then W of it.
  GZ_.setZero(n, m);
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    const Block& block = problem.blocks[i];
    for (int c = 0; c < lin.count; ++c) {
      double* column = GZ_.col(lin.first + c).data();
      if (lin.mode == Mode::sliding) {
        const Eigen::Vector3d z = sliding_unknown(block, lin, c);
        multiply_add_block(problem, i, z.data(), column);
      } else {
        Eigen::Matrix<double, 6, 1> unit = Eigen::Matrix<double, 6, 1>::Unit(c);
        multiply_add_block(problem, i, unit.data(), column);
      }
    }
  }
  A_.resize(m, m);
  reduce(problem, GZ_, A_);
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = modes_.blocks[static_cast<std::size_t>(i)];
    if (lin.mode == Mode::sliding) A_(lin.first + 1, lin.first + 1) += (1.0 - lin.turn) * lin.stiffness;
  }
  // Regular most of the time. Where constraints repeat each other A is singular to rounding; a chain of great mass
  // ratio is not, and must not be taken for it.
  constexpr double kSingular = 1e-11;
  regular_.compute(A_);
  const auto pivots = regular_.matrixLU().diagonal().cwiseAbs();
  // Eigen's estimate of a condition number does not survive a pivot that is exactly zero.
  conditioning_ = pivots.minCoeff() > kSingular * pivots.maxCoeff() ? regular_.rcond() : 0.0;
  if (conditioning_ > kSingular) return;
  bool slides = false;
  for (const Linearization& lin : modes_.blocks) slides = slides || lin.mode == Mode::sliding;
  if (!slides) {
    // A = W G Wᵀ then, and what it does not see moves nothing.
    path_ = Path::damped;
    const double damping = 1e-10 * A_.diagonal().maxCoeff();
    damped_.compute(A_ + damping * MatrixXd::Identity(m, m));
    const auto left = damped_.matrixLLT().diagonal();
    rank_ = static_cast<int>((left.array().square() > 10.0 * damping).count());
    conditioning_ = left.cwiseAbs2().minCoeff() / left.cwiseAbs2().maxCoeff();
    if (damped_.info() == Eigen::Success) return;
  }
  path_ = Path::redundant;
  redundant_.setThreshold(1e-11);
  redundant_.compute(A_);
  rank_ = static_cast<int>(redundant_.rank());
  const auto left = redundant_.matrixQTZ().diagonal().cwiseAbs();
  conditioning_ = rank_ > 0 ? left[rank_ - 1] / left[0] : 1.0;
  // What A does not see: I − A⁺ A.
  const MatrixXd unseen = MatrixXd::Identity(m, m) - redundant_.solve(A_);
  kernel_.setZero(n, m);
  expand(problem, unseen, kernel_);
}

}  // namespace taut
