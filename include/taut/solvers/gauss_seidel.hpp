#pragma once

#include <vector>

#include "taut/math/interruption.hpp"
#include "taut/problem/sets.hpp"
#include "taut/solvers/progress.hpp"

namespace taut {

/// Buffers of the methods that sweep over blocks, for problems of up to the reserved number of rows.
struct SweepWorkspace {
  void reserve(int rows);

  struct Step {
    Eigen::Matrix3d G;        ///< contact: (G + R)_ii
    double normal = 0.0;      ///< contact: 1/G_nn; of a scalar block 1/G_ii; 0 where the block moves nothing
    double tangential = 0.0;  ///< contact: 1/max(G_xx, G_yy)
    double stiffness = 0.0;   ///< what turns an impulse into a velocity
  };
  std::vector<Step> steps;      ///< one per block
  std::vector<double> factors;  ///< of bilateral blocks, one after the other
  std::vector<double> change;   ///< λ⁺ − λ of the block at hand
  std::vector<double> best;     ///< the best λ the judge has seen
};

/// What the sweeps of one problem share: diagonal blocks, step lengths, factors of bilateral blocks.
void prepare_sweeps(const Problem& problem, SweepWorkspace& workspace);

/// The steps of one bilateral block, limit or joint friction: exact with the others frozen. Writes λ⁺ − λ to `change`;
/// `factor` is the block's in `workspace.factors`.
void correct_simple_block(const Block& block, const SweepWorkspace::Step& step, double relaxation, const double* factor,
                          const double* lambda, const double* velocity, double* change);

/// One sweep over the blocks; keeps `velocity` = (G + R) λ + g. `rule(block, step, λ_i, c_i)` returns λ_i⁺ − λ_i of a
/// contact with the others frozen. Returns the largest change, as a velocity: an estimate of the natural map that costs
/// nothing, good enough to decide when to call the judge.
template <class Rule>
double sweep(const Problem& problem, SweepWorkspace& workspace, double relaxation, VectorRef lambda, VectorRef velocity,
             const Rule& rule) {
  double *change = workspace.change.data(), *x = lambda.data(), *c = velocity.data();
  const double* factor = workspace.factors.data();
  double largest = 0.0;
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const SweepWorkspace::Step& step = workspace.steps[static_cast<std::size_t>(i)];
    const int start = block.start;
    if (block.kind == SetKind::cone) {
      const Eigen::Map<const Eigen::Vector3d> x_i(x + start), c_i(c + start);
      Eigen::Map<Eigen::Vector3d>{change} = rule(block, step, x_i, c_i);
    } else {
      correct_simple_block(block, step, relaxation, factor, x + start, c + start, change);
      if (block.kind == SetKind::free) factor += block.size * block.size;
    }
    double moved = 0.0;
    for (int r = 0; r < block.size; ++r) moved = std::max(moved, std::abs(change[r]));
    if (moved == 0.0) continue;
    largest = std::max(largest, moved * step.stiffness);
    for (int r = 0; r < block.size; ++r) x[start + r] += change[r];
    multiply_add_block(problem, i, change, c);
  }
  return largest;
}

struct SweepOptions {
  double tolerance = 1e-6;  ///< on the judge of the method's model
  int max_sweeps = 10'000;
  double relaxation = 1.0;          ///< ω in (0, 2), applied to the new iterate
  double least_relaxation = 1.0;    ///< where the decay ends                               [RS, Alg. 2]
  double relaxation_decay = 1.0;    ///< ω ← least + decay · (ω − least) after each sweep
  int patience = 500;               ///< sweeps without gaining 1 % before the solve counts as stalled
  double stop_below_change = -1.0;  ///< also stop when a sweep moves less than this (m/s), judged or not: [KL, (160)]
};

/// Throws std::invalid_argument naming the method if an option is out of range.
void check(const SweepOptions& options, const char* method);

/// Sweeps until the judge of the method's model is satisfied; its residuals are those of the report. `make_rule(ω)`
/// gives the contact rule of a sweep, `judge(λ, velocity)` returns the residuals and writes c. Does not allocate once
/// `workspace` has the rows.
template <class MakeRule, class Judge>
SolveReport solve_by_sweeps(const Problem& problem, const SweepOptions& options, SweepWorkspace& workspace,
                            VectorRef lambda, VectorRef velocity, const MakeRule& make_rule, const Judge& judge) {
  workspace.reserve(problem.rows());
  SolveReport report{.residuals = judge(lambda, velocity)};  // a good warm start costs no sweep
  if (report.residuals.worst() <= options.tolerance) return report;

  prepare_sweeps(problem, workspace);
  Progress progress(options.tolerance, 0.01, options.patience, report.residuals, lambda,
                    VectorView(workspace.best.data(), problem.rows()));
  // The judge costs as much as a sweep: it is asked when the sweep says it is time, and now and then to see a stall.
  constexpr int kCadence = 25;
  double ask_below = options.tolerance, omega = options.relaxation;
  bool over = false;
  while (!over && report.iterations < options.max_sweeps) {
    may_interrupt(problem.rows());
    const double moved = sweep(problem, workspace, omega, lambda, velocity, make_rule(omega));
    ++report.iterations;
    omega = options.least_relaxation + options.relaxation_decay * (omega - options.least_relaxation);
    const bool last = report.iterations == options.max_sweeps || moved <= options.stop_below_change;
    if (moved > ask_below && report.iterations % kCadence != 0 && !last) continue;

    if (moved <= ask_below) ask_below = 0.5 * moved;
    over = progress.note(report.iterations, judge(lambda, velocity), lambda);  // also washes rounding out of c
    if (!over && (moved == 0.0 || moved <= options.stop_below_change)) {
      progress.stall();
      over = true;
    }
  }
  report.status = progress.status();
  if (report.status == Status::converged) {
    report.residuals = progress.residuals();
  } else {
    lambda = progress.best();
    report.residuals = judge(lambda, velocity);
  }
  return report;
}

}  // namespace taut
