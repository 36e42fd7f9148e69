#include "taut/solvers/lcp_pivot.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"

namespace taut {
namespace {

using Eigen::Vector2d;
using Unknown = LcpPivotWorkspace::Unknown;

MatrixView matrix_of(LcpPivotWorkspace& workspace, int rows) {
  return {workspace.matrix.data(), rows, rows, Eigen::OuterStride<>(rows)};
}

// A contact whose normal impulse moves nothing can neither open nor close: it is left alone, at zero.
bool is_idle(const Problem& problem, int i) {
  const Block& block = problem.blocks[i];
  const int last = block.size - 1;
  const bool one_sided = block.kind == SetKind::cone || block.kind == SetKind::positive;
  return one_sided && !(problem.diagonal(i)(last, last) + problem.R[block.start + last] > 0.0);
}

int unknowns_of(const Problem& problem, int i, int sides) {
  const Block& block = problem.blocks[i];
  if (block.kind == SetKind::free || is_idle(problem, i)) return 0;
  if (block.kind == SetKind::cone) return block.mu > 0.0 ? sides + 2 : 1;
  return block.kind == SetKind::interval ? 2 : 1;
}

// S (G + R) S and S g, with one number a contact in S so that pyramids stay pyramids.
void scale_problem(const Problem& problem, LcpPivotWorkspace& workspace) {
  const int rows = problem.rows();
  MatrixView A = matrix_of(workspace, rows);
  A.setZero();
  double* scale = workspace.scale.data();
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Tile G = problem.diagonal(i);
    for (int r = 0; r < block.size; ++r) {
      double stiffness = mean_diagonal(problem, i);
      if (block.kind == SetKind::free) {  // its rows may be of different units
        const double own = G(r, r) + problem.R[block.start + r];
        stiffness = own > 0.0 ? own : 1.0;
      }
      scale[block.start + r] = 1.0 / std::sqrt(stiffness);
    }
  }
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const Panel panel = problem.panel(i);
    for (int c = 0; c < block.size; ++c) {
      const int col = block.start + c;
      for (const Run& run : panel.runs) {
        const double* from = panel.data + c * panel.stride + run.row;
        for (int r = 0; r < run.size; ++r) A(run.start + r, col) = scale[run.start + r] * scale[col] * from[r];
      }
      A(col, col) += scale[col] * scale[col] * problem.R[col];
    }
  }
  for (int r = 0; r < rows; ++r) workspace.q[r] = scale[r] * problem.g[r];
}

// Solves bilateral rows for their own impulses, largest pivot first, and puts them into the other rows. Afterwards
// x_r = q_r + Σ A_rj x_j for these. What redundancy leaves without a pivot moves nothing any more and stays zero.
void eliminate_bilateral(const Problem& problem, LcpPivotWorkspace& workspace) {
  const int rows = problem.rows();
  constexpr double kRankTolerance = 1e-11;  // of rows scaled to a unit diagonal
  MatrixView A = matrix_of(workspace, rows);
  double* q = workspace.q.data();
  std::fill_n(workspace.eliminated.begin(), rows, char{0});
  for (;;) {
    may_interrupt(rows);
    int pivot = -1;
    for (const Block& block : problem.blocks) {
      if (block.kind != SetKind::free) continue;
      for (int r = block.start; r < block.start + block.size; ++r) {
        if (!workspace.eliminated[r] && A(r, r) > kRankTolerance && (pivot < 0 || A(r, r) > A(pivot, pivot))) pivot = r;
      }
    }
    if (pivot < 0) return;
    workspace.eliminated[pivot] = 1;
    double* entering = workspace.column.data();
    for (int r = 0; r < rows; ++r) entering[r] = A(r, pivot);
    const double inverse = 1.0 / entering[pivot];
    const auto put_into = [&](double* column) {
      const double share = -column[pivot] * inverse;
      for (int r = 0; r < rows; ++r) column[r] += share * entering[r];
      column[pivot] = share;
    };
    for (int c = 0; c < rows; ++c) {
      if (!workspace.eliminated[c]) put_into(&A(0, c));
    }
    put_into(q);
    A.col(pivot).setZero();
  }
}

void list_unknowns(const Problem& problem, int sides, LcpPivotWorkspace& workspace) {
  workspace.unknowns.clear();
  std::fill_n(workspace.offset.begin(), problem.rows(), 0.0);
  const auto add = [&](const Unknown& unknown) { workspace.unknowns.push_back(unknown); };
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const int count = unknowns_of(problem, i, sides), last = static_cast<int>(workspace.unknowns.size()) + count - 1;
    if (count == 0) continue;
    if (block.kind == SetKind::cone) {
      const bool frictional = count > 1;
      add({.row = block.start + 2, .bound = frictional ? last : -1, .weight = block.mu});
      for (int k = 0; k < sides && frictional; ++k) {
        add({.row = block.start, .vertex = k, .bound = last, .weight = -1.0});
      }
      if (frictional) add({.row = block.start, .impulse = false});
    } else if (block.kind == SetKind::interval) {  // λ + b in [0, 2 b]
      workspace.offset[block.start] = -block.bound / workspace.scale[block.start];
      add({.row = block.start, .bound = last, .weight = -1.0});
      add({.row = block.start, .impulse = false});
    } else {
      add({.row = block.start});
    }
  }
}

// What an unknown sees of a vector of velocities.
double component(const Pyramid& pyramid, const Unknown& u, const double* v) {
  if (u.vertex < 0) return v[u.row];
  const Vector2d& d = pyramid.vertex(u.vertex);
  return d[0] * v[u.row] + d[1] * v[u.row + 1];
}

// column = A times one unit of the unknown.
void velocity_column(const Pyramid& pyramid, const Unknown& u, const MatrixView& A, double* column) {
  const int rows = static_cast<int>(A.rows());
  if (u.vertex < 0) {
    std::copy_n(&A(0, u.row), rows, column);
    return;
  }
  const Vector2d& d = pyramid.vertex(u.vertex);
  const double *x = &A(0, u.row), *y = &A(0, u.row + 1);
  for (int r = 0; r < rows; ++r) column[r] = d[0] * x[r] + d[1] * y[r];
}

// Column j of the LCP's matrix.
void write_column(const Pyramid& pyramid, int j, const MatrixView& A, LcpPivotWorkspace& workspace, double* out) {
  const Unknown& to = workspace.unknowns[j];
  double* column = workspace.column.data();
  if (to.impulse) velocity_column(pyramid, to, A, column);
  for (int i = 0; i < static_cast<int>(workspace.unknowns.size()); ++i) {
    const Unknown& at = workspace.unknowns[i];
    if (at.impulse && to.impulse) {
      out[i] = component(pyramid, at, column);
    } else if (at.impulse) {
      out[i] = at.bound == j && at.weight < 0.0 ? 1.0 : 0.0;  // σ speaks to what it bounds, not to λ_n
    } else {
      out[i] = to.impulse && to.bound == i ? to.weight : 0.0;
    }
  }
}

// q_i of the LCP, from the velocity that `offset` makes.
double constant_term(const Pyramid& pyramid, const LcpPivotWorkspace& workspace, int i, const double* velocity) {
  const Unknown& u = workspace.unknowns[i];
  return u.impulse ? component(pyramid, u, velocity) : -2.0 * workspace.offset[u.row];  // 2 b; a contact has no offset
}

// λ of what Lemke has found, times `size`.
void read_impulses(const Problem& problem, const Pyramid& pyramid, double size, LcpPivotWorkspace& workspace,
                   VectorRef lambda) {
  const int rows = problem.rows(), count = static_cast<int>(workspace.unknowns.size());
  lambda = VectorView(workspace.offset.data(), rows);
  for (int i = 0; i < count; ++i) {
    const Unknown& u = workspace.unknowns[i];
    if (!u.impulse) continue;
    const double z = size * workspace.lemke.z(i);
    if (u.vertex < 0) {
      lambda[u.row] += z;
    } else {
      lambda.segment<2>(u.row) += z * pyramid.vertex(u.vertex);
    }
  }
  const MatrixView A = matrix_of(workspace, rows);
  VectorView x(workspace.column.data(), rows);
  x = lambda;
  for (int r = 0; r < rows; ++r) {
    if (workspace.eliminated[r]) lambda[r] = workspace.q[r] + A.row(r).dot(x);
  }
  lambda.array() *= VectorView(workspace.scale.data(), rows).array();
  project_onto_pyramids(problem, pyramid, lambda);  // rounding
}

// Writes the LCP to Lemke's dictionary with q scaled to one; returns the scale.
double write_lcp(const Pyramid& pyramid, LcpPivotWorkspace& workspace, const MatrixView& A) {
  const int rows = static_cast<int>(A.rows()), count = static_cast<int>(workspace.unknowns.size());
  Lemke& lemke = workspace.lemke;
  lemke.resize(count);
  double* velocity = workspace.column.data();
  std::copy_n(workspace.q.data(), rows, velocity);
  multiply_add(rows, rows, A.data(), A.outerStride(), workspace.offset.data(), velocity);
  double size = 0.0;
  for (int i = 0; i < count; ++i) {
    lemke.q(i) = constant_term(pyramid, workspace, i, velocity);
    size = std::max(size, std::abs(lemke.q(i)));
  }
  if (!(size > 0.0)) size = 1.0;
  for (int i = 0; i < count; ++i) lemke.q(i) /= size;
  for (int j = 0; j < count; ++j) {
    may_interrupt(count);
    write_column(pyramid, j, A, workspace, lemke.column(j));
  }
  return size;
}

}  // namespace

void LcpPivotWorkspace::reserve(int rows, int count) {
  const auto n = static_cast<std::size_t>(rows), m = static_cast<std::size_t>(count);
  if (q.size() < n) {
    matrix.resize(n * n);
    eliminated.resize(n);
    for (auto* buffer : {&q, &scale, &offset, &column, &best}) buffer->resize(n);
  }
  unknowns.reserve(m);
  lemke.reserve(count);
}

LcpPivot::LcpPivot(LcpPivotOptions options) : options_(options), pyramid_(options.sides) {
  if (options.max_unknowns < 1) {
    throw std::invalid_argument("LcpPivot: max_unknowns is " + std::to_string(options.max_unknowns));
  }
}

void LcpPivot::reserve(int rows, LcpPivotWorkspace& workspace) const {
  const double a_row = std::max(2.0, (pyramid_.sides() + 2) / 3.0);  // joint friction, or contacts
  const int most = options_.max_unknowns;
  workspace.reserve(std::min(rows, most), static_cast<int>(std::min<double>(most, std::ceil(a_row * rows))));
}

SolveReport LcpPivot::solve(const Problem& problem, LcpPivotWorkspace& workspace, VectorRef lambda,
                            VectorRef velocity) const {
  const int rows = problem.rows();
  int count = 0;
  for (int i = 0; i < problem.size(); ++i) count += unknowns_of(problem, i, pyramid_.sides());
  if (std::max(rows, count) > options_.max_unknowns) {
    throw std::invalid_argument("LcpPivot: " + std::to_string(rows) + " rows make an LCP of " + std::to_string(count) +
                                " unknowns, more than max_unknowns = " + std::to_string(options_.max_unknowns));
  }
  workspace.reserve(rows, count);
  project_onto_pyramids(problem, pyramid_, lambda);
  SolveReport report{.residuals = lcp_residuals(problem, pyramid_, lambda, velocity)};
  if (report.residuals.worst() <= options_.tolerance) return report;

  scale_problem(problem, workspace);
  eliminate_bilateral(problem, workspace);
  list_unknowns(problem, pyramid_.sides(), workspace);
  const double size = write_lcp(pyramid_, workspace, matrix_of(workspace, rows));
  VectorView best(workspace.best.data(), rows);
  best = lambda;
  const auto solves = [&] {  // the judge decides, also between what the pivots find and the warm start
    read_impulses(problem, pyramid_, size, workspace, lambda);
    const Residuals judged = lcp_residuals(problem, pyramid_, lambda, velocity);
    if (judged.worst() < report.residuals.worst()) {
      report.residuals = judged;
      best = lambda;
    }
    return judged.worst() <= options_.tolerance;
  };
  // Masses that differ by many orders of magnitude can let rounding lead the pivots astray: once more
  // then, with care.
  constexpr int kNoRefresh = 0, kCareful = 20;
  const int most = options_.max_pivots > 0 ? options_.max_pivots : 50 * count;
  report.status = Status::stalled;
  for (const int cadence : {kNoRefresh, kCareful}) {
    const Lemke::End end = workspace.lemke.run(most - report.iterations, cadence);
    report.iterations += workspace.lemke.pivots();
    bool solved = solves();
    if (!solved && end == Lemke::End::solution) {
      workspace.lemke.refresh();
      solved = solves();
    }
    if (solved) {
      report.status = Status::converged;
      return report;
    }
    if (end == Lemke::End::limit) {
      report.status = Status::iteration_limit;
      break;
    }
  }
  lambda = best;
  report.residuals = lcp_residuals(problem, pyramid_, lambda, velocity);
  return report;
}

}  // namespace taut
