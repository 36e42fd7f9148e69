#include "taut/solvers/regularized_newton.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "taut/math/conjugate_gradient.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/factored.hpp"

namespace taut {
namespace {

// out_i = L_i w_i: unknowns of the reduced system to impulses.
void expand(const Problem& model, const std::vector<Response>& responses, const double* w, double* out) {
  for (int i = 0; i < model.size(); ++i) {
    const Block& block = model.blocks[i];
    const Response& response = responses[static_cast<std::size_t>(i)];
    const double* w_i = w + response.first;
    for (int r = 0; r < block.size; ++r) {
      double& x = out[block.start + r] = 0.0;
      if (response.diagonal) {
        x = w_i[r] / std::sqrt(model.R[block.start + r]);
      } else {
        for (int k = 0; k < response.count; ++k) x += response.L(r, k) * w_i[k];
      }
    }
  }
}

// γ = P_K^R(−R⁻¹ c), the projection in the norm of R. In coordinates scaled by √R it is the Euclidean one onto a cone
// of friction μ √(R_t/R_n), because the tangential rows share their R: with two of them the cone would be elliptic and
// its projection without a closed form.
void respond_cone(double mu, const double* R, const double* c, double* gamma, Response& response) {
  const double t = 1.0 / std::sqrt(R[0]), n = 1.0 / std::sqrt(R[2]), mu_scaled = mu * n / t;
  const Eigen::Vector3d y(-t * c[0], -t * c[1], -n * c[2]), projected = project_onto_cone(y, mu_scaled);
  gamma[0] = t * projected[0];
  gamma[1] = t * projected[1];
  gamma[2] = n * projected[2];

  const double tangential = y.head<2>().norm(), height = y[2] + mu_scaled * tangential;
  response.count = 0;
  response.diagonal = height > 0.0 && tangential <= mu_scaled * y[2];
  if (height <= 0.0) return;
  if (response.diagonal) {
    response.count = 3;
    return;
  }
  // The derivative of the projection, factored: along the generator of the cone, and around its axis (math/cones.hpp).
  const double share = 1.0 / (1.0 + mu_scaled * mu_scaled), along = std::sqrt(share),
               around = std::sqrt(mu_scaled * height * share / tangential);
  const Eigen::Vector2d u = y.head<2>() / tangential;
  response.L.col(0) << t * along * mu_scaled * u[0], t * along * mu_scaled * u[1], n * along;
  response.L.col(1) << -t * around * u[1], t * around * u[0], 0.0;
  response.count = 2;
}

// Entry k of L_iᵀ c_i.
double reduced_entry(const Block& block, const Response& response, const double* R, const double* c, int k) {
  if (response.diagonal) return c[k] / std::sqrt(R[k]);
  double sum = 0.0;
  for (int r = 0; r < block.size; ++r) sum += response.L(r, k) * c[r];
  return sum;
}

// out = Lᵀ c.
void reduce(const Problem& model, const std::vector<Response>& responses, const double* c, double* out) {
  for (int i = 0; i < model.size(); ++i) {
    const Block& block = model.blocks[i];
    const Response& response = responses[static_cast<std::size_t>(i)];
    for (int k = 0; k < response.count; ++k) {
      out[response.first + k] = reduced_entry(block, response, model.R.data() + block.start, c + block.start, k);
    }
  }
}

// Lower triangle of I + Lᵀ G L.
void assemble(const Problem& rigid, const Problem& model, RegularizedNewtonWorkspace& workspace, MatrixView A) {
  const auto& responses = workspace.responses;
  VectorView column(workspace.column.data(), model.rows());
  for (int j = 0; j < model.size(); ++j) {
    const Block& block = model.blocks[j];
    const Response& response = responses[static_cast<std::size_t>(j)];
    for (int k = 0; k < response.count; ++k) {
      double* direction = workspace.local.data();
      for (int r = 0; r < block.size; ++r) {
        direction[r] =
            response.diagonal ? (r == k ? 1.0 / std::sqrt(model.R[block.start + r]) : 0.0) : response.L(r, k);
      }
      column.setZero();
      multiply_add_block(rigid, j, direction, column.data());
      for (int i = j; i < model.size(); ++i) {
        const Block& other = model.blocks[i];
        const Response& answer = responses[static_cast<std::size_t>(i)];
        for (int m = 0; m < answer.count; ++m) {
          A(answer.first + m, response.first + k) =
              reduced_entry(other, answer, model.R.data() + other.start, column.data() + other.start, m);
        }
      }
      A(response.first + k, response.first + k) += 1.0;
    }
  }
}

// All of I + Lᵀ G L, block by block.
void assemble_sparse(const Problem& model, RegularizedNewtonWorkspace& workspace) {
  const auto& responses = workspace.responses;
  SparseSystem& system = workspace.system;
  system.start([&](int i) { return responses[static_cast<std::size_t>(i)].first; },
               [&](int i) { return responses[static_cast<std::size_t>(i)].count; });
  for (int j = 0; j < model.size(); ++j) {
    const Block& block = model.blocks[j];
    const Response& response = responses[static_cast<std::size_t>(j)];
    if (response.count == 0) continue;
    const std::ptrdiff_t stride = model.panel(j).stride;
    int size = 0;
    system.for_each_touched(model, j,
                            [&](int i, const double*) { size += responses[static_cast<std::size_t>(i)].count; });
    for (int k = 0; k < response.count; ++k) {
      SparseLu::Room room = system.lu().add_column(size);
      system.for_each_touched(model, j, [&](int i, const double* tile) {
        const Block& other = model.blocks[i];
        const Response& answer = responses[static_cast<std::size_t>(i)];
        double* column = workspace.local.data();  // rows of block i of G times column k of L_j
        for (int r = 0; r < other.size && answer.count > 0; ++r) {
          column[r] = 0.0;
          if (response.diagonal) {
            column[r] = tile[k * stride + r] / std::sqrt(model.R[block.start + k]);
          } else {
            for (int m = 0; m < block.size; ++m) column[r] += tile[m * stride + r] * response.L(m, k);
          }
        }
        for (int m = 0; m < answer.count; ++m) {
          *room.rows++ = answer.first + m;
          *room.values = reduced_entry(other, answer, model.R.data() + other.start, column, m);
          if (i == j && m == k) *room.values += 1.0;
          ++room.values;
        }
      });
    }
  }
}

// (I + L_iᵀ G_ii L_i)⁻¹ of the blocks that have at most three unknowns; larger bilateral blocks make do with their
// diagonal.
void invert_diagonal_blocks(const Problem& model, RegularizedNewtonWorkspace& workspace) {
  for (int i = 0; i < model.size(); ++i) {
    const Block& block = model.blocks[i];
    Response& response = workspace.responses[static_cast<std::size_t>(i)];
    if (response.count == 0 || block.size > 3) continue;
    const Tile G = model.diagonal(i);
    Eigen::Matrix3d tile = Eigen::Matrix3d::Zero(), L = Eigen::Matrix3d::Zero();
    for (int c = 0; c < block.size; ++c) {
      for (int r = 0; r < block.size; ++r) tile(r, c) = G(r, c);
      if (response.diagonal) L(c, c) = 1.0 / std::sqrt(model.R[block.start + c]);
    }
    if (!response.diagonal) L.leftCols(response.count) = response.L.leftCols(response.count);
    const Eigen::Matrix3d A = Eigen::Matrix3d::Identity() + L.transpose() * tile * L;
    response.inverse = A.inverse();
  }
}

void precondition(const Problem& model, const std::vector<Response>& responses, const double* in, double* out) {
  for (int i = 0; i < model.size(); ++i) {
    const Block& block = model.blocks[i];
    const Response& response = responses[static_cast<std::size_t>(i)];
    const double* x = in + response.first;
    double* y = out + response.first;
    const Tile G = model.diagonal(i);
    for (int r = 0; r < response.count; ++r) {
      if (block.size > 3) {
        y[r] = x[r] / (1.0 + G(r, r) / model.R[block.start + r]);
      } else {
        y[r] = 0.0;
        for (int k = 0; k < response.count; ++k) y[r] += response.inverse(r, k) * x[k];
      }
    }
  }
}

}  // namespace

void respond_in_norm(const Block& block, const double* R, const double* c, double* gamma, Response& response) {
  if (block.kind == SetKind::cone) {
    respond_cone(block.mu, R, c, gamma, response);
    return;
  }
  // In one dimension the norm does not matter, and a bilateral block projects nothing.
  for (int r = 0; r < block.size; ++r) gamma[r] = -c[r] / R[r];
  const double wanted = gamma[0];
  project(block, gamma);
  response.diagonal = gamma[0] == wanted;
  response.count = response.diagonal ? block.size : 0;
}

void RegularizedNewtonWorkspace::reserve(int rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (none.size() >= n) return;
  const auto side = static_cast<std::size_t>(std::min(rows, kFactoredRows));
  matrix.resize(std::max(matrix.size(), side * side));
  responses.reserve(n);
  for (auto* buffer : {&gap, &gap_velocity, &step, &step_velocity, &velocity, &unknowns, &column, &product, &local}) {
    buffer->resize(n);
  }
  none.resize(n, 0.0);
  krylov.resize(5 * n);
}

void RegularizedNewtonWorkspace::start(const Problem& problem) {
  reserve(problem.rows());
  factored = problem.G.is_sparse() && system.order(problem);
}

void ProximalWorkspace::reserve(int rows) {
  newton.reserve(rows);
  const auto n = static_cast<std::size_t>(rows);
  if (x.size() >= n) return;
  for (auto* buffer : {&compliance, &offset, &x, &best}) buffer->resize(n);
}

void add_proximal_compliance(const Problem& problem, double weight, VectorRef R) {
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    R.segment(block.start, block.size) = problem.R.segment(block.start, block.size);
    if (block.kind == SetKind::cone) R.segment<2>(block.start).setConstant(R.segment<2>(block.start).maxCoeff());
    R.segment(block.start, block.size).array() += weight * mean_diagonal(problem, i);
  }
}

double curvature(const Block& block, const Response& response, const double* R, const double* c) {
  double sum = 0.0;
  for (int k = 0; k < response.count; ++k) {
    const double entry = reduced_entry(block, response, R, c, k);
    sum += entry * entry;
  }
  return sum;
}

bool solve_reduced(const Problem& model, RegularizedNewtonWorkspace& workspace) {
  const int rows = model.rows();
  VectorView none(workspace.none.data(), rows), gap(workspace.gap.data(), rows),
      gap_velocity(workspace.gap_velocity.data(), rows), step(workspace.step.data(), rows),
      step_velocity(workspace.step_velocity.data(), rows), product(workspace.product.data(), rows);
  const Problem rigid{.G = model.G, .g = model.g, .R = none, .blocks = model.blocks};
  const Response& last = workspace.responses.back();
  const int count = last.first + last.count;
  VectorView w(workspace.unknowns.data(), count);
  reduce(model, workspace.responses, gap_velocity.data(), w.data());
  w = -w;
  if (count == 0) {
    step.setZero();
  } else if (!model.G.is_sparse()) {
    const auto needed = static_cast<std::size_t>(count) * static_cast<std::size_t>(count);
    if (workspace.matrix.size() < needed) workspace.matrix.resize(needed);
    MatrixView A(workspace.matrix.data(), count, count, Eigen::OuterStride<>(std::max(count, 1)));
    assemble(rigid, model, workspace, A);
    if (!cholesky(A)) return false;
    cholesky_solve(A, w.data());
  } else if (workspace.factored) {
    assemble_sparse(model, workspace);
    if (!workspace.system.lu().factor()) return false;
    workspace.system.lu().solve(w.data());
  } else {
    invert_diagonal_blocks(model, workspace);
    // From zero, every iterate of conjugate gradients is a direction of descent, however early they stop. 1e-4 costs a
    // few Newton steps more than 1e-9 and a fifth of the time.
    VectorView rhs(workspace.krylov.data() + 4 * rows, count);
    rhs = w;
    w.setZero();
    const auto apply = [&](const double* in, double* out) {
      expand(model, workspace.responses, in, step.data());
      product.setZero();
      multiply_add(rigid, step.data(), product.data());
      reduce(model, workspace.responses, product.data(), out);
      VectorView(out, count) += Eigen::Map<const Eigen::VectorXd>(in, count);
    };
    conjugate_gradient(
        count, apply, [&](const double* in, double* out) { precondition(model, workspace.responses, in, out); },
        rhs.data(), w.data(), 1e-4, 4 * count + 100, workspace.krylov.data());
  }
  expand(model, workspace.responses, w.data(), step.data());
  step_velocity = gap_velocity;
  multiply_add(rigid, step.data(), step_velocity.data());
  step += gap;
  return true;
}

}  // namespace taut
