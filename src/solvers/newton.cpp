#include "taut/solvers/newton.hpp"

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "taut/math/bicgstab.hpp"
#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/factored.hpp"

namespace taut {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using Linearization = NewtonWorkspace::Linearization;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShorten = 0.35, kShortest = 5e-3;  // five shorter steps at most: each costs a judgement, G times λ

// Joints have no modes to be wrong about: they need only what keeps redundant ones from dividing by rounding. Small,
// for long chains and mass ratios have eigenvalues near 1e-7 of the diagonal; not smaller, for rows that contradict
// each other gain their contradiction divided by it at each step.
constexpr double kJointDamping = 1e-8;

// Signorini and Coulomb as λ_n = max(0, y_n), λ_t = P_disk(μ y_n)(y_t) at y = λ − ρ c. The modes are those of De
// Saxcé's form; this one tells them apart sooner after an impact, when λ is still zero.
void identify_contact(const Block& block, const Vector3d& y, Linearization& lin) {
  if (y[2] <= 0.0) {
    lin.mode = Mode::open;
    return;
  }
  const double tangential = y.head<2>().norm(), radius = block.mu * y[2];
  if (tangential < radius) {
    lin.mode = Mode::closed;
    lin.count = 3;
    return;
  }
  lin.mode = Mode::sliding;
  lin.count = 2;
  lin.d = tangential > 0.0 ? Vector2d(y.head<2>() / tangential) : Vector2d(Vector2d::UnitX());  // μ = 0: any d does
  lin.turn = tangential > 0.0 ? radius / tangential : 0.0;
}

// Into the sets as Coulomb's law would have it: the disk of a contact is that of its normal impulse. The nearest point
// of the cone would raise the normal impulse instead, and the contact would look as if it stuck again.
void clip(const Problem& problem, double* lambda) {
  for (const Block& block : problem.blocks) {
    double* x = lambda + block.start;
    if (block.kind != SetKind::cone) {
      project(block, x);
      continue;
    }
    x[2] = std::max(0.0, x[2]);
    Eigen::Map<Vector2d> tangential(x);
    tangential = project_onto_disk(tangential, block.mu * x[2]);
  }
}

Vector2d side(const Vector2d& d) { return {-d[1], d[0]}; }

// Rows of the reduced system from a column of G (or from c): what the block's equations see of it. A sliding contact
// sees the normal row and, times the turn, the row across its direction.
void reduce_rows(const Problem& problem, const NewtonWorkspace& workspace, const double* column, double* out) {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    const double* v = column + problem.blocks[i].start;
    if (lin.mode == Mode::closed) {
      for (int r = 0; r < lin.count; ++r) *out++ = v[r];
    } else if (lin.mode == Mode::sliding) {
      *out++ = v[2];
      *out++ = lin.turn * (lin.d[0] * v[1] - lin.d[1] * v[0]);
    }
  }
}

// What the unknowns of a block add to the diagonal of the reduced system.
Vector2d own_terms(const Linearization& lin, double damping) {
  const double shift = (lin.bilateral ? std::min(damping, kJointDamping) : damping) * lin.stiffness;
  // (1 − k)/ρ is |c_t|/(μ λ_n) of [S, Sec. 3.2] times k: bounded also when the contact carries nothing.
  return {shift, lin.mode == Mode::sliding ? (1.0 - lin.turn) * lin.stiffness + shift : shift};
}

// The reduced matrix W (G + R) Z + diagonal: Z spans the impulses that may move, W are the equations.
void assemble(const Problem& problem, double damping, NewtonWorkspace& workspace) {
  const int rows = problem.rows(), m = workspace.unknowns;
  double *A = workspace.matrix.data(), *column = workspace.column.data();
  for (int j = 0; j < problem.size(); ++j) {
    const Linearization& lin = workspace.blocks[j];
    const Block& block = problem.blocks[j];
    const Panel panel = problem.panel(j);
    const double* R_j = problem.R.data() + block.start;
    const Vector2d own = own_terms(lin, damping);
    double* A_j = A + static_cast<std::ptrdiff_t>(lin.first) * m;
    if (lin.mode == Mode::closed) {
      for (int k = 0; k < lin.count; ++k) {
        reduce_rows(problem, workspace, panel.data + k * panel.stride, A_j + k * m);
        A_j[k * m + lin.first + k] += R_j[k] + own[0];
      }
    } else if (lin.mode == Mode::sliding) {
      const double along = block.mu * lin.d[0], across = block.mu * lin.d[1];
      const Vector2d s = side(lin.d);
      const double *G_x = panel.data, *G_y = G_x + panel.stride, *G_n = G_y + panel.stride;
      for (int r = 0; r < rows; ++r) column[r] = along * G_x[r] + across * G_y[r] + G_n[r];
      column[block.start] += R_j[0] * along;
      column[block.start + 1] += R_j[1] * across;
      column[block.start + 2] += R_j[2];
      reduce_rows(problem, workspace, column, A_j);
      A_j[lin.first] += own[0];

      for (int r = 0; r < rows; ++r) column[r] = s[0] * G_x[r] + s[1] * G_y[r];
      column[block.start] += R_j[0] * s[0];
      column[block.start + 1] += R_j[1] * s[1];
      reduce_rows(problem, workspace, column, A_j + m);
      A_j[m + lin.first + 1] += own[1];
    }
  }
}

// The same matrix block by block, for a sparse G.
void assemble_sparse(const Problem& problem, double damping, NewtonWorkspace& workspace) {
  SparseSystem& system = workspace.system;
  system.start([&](int i) { return workspace.blocks[i].first; }, [&](int i) { return workspace.blocks[i].count; });
  for (int j = 0; j < problem.size(); ++j) {
    const Linearization& lin = workspace.blocks[j];
    if (lin.count == 0) continue;
    const Block& block = problem.blocks[j];
    const std::ptrdiff_t stride = problem.panel(j).stride;
    const double* R_j = problem.R.data() + block.start;
    const Vector2d own = own_terms(lin, damping), s = side(lin.d);
    int size = 0;
    system.for_each_touched(problem, j, [&](int i, const double*) { size += workspace.blocks[i].count; });
    for (int k = 0; k < lin.count; ++k) {
      // Column k of Z: a unit vector, the generator of the cone, or its turn.
      Vector3d z = Vector3d::Zero();
      if (lin.mode == Mode::sliding) {
        z = k == 0 ? Vector3d(block.mu * lin.d[0], block.mu * lin.d[1], 1.0) : Vector3d(s[0], s[1], 0.0);
      }
      SparseLu::Room room = system.lu().add_column(size);
      system.for_each_touched(problem, j, [&](int i, const double* tile) {
        const Linearization& row = workspace.blocks[i];
        const auto value = [&](int r) {  // of row r of the block: (G + R) times column k of Z
          const double resisted = i == j ? R_j[r] : 0.0;
          if (lin.mode == Mode::closed) return tile[k * stride + r] + (r == k ? resisted : 0.0);
          return z[0] * tile[r] + z[1] * tile[stride + r] + z[2] * tile[2 * stride + r] + resisted * z[r];
        };
        for (int r = 0; r < row.count; ++r) {
          const bool across = row.mode == Mode::sliding && r == 1;
          *room.rows++ = row.first + r;
          *room.values = across ? row.turn * (row.d[0] * value(1) - row.d[1] * value(0))
                                : value(row.mode == Mode::sliding ? 2 : r);
          if (i == j && r == k) *room.values += own[std::min(k, 1)];
          ++room.values;
        }
      });
    }
  }
}

// step += Z u: impulses from unknowns.
void expand(const Problem& problem, const NewtonWorkspace& workspace, const double* unknowns, double* step) {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    double* dx = step + problem.blocks[i].start;
    const double* u = unknowns + lin.first;
    if (lin.mode == Mode::closed) {
      for (int r = 0; r < lin.count; ++r) dx[r] += u[r];
    } else if (lin.mode == Mode::sliding) {
      const Vector2d s = side(lin.d);
      const double mu = problem.blocks[i].mu;
      dx[0] += mu * lin.d[0] * u[0] + s[0] * u[1];
      dx[1] += mu * lin.d[1] * u[0] + s[1] * u[1];
      dx[2] += u[0];
    }
  }
}

// out = (W (G + R) Z + diagonal) u without the matrix.
void apply_reduced(const Problem& problem, double damping, NewtonWorkspace& workspace, const double* unknowns,
                   double* out) {
  const int rows = problem.rows();
  double *x = workspace.column.data(), *y = workspace.product.data();
  std::fill_n(x, rows, 0.0);
  std::fill_n(y, rows, 0.0);
  expand(problem, workspace, unknowns, x);
  multiply_add(problem, x, y);
  reduce_rows(problem, workspace, y, out);
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    const Vector2d own = own_terms(lin, damping);
    for (int r = 0; r < lin.count; ++r) out[lin.first + r] += own[std::min(r, 1)] * unknowns[lin.first + r];
  }
}

// The blocks on the diagonal of the reduced system, inverted: the preconditioner of the iterative solve.
void invert_diagonal(const Problem& problem, double damping, NewtonWorkspace& workspace) {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    Eigen::Matrix3d& inverse = workspace.inverses[static_cast<std::size_t>(i)];
    if (lin.count == 0 || lin.count > 3) continue;
    const Tile tile = problem.diagonal(i);
    const Block& block = problem.blocks[i];
    const Vector2d own = own_terms(lin, damping);
    Eigen::Matrix3d G = Eigen::Matrix3d::Identity();
    for (int c = 0; c < block.size; ++c) {
      for (int r = 0; r < block.size; ++r) G(r, c) = tile(r, c);
      G(c, c) += problem.R[block.start + c];
    }
    if (lin.mode == Mode::sliding) {
      const Vector2d s = side(lin.d);
      Eigen::Matrix<double, 3, 2> Z;
      Z << block.mu * lin.d[0], s[0], block.mu * lin.d[1], s[1], 1.0, 0.0;
      Eigen::Matrix<double, 2, 3> W;
      W << 0.0, 0.0, 1.0, lin.turn * s[0], lin.turn * s[1], 0.0;
      Eigen::Matrix2d reduced = W * G * Z;
      reduced.diagonal() += own;
      inverse.topLeftCorner<2, 2>() = reduced.inverse();
    } else {
      for (int r = 0; r < lin.count; ++r) G(r, r) += own[0];
      inverse = G.inverse();  // the identity beyond the block's own rows does no harm
    }
  }
}

void precondition(const Problem& problem, const NewtonWorkspace& workspace, const double* r, double* z) {
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    const Eigen::Matrix3d& inverse = workspace.inverses[static_cast<std::size_t>(i)];
    const double* in = r + lin.first;
    double* out = z + lin.first;
    for (int k = 0; k < lin.count; ++k) {
      double sum = lin.count > 3 ? in[k] / lin.stiffness : 0.0;  // a long bilateral block
      for (int j = 0; j < lin.count && lin.count <= 3; ++j) sum += inverse(k, j) * in[j];
      out[k] = sum;
    }
  }
}

// The part of the step that needs no solve: open blocks go to their bound, sliding ones onto their cone. Leaves it in
// `step` and the velocity it makes in `offset_velocity`.
void take_offsets(const Problem& problem, const double* lambda, const double* velocity, NewtonWorkspace& workspace) {
  const int rows = problem.rows();
  double *step = workspace.step.data(), *moved = workspace.offset_velocity.data();
  bool any = false;
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    const Block& block = problem.blocks[i];
    const double* x = lambda + block.start;
    double* dx = step + block.start;
    for (int r = 0; r < block.size; ++r) dx[r] = 0.0;
    if (lin.mode == Mode::open) {
      for (int r = 0; r < block.size; ++r) {
        const double y = x[r] - velocity[block.start + r] / lin.stiffness;
        dx[r] = (block.kind == SetKind::interval ? std::copysign(block.bound, y) : 0.0) - x[r];
        any |= dx[r] != 0.0;
      }
    } else if (lin.mode == Mode::sliding) {
      const double short_of = block.mu * x[2] - (lin.d[0] * x[0] + lin.d[1] * x[1]);
      dx[0] = short_of * lin.d[0];
      dx[1] = short_of * lin.d[1];
      any |= short_of != 0.0;
    }
  }
  std::fill_n(moved, rows, 0.0);
  if (any) multiply_add(problem, step, moved);
}

// Solves for the unknowns and completes `step`. `accuracy` is that of an iterative solve, relative.
void solve_step(const Problem& problem, const double* velocity, double damping, double accuracy,
                NewtonWorkspace& workspace) {
  double* rhs = workspace.rhs.data();
  const double* moved = workspace.offset_velocity.data();
  const int m = workspace.unknowns;
  for (int i = 0; i < problem.size(); ++i) {
    const Linearization& lin = workspace.blocks[i];
    const int start = problem.blocks[i].start;
    const double *c = velocity + start, *dc = moved + start;
    double* b = rhs + lin.first;
    if (lin.mode == Mode::closed) {
      for (int r = 0; r < lin.count; ++r) b[r] = -(c[r] + dc[r]);
    } else if (lin.mode == Mode::sliding) {
      const Vector2d s = side(lin.d);
      b[0] = -(c[2] + dc[2]);
      b[1] = -(s[0] * (c[0] + lin.turn * dc[0]) + s[1] * (c[1] + lin.turn * dc[1]));
    }
  }
  if (workspace.path == NewtonWorkspace::Path::sparse) {
    workspace.system.lu().solve(rhs);
  } else if (workspace.path == NewtonWorkspace::Path::dense) {
    lu_solve(workspace.reduced(), {workspace.pivots.data(), static_cast<std::size_t>(m)}, rhs);
  } else {
    constexpr int kMostProducts = 400;
    double* u = workspace.krylov.data();
    std::fill_n(u, m, 0.0);
    bicgstab(
        m, [&](const double* in, double* out) { apply_reduced(problem, damping, workspace, in, out); },
        [&](const double* r, double* z) { precondition(problem, workspace, r, z); }, rhs, u, accuracy, kMostProducts,
        u + m);
    std::copy_n(u, m, rhs);
  }
  expand(problem, workspace, rhs, workspace.step.data());
}

}  // namespace

void NewtonWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (pivots.size() >= n) return;
  blocks.reserve(n);
  const auto side = static_cast<std::size_t>(std::min(rows, kFactoredRows));
  matrix.resize(side * side);
  pivots.resize(n);
  for (auto* buffer : {&rhs, &column, &product, &step, &offset_velocity, &best, &trial, &trial_velocity}) {
    buffer->resize(n);
  }
}

void identify_modes(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
                    NewtonWorkspace& workspace) {
  workspace.blocks.resize(problem.blocks.size());
  int first = 0;
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    Linearization& lin = workspace.blocks[i];
    lin.stiffness = mean_diagonal(problem, i);
    lin.first = first;
    lin.count = 0;
    lin.mode = Mode::open;
    lin.bilateral = block.kind == SetKind::free;
    const int start = block.start;
    if (block.kind == SetKind::cone) {
      identify_contact(block, lambda.segment<3>(start) - velocity.segment<3>(start) / lin.stiffness, lin);
    } else {
      const double y = lambda[start] - velocity[start] / lin.stiffness;
      const bool closed = block.kind == SetKind::free || (block.kind == SetKind::positive && y > 0.0) ||
                          (block.kind == SetKind::interval && std::abs(y) < block.bound);
      if (closed) {
        lin.mode = Mode::closed;
        lin.count = block.size;
      }
    }
    first += lin.count;
  }
  workspace.unknowns = first;
}

namespace {

void choose_path(const Problem& problem, NewtonWorkspace& workspace) {
  using Path = NewtonWorkspace::Path;
  workspace.path = !problem.G.is_sparse()            ? Path::dense
                   : workspace.system.order(problem) ? Path::sparse
                                                     : Path::iterative;
  if (workspace.path != Path::iterative) return;
  const auto n = static_cast<std::size_t>(problem.rows());
  if (workspace.inverses.size() < n) workspace.inverses.resize(n);
  if (workspace.krylov.size() < 9 * n) workspace.krylov.resize(9 * n);
}

}  // namespace

bool linearize(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity, double damping,
               NewtonWorkspace& workspace) {
  identify_modes(problem, lambda, velocity, workspace);
  if (workspace.path == NewtonWorkspace::Path::none) choose_path(problem, workspace);
  if (workspace.path == NewtonWorkspace::Path::iterative) {
    invert_diagonal(problem, damping, workspace);
    return true;
  }
  if (workspace.path == NewtonWorkspace::Path::sparse) {
    assemble_sparse(problem, damping, workspace);
    return workspace.system.lu().factor();
  }
  const auto needed = static_cast<std::size_t>(workspace.unknowns) * workspace.unknowns;
  if (workspace.matrix.size() < needed) workspace.matrix.resize(needed);
  assemble(problem, damping, workspace);
  return lu(workspace.reduced(), {workspace.pivots.data(), static_cast<std::size_t>(workspace.unknowns)});
}

Newton::Newton(NewtonOptions options) : options_(options) {
  if (!(options.damping > 0.0)) {
    throw std::invalid_argument("Newton: damping is " + std::to_string(options.damping) + ", not positive");
  }
}

SolveReport Newton::solve(const Problem& problem, NewtonWorkspace& workspace, VectorRef lambda,
                          VectorRef velocity) const {
  workspace.reserve(problem.rows());
  workspace.path = NewtonWorkspace::Path::none;
  project(problem, lambda);
  return solve_from(problem, residuals(problem, lambda, velocity), workspace, lambda, velocity);
}

SolveReport Newton::solve_from(const Problem& problem, const Residuals& judged, NewtonWorkspace& workspace,
                               VectorRef lambda, VectorRef velocity) const {
  const int rows = problem.rows();
  SolveReport report{.residuals = judged};
  if (judged.worst() <= options_.tolerance) return report;

  VectorView step(workspace.step.data(), rows), trial(workspace.trial.data(), rows);
  VectorView trial_velocity(workspace.trial_velocity.data(), rows), best(workspace.best.data(), rows);
  best = lambda;
  double current = judged.worst(), reference = current;
  double damping = options_.damping;
  int waited = 0;
  report.status = Status::iteration_limit;
  while (report.iterations < options_.max_iterations) {
    may_interrupt(problem.rows());
    ++report.iterations;
    const bool solved = linearize(problem, lambda, velocity, damping, workspace);
    if (solved) {
      take_offsets(problem, lambda.data(), velocity.data(), workspace);
      // An iterative solve need not be better than the step: a thousandth of what is left, or of the tolerance.
      const double accuracy = std::clamp(0.1 * options_.tolerance / current, 1e-8, 1e-3);
      solve_step(problem, velocity.data(), damping, accuracy, workspace);
    }

    // The full step first, then shorter ones. A step that helps at no length is taken whole all the same: what looks
    // worse is often the way to the right modes, and `patience` bounds the excursion.
    Residuals at_trial;
    const auto try_length = [&](double length) {
      trial.noalias() = lambda + length * step;
      clip(problem, trial.data());
      at_trial = residuals(problem, trial, trial_velocity);
      return at_trial.worst();
    };
    double length = 1.0, worst = solved ? try_length(length) : kInfinity;
    while (solved && worst >= (1.0 - 1e-3 * length) * current) {
      length *= kShorten;
      if (length < kShortest) {
        worst = try_length(1.0);
        break;
      }
      worst = try_length(length);
    }
    // Damping follows the best iterate, not the last one: a cycle through wrong modes is left only by steps that grow
    // shorter each time around.
    const bool better = worst < report.residuals.worst();
    damping = better ? std::max(options_.damping, 0.01 * damping) : std::min(1.0, 10.0 * damping);
    if (!std::isfinite(worst)) {
      if (++waited < options_.patience) continue;
      report.status = Status::stalled;
      break;
    }
    lambda = trial;
    velocity = trial_velocity;
    current = worst;
    if (better) {
      report.residuals = at_trial;
      best = lambda;
    }
    if (worst <= options_.tolerance) {
      report.status = Status::converged;
      return report;
    }
    if (report.residuals.worst() < 0.9 * reference) {
      reference = report.residuals.worst();
      waited = 0;
    } else if (++waited >= options_.patience) {
      report.status = Status::stalled;
      break;
    }
  }
  lambda = best;
  report.residuals = residuals(problem, lambda, velocity);
  return report;
}

}  // namespace taut
