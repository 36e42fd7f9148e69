#pragma once

#include <vector>

#include "taut/math/dense.hpp"
#include "taut/math/interruption.hpp"
#include "taut/problem/problem.hpp"
#include "taut/solvers/sparse_system.hpp"

namespace taut {

// Newton's method for convex problems in compliant rows,
//
//   min over λ_i in convex sets C_i of  ½ λᵀ (G + R) λ + gᵀ λ,   R > 0,
//
// in the form MuJoCo and Drake solve it: without constraints, in the velocities v [CB, eq. (22)]. What a block answers
// to the velocity c is known in closed form,  γ_i(c) = argmin over C_i of ½ ‖γ‖²_R + cᵀ γ,  and
//
//   l(v) = ½ ‖v − v_f‖²_M + Σ φ_i(J v),   ∂φ_i/∂c = −γ_i,   ∂γ_i/∂c = −D_i = −L_i L_iᵀ.
//
// A contact problem has no M and J. But ∇l = M (v − v_f) − Jᵀ γ, so that every iterate from v_f on is v = v_f + M⁻¹ Jᵀ
// x, c = G x + g, and x takes the place of v:
//
//   l(x) = ½ xᵀ G x + Σ φ_i(G x + g),   ∇l = G (x − γ),   ∇²l = G + G D G.
//
// G may be singular and is never inverted: Δx = (γ − x) + L w with  (I + Lᵀ G L) w = −Lᵀ G (γ − x)  satisfies
// ∇²l Δx = −∇l, is the primal step of [CB, Alg. 4, l. 4] seen by the rows, and has as many unknowns as impulses that
// may move: three for a contact that sticks, two for one that slides, none for one that is open.

/// What a block answers around a velocity: L, with unknowns [first, first + count) of the reduced system.
struct Response {
  int first = 0, count = 0;
  bool diagonal = false;    ///< L = diag(R)^-½ over the rows of the block, `count` = its size
  Eigen::Matrix3d L;        ///< else the columns of L, for a block of three rows
  Eigen::Matrix3d inverse;  ///< (I + L_iᵀ G_ii L_i)⁻¹ where conjugate gradients need a preconditioner
};

struct RegularizedNewtonWorkspace {
  void reserve(int rows);
  /// Before the first step on a problem: chooses how a sparse one is solved.
  void start(const Problem& problem);

  bool factored = false;  ///< a sparse problem whose factors stay sparse; otherwise conjugate gradients
  SparseSystem system;
  std::vector<Response> responses;  ///< one per block
  std::vector<double> matrix;       ///< of the reduced system of a dense problem
  std::vector<double> gap, gap_velocity, step, step_velocity, velocity, unknowns, column, product, local, none;
  std::vector<double> krylov;
};

/// Buffers of methods that solve one regularized problem after another: `Staggered`, `Proximal`.
struct ProximalWorkspace {
  void reserve(int rows);

  RegularizedNewtonWorkspace newton;
  std::vector<double> compliance, offset, x, best;
};

enum class NewtonStep {
  taken,   ///< x has moved
  done,    ///< nothing to do: the gap was small enough
  failed,  ///< no way down: rounding, or data that are not finite
};

/// R of a problem with a proximal term of `weight` times the mean diagonal of each block. Cones have a closed
/// projection in the norm of R only if the tangential pair shares it: the larger one counts, and the proximal term that
/// an offset −(R̃ − R) λ_old completes makes up for the difference.
void add_proximal_compliance(const Problem& problem, double weight, VectorRef R);

/// γ and L of a block whose set is that of the problem, in the norm of R: the projection of −R⁻¹ c. The two tangential
/// rows of a contact must share their R.
void respond_in_norm(const Block& block, const double* R, const double* c, double* gamma, Response& response);

/// Solves the reduced system for the step Δx and G Δx from `gap` = γ − x and `gap_velocity` = G (γ − x). False if the
/// matrix is not positive definite, which only what is not finite can cause.
bool solve_reduced(const Problem& model, RegularizedNewtonWorkspace& workspace);

/// |L_iᵀ c_i|²: the curvature of φ_i along c_i.
double curvature(const Block& block, const Response& response, const double* R, const double* c);

/// One step x ← x + t Δx, t minimizing l. `respond(i, c_i, γ_i, response)` writes γ_i and L_i. `done` if the gap
/// between x and γ, times R and times G (m/s), is at most `enough`. Allocates nothing once the workspace has the rows,
/// unless a dense problem is larger than what `reserve` makes room for.
template <class Respond>
NewtonStep newton_step(const Problem& model, const Respond& respond, double enough,
                       RegularizedNewtonWorkspace& workspace, VectorRef x) {
  const int rows = model.rows();
  may_interrupt(rows);
  const double* R = model.R.data();
  VectorView none(workspace.none.data(), rows), gap(workspace.gap.data(), rows),
      gap_velocity(workspace.gap_velocity.data(), rows), step(workspace.step.data(), rows),
      step_velocity(workspace.step_velocity.data(), rows), c(workspace.velocity.data(), rows);
  const Problem rigid{.G = model.G, .g = model.g, .R = none, .blocks = model.blocks};
  velocity_of(rigid, x, c);
  workspace.responses.resize(model.blocks.size());
  for (int i = 0, first = 0; i < model.size(); ++i) {
    const int start = model.blocks[i].start;
    Response& response = workspace.responses[static_cast<std::size_t>(i)];
    respond(i, c.data() + start, gap.data() + start, response);
    response.first = first;
    first += response.count;
  }
  gap -= x;
  gap_velocity.setZero();
  multiply_add(rigid, gap.data(), gap_velocity.data());
  double largest = 0.0;
  for (int r = 0; r < rows; ++r) largest = std::max({largest, R[r] * std::abs(gap[r]), std::abs(gap_velocity[r])});
  if (largest <= enough) return NewtonStep::done;
  if (!solve_reduced(model, workspace)) return NewtonStep::failed;

  // Exact line search, as in MuJoCo and Drake: l is convex, an evaluation of l' costs no product with G, and Newton's
  // iteration inside a bracket finds its root. The bracket ends at Drake's 1.5.
  const double longest = 1.5, precision = 1e-8;
  const double straight = step.dot(step_velocity);
  double* trial_c = workspace.column.data();
  double* trial_gamma = workspace.product.data();
  Response trial;
  const auto slope = [&](double t, double& bend) {
    double s = x.dot(step_velocity) + t * straight;
    bend = straight;
    for (int r = 0; r < rows; ++r) trial_c[r] = c[r] + t * step_velocity[r];
    for (int i = 0; i < model.size(); ++i) {
      const Block& block = model.blocks[i];
      respond(i, trial_c + block.start, trial_gamma + block.start, trial);
      for (int r = block.start; r < block.start + block.size; ++r) s -= trial_gamma[r] * step_velocity[r];
      bend += curvature(block, trial, R + block.start, step_velocity.data() + block.start);
    }
    return s;
  };
  const double descent = -gap.dot(step_velocity);
  if (!(descent < 0.0)) return NewtonStep::failed;
  double low = 0.0, high = longest, t = 1.0;
  constexpr int kEvaluations = 60;  // bisection alone would then be exact to rounding
  for (int k = 0; k < kEvaluations; ++k) {
    double bend = 0.0;
    const double s = slope(t, bend);
    if (!(std::abs(s) > -precision * descent)) break;
    (s < 0.0 ? low : high) = t;
    if (low >= longest || !(high - low > 1e-14)) break;
    const double next = t - s / bend;
    if (s < 0.0 && high == longest && !(next < longest)) {
      t = longest;
    } else {
      t = next > low && next < high ? next : 0.5 * (low + high);
    }
  }
  x += t * step;
  return NewtonStep::taken;
}

}  // namespace taut
