#include "taut/problem/residuals.hpp"

#include <cmath>
#include <limits>

#include "taut/math/dense.hpp"
#include "taut/problem/sets.hpp"

namespace taut {
namespace {

void keep_larger(double& worst, double value) { worst = std::max(worst, value); }

// K_μ ∋ λ ⊥ s ∈ K_μ*,  s = c + Γ(c, μ)                                        [CB, eq. (15)]
void judge_cone(double mu, double stiffness, const Eigen::Vector3d& lambda, const Eigen::Vector3d& c, Residuals& r) {
  const Eigen::Vector3d s = c + de_saxce(c, mu);
  keep_larger(r.primal, (lambda - project_onto_cone(lambda, mu)).norm());
  keep_larger(r.dual, project_onto_cone(-s, mu).norm());  // Moreau: what P_{K*} would have to add
  keep_larger(r.complementarity, std::abs(lambda.dot(s)));
  const Eigen::Vector3d natural = lambda - project_onto_cone(lambda - s / stiffness, mu);
  keep_larger(r.natural, stiffness * natural.lpNorm<Eigen::Infinity>());
}

void judge_positive(double stiffness, double lambda, double c, Residuals& r) {
  keep_larger(r.primal, -lambda);
  keep_larger(r.dual, -c);
  keep_larger(r.complementarity, std::abs(lambda * c));
  keep_larger(r.natural, std::abs(stiffness * (lambda - std::max(0.0, lambda - c / stiffness))));
}

// An interval has no cone and hence no dual one: every c is allowed, with the λ that opposes it. Its complementarity
// is the dissipation missing to the most an impulse of the set can give, c λ + b |c| ≥ 0.
void judge_interval(double bound, double stiffness, double lambda, double c, Residuals& r) {
  keep_larger(r.primal, std::abs(lambda) - bound);
  keep_larger(r.complementarity, std::abs(c * lambda + bound * std::abs(c)));
  keep_larger(r.natural, std::abs(stiffness * (lambda - std::clamp(lambda - c / stiffness, -bound, bound))));
}

void judge_free(double lambda, double c, Residuals& r) {
  keep_larger(r.dual, std::abs(c));  // the dual of the whole space is {0}
  keep_larger(r.complementarity, std::abs(lambda * c));
  keep_larger(r.natural, std::abs(c));
}

}  // namespace

Residuals residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity) {
  const int rows = problem.rows();
  double not_finite = 0.0;  // zero, or NaN: std::max would drop a NaN silently
  for (int r = 0; r < rows; ++r) velocity[r] = problem.g[r] + problem.R[r] * lambda[r];
  multiply_add(rows, rows, problem.G.data(), problem.G.outerStride(), lambda.data(), velocity.data());

  Residuals result;
  for (const Block& block : problem.blocks) {
    const double stiffness = mean_diagonal(problem, block);
    const int start = block.start;
    for (int r = start; r < start + block.size; ++r) not_finite += 0.0 * velocity[r] + 0.0 * lambda[r];
    if (block.kind == SetKind::cone) {
      judge_cone(block.mu, stiffness, lambda.segment<3>(start), velocity.segment<3>(start), result);
      continue;
    }
    for (int r = start; r < start + block.size; ++r) {
      if (block.kind == SetKind::positive) judge_positive(stiffness, lambda[r], velocity[r], result);
      if (block.kind == SetKind::interval) judge_interval(block.bound, stiffness, lambda[r], velocity[r], result);
      if (block.kind == SetKind::free) judge_free(lambda[r], velocity[r], result);
    }
  }
  if (not_finite != 0.0) {  // true for NaN only
    constexpr double inf = std::numeric_limits<double>::infinity();
    return {inf, inf, inf, inf};
  }
  return result;
}

Residuals residuals(const Problem& problem, const ConstVectorRef& lambda) {
  Eigen::VectorXd velocity(problem.rows());
  return residuals(problem, lambda, velocity);
}

}  // namespace taut
