#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <string>
#include <vector>

#include "problems.hpp"

// Problems with loop closures: mechanisms in maximal coordinates, where every body is free and every joint a bilateral
// block of up to six rows, and robots in reduced coordinates with a few closures. Rows of J are often redundant: a
// planar four-bar in space has 26 rows of rank 23.

namespace taut::testing {

/// A problem that remembers the velocities it came from: forces of redundant rows are not unique, motion is.
struct LoopProblem {
  std::string name;
  OwnedProblem problem;
  MatrixXd J, M;
  VectorXd v, bias;  ///< g = J v + bias

  VectorXd velocity_after(const VectorXd& lambda) const { return v + M.ldlt().solve(J.transpose() * lambda); }

  LoopProblem sparse() const {
    LoopProblem copy = *this;
    copy.name += ", sparse";
    copy.problem.sparse = BlockSparse::from_dense(problem.G, problem.blocks);
    copy.problem.G.resize(0, 0);
    return copy;
  }
};

/// The problem of rows J on a system of mass M. The bias is the velocity w seen by the rows: consistent, however
/// redundant they are.
inline LoopProblem loop_problem(std::string name, const MatrixXd& J, const MatrixXd& M, const VectorXd& v,
                                const VectorXd& w, std::vector<Block> blocks) {
  LoopProblem p{std::move(name), {}, J, M, v, J * w};
  const MatrixXd half = M.llt().matrixL().solve(J.transpose());
  p.problem.G = half.transpose() * half;
  p.problem.g = J * v + p.bias;
  p.problem.R.setZero(J.rows());
  p.problem.blocks = std::move(blocks);
  return p;
}

/// Bodies with joints and contacts at one instant. Velocities are (linear at the center of mass, angular), in the
/// world's axes.
class Mechanism {
 public:
  static constexpr int kWorld = -1;

  int add_box(const Vector3d& center, const Vector3d& sides, double mass) {
    centers_.push_back(center);
    masses_.push_back(mass);
    const Vector3d squares = sides.cwiseAbs2();
    inertias_.push_back(mass / 12.0 * (Vector3d::Constant(squares.sum()) - squares));
    return static_cast<int>(centers_.size()) - 1;
  }

  void weld(int a, int b, const Vector3d& at) {
    const int start = add_block({.kind = SetKind::free, .size = 6});
    couple(a, b, at, Matrix3d::Identity(), Matrix3d::Zero(), start);
    couple(a, b, at, Matrix3d::Zero(), Matrix3d::Identity(), start + 3);
  }
  void hinge(int a, int b, const Vector3d& at, const Vector3d& axis) {
    const int start = add_block({.kind = SetKind::free, .size = 5});
    couple(a, b, at, Matrix3d::Identity(), Matrix3d::Zero(), start);
    couple(a, b, at, MatrixXd::Zero(2, 3), tangents(axis), start + 3);
  }
  void point(int a, int b, const Vector3d& at) {
    couple(a, b, at, Matrix3d::Identity(), Matrix3d::Zero(), add_block({.kind = SetKind::free, .size = 3}));
  }
  void contact(int a, int b, const Vector3d& at, double mu) {
    const int start = add_block({.kind = SetKind::cone, .size = 3, .mu = mu});
    couple(a, b, at, Matrix3d::Identity(), Matrix3d::Zero(), start);
  }
  /// The turn of b against a about a hinge's axis: a limit, or dry friction.
  void turn(int a, int b, const Vector3d& axis, Block block) {
    block.size = 1;
    const int start = add_block(block);
    couple(a, b, Vector3d::Zero(), MatrixXd::Zero(1, 3), axis.transpose(), start);
  }

  /// Bodies fall for a millisecond and move at random besides.
  LoopProblem problem(const std::string& name, double motion, std::mt19937& rng) const {
    const int dofs = 6 * static_cast<int>(centers_.size());
    MatrixXd M = MatrixXd::Zero(dofs, dofs), J = MatrixXd::Zero(rows_, dofs);
    VectorXd v = motion * random_matrix(dofs, 1, rng);
    for (int k = 0; k < dofs / 6; ++k) {
      M.diagonal().segment<6>(6 * k) << Vector3d::Constant(masses_[k]), inertias_[k];
      v[6 * k + 2] -= 9.81e-3;
    }
    for (const Entry& entry : entries_) J.block(entry.row, 6 * entry.body, entry.J.rows(), 6) += entry.J;
    return loop_problem(name, J, M, v, 1e-4 * random_matrix(dofs, 1, rng), blocks_);
  }

 private:
  struct Entry {
    int row, body;
    MatrixXd J;
  };

  static MatrixXd tangents(const Vector3d& axis) {
    MatrixXd T(2, 3);
    T.row(0) = axis.unitOrthogonal().transpose();
    T.row(1) = axis.normalized().cross(Vector3d(T.row(0).transpose())).transpose();
    return T;
  }
  int add_block(Block block) {
    block.start = rows_;
    blocks_.push_back(block);
    rows_ += block.size;
    return block.start;
  }
  // linear · (velocity of b at the point − that of a) + angular · (turn of b − that of a).
  void couple(int a, int b, const Vector3d& at, const MatrixXd& linear, const MatrixXd& angular, int row) {
    for (const auto& [body, sign] : {std::pair(a, -1.0), std::pair(b, 1.0)}) {
      if (body == kWorld) continue;
      MatrixXd J = linear * point_jacobian(at - centers_[body]);
      J.rightCols<3>() += angular;
      entries_.push_back({row, body, sign * J});
    }
  }

  std::vector<Vector3d> centers_, inertias_;
  std::vector<double> masses_;
  std::vector<Block> blocks_;
  std::vector<Entry> entries_;
  int rows_ = 0;
};

/// Four bars and four parallel hinges. Fixed: the lower bar is welded to the world, 26 rows of rank 23. Floating: it
/// lies on four contacts.
inline LoopProblem four_bar(bool fixed, std::mt19937& rng) {
  Mechanism m;
  const double half = 0.2, height = 0.3;
  const int bottom = m.add_box({0, 0, 0}, {0.4, 0.05, 0.02}, 1.0);
  const int left = m.add_box({-half, 0, height / 2}, {0.02, 0.02, 0.3}, 0.3);
  const int top = m.add_box({0, 0, height}, {0.4, 0.02, 0.02}, 0.5);
  const int right = m.add_box({half, 0, height / 2}, {0.02, 0.02, 0.3}, 0.3);
  const Vector3d y = Vector3d::UnitY();
  if (fixed) m.weld(Mechanism::kWorld, bottom, {0, 0, 0});
  m.hinge(bottom, left, {-half, 0, 0}, y);
  m.hinge(left, top, {-half, 0, height}, y);
  m.hinge(top, right, {half, 0, height}, y);
  m.hinge(right, bottom, {half, 0, 0}, y);
  for (int corner = 0; corner < 4 && !fixed; ++corner) {
    m.contact(Mechanism::kWorld, bottom, {corner & 1 ? half : -half, corner & 2 ? 0.025 : -0.025, -0.01}, 0.6);
  }
  return m.problem(fixed ? "four-bar, fixed" : "four-bar, floating", 0.05, rng);
}

/// An arch of boxes, hinged to one another, both ends welded to the world: three rows too many. The mass grows evenly
/// up to `ratio` from one end to the other; every `touching`-th box rests on a contact (0: none).
inline LoopProblem chain(int boxes, double ratio, int touching, std::mt19937& rng) {
  Mechanism m;
  const auto on_arch = [&](double k) {
    const double angle = M_PI * k / boxes;
    return Vector3d(-0.06 * boxes * std::cos(angle), 0.0, 0.06 * boxes * std::sin(angle));
  };
  for (int k = 0; k < boxes; ++k) {
    m.add_box(on_arch(k + 0.5), {0.2, 0.1, 0.1}, 0.5 * std::pow(ratio, static_cast<double>(k) / (boxes - 1)));
  }
  m.weld(Mechanism::kWorld, 0, on_arch(0));
  for (int k = 0; k + 1 < boxes; ++k) m.hinge(k, k + 1, on_arch(k + 1), Vector3d::UnitY());
  m.weld(boxes - 1, Mechanism::kWorld, on_arch(boxes));
  for (int k = 1; touching > 0 && k + 1 < boxes; k += touching) {
    m.contact(Mechanism::kWorld, k, on_arch(k + 0.5) - Vector3d(0, 0, 0.05), 0.5);
  }
  return m.problem("chain of " + std::to_string(boxes) + ", ratio " + std::to_string(static_cast<int>(ratio)) +
                       (touching > 0 ? ", touching" : ""),
                   0.02, rng);
}

/// A rope of boxes on point joints, its last box `ratio` times as heavy and held up by the rope alone, or by the
/// ground too.
inline LoopProblem pendulum(int boxes, double ratio, bool grounded, std::mt19937& rng) {
  Mechanism m;
  for (int k = 0; k < boxes; ++k) {
    m.add_box({0.1 * k + 0.05, 0, 0}, {0.1, 0.02, 0.02}, k + 1 < boxes ? 0.1 : 0.1 * ratio);
    m.point(k - 1, k, {0.1 * k, 0, 0});
  }
  for (int corner = 0; corner < 4 && grounded; ++corner) {
    m.contact(Mechanism::kWorld, boxes - 1, {0.1 * boxes - (corner & 1 ? 0.1 : 0.0), corner & 2 ? 0.01 : -0.01, -0.01},
              0.7);
  }
  return m.problem(grounded ? "pendulum, grounded" : "pendulum", 0.02, rng);
}

/// A light box on four contacts, a heavy one welded on top of it.
inline LoopProblem boxes_fixed(double ratio, std::mt19937& rng) {
  Mechanism m;
  const int lower = m.add_box({0, 0, 0.1}, {0.2, 0.2, 0.2}, 1.0);
  const int upper = m.add_box({0, 0, 0.3}, {0.2, 0.2, 0.2}, ratio);
  m.weld(lower, upper, {0, 0, 0.2});
  for (int corner = 0; corner < 4; ++corner) {
    m.contact(Mechanism::kWorld, lower, {corner & 1 ? 0.1 : -0.1, corner & 2 ? 0.1 : -0.1, 0}, 0.6);
  }
  return m.problem("boxes, fixed", 0.01, rng);
}

/// A trunk and four legs of three links: 12 hinges, a limit at each knee, dry friction at each hip, and one contact a
/// foot, or two.
inline LoopProblem jointed_quadruped(int contacts_per_foot, std::mt19937& rng) {
  Mechanism m;
  const Vector3d x = Vector3d::UnitX(), y = Vector3d::UnitY();
  const int trunk = m.add_box({0, 0, 0.5}, {0.6, 0.3, 0.1}, 20.0);
  for (int leg = 0; leg < 4; ++leg) {
    const double ahead = leg & 1 ? 0.3 : -0.3, aside = leg & 2 ? 0.15 : -0.15;
    const Vector3d shoulder(ahead, aside, 0.5), elbow(ahead - 0.1, aside, 0.25), foot(ahead, aside, 0.0);
    const int hip = m.add_box(shoulder, {0.08, 0.08, 0.08}, 0.6);
    const int thigh = m.add_box(0.5 * (shoulder + elbow), {0.05, 0.05, 0.25}, 1.2);
    const int shank = m.add_box(0.5 * (elbow + foot), {0.03, 0.03, 0.25}, 0.3);
    m.hinge(trunk, hip, shoulder, x);
    m.hinge(hip, thigh, shoulder, y);
    m.hinge(thigh, shank, elbow, y);
    m.turn(thigh, shank, leg < 2 ? y : -y, {.kind = SetKind::positive});
    m.turn(hip, thigh, y, {.kind = SetKind::interval, .bound = 2e-3});
    for (int k = 0; k < contacts_per_foot; ++k) {
      m.contact(Mechanism::kWorld, shank, foot + Vector3d(0.02 * k, 0, 0), 0.7);
    }
  }
  return m.problem("quadruped of 13 bodies, " + std::to_string(4 * contacts_per_foot) + " contacts", 0.05, rng);
}

/// A robot in reduced coordinates whose closures are rows among others: 32 velocities, four point closures of which
/// `redundant` rows repeat what the others say, contacts and limits. Masses span three orders of magnitude.
inline LoopProblem cassie_like(int contacts, int redundant, std::mt19937& rng) {
  const int velocities = 32, closures = 4, limits = 4, rows = 3 * (closures + contacts) + limits;
  VectorXd masses(velocities);
  for (int k = 0; k < velocities; ++k) masses[k] = 10.0 * std::pow(1e-3, static_cast<double>(k) / (velocities - 1));
  const MatrixXd mix = MatrixXd::Identity(velocities, velocities) + 0.05 * random_matrix(velocities, velocities, rng);
  const MatrixXd M = mix.transpose() * masses.asDiagonal() * mix;
  MatrixXd J = 0.5 * random_matrix(rows, velocities, rng);
  for (int k = 0; k < redundant; ++k) {  // spread over the closures
    const int row = 3 * (k % closures) + 2;
    J.row(row) = 0.7 * J.row((row + 4) % 12) - 0.4 * J.row((row + 8) % 12);
  }
  std::vector<Block> blocks;
  for (int i = 0; i < closures; ++i) blocks.push_back({.kind = SetKind::free, .start = 3 * i, .size = 3});
  for (int i = 0; i < contacts; ++i) blocks.push_back({.kind = SetKind::cone, .start = 12 + 3 * i, .mu = 0.7});
  for (int i = 0; i < limits; ++i) {
    blocks.push_back({.kind = SetKind::positive, .start = 12 + 3 * contacts + i, .size = 1});
  }
  VectorXd v = 0.1 * random_matrix(velocities, 1, rng);
  for (int i = 0; i < contacts; ++i) v -= 0.05 * J.row(12 + 3 * i + 2).transpose();  // into the ground
  return loop_problem("Cassie-like, " + std::to_string(contacts) + " contacts", J, M, v,
                      1e-4 * random_matrix(velocities, 1, rng), blocks);
}

}  // namespace taut::testing
