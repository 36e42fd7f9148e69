#pragma once

#include <cmath>
#include <limits>

#include "taut/problem/residuals.hpp"
#include "taut/problem/sets.hpp"

namespace taut {

/// What the judges of all contact models share: the velocity, the sets that no model changes, NaN. `contact(block,
/// stiffness, λ_i, c_i, residuals)` judges one contact and only ever raises a number.
template <class ContactLaw>
Residuals judge_blocks(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity,
                       const ContactLaw& contact) {
  velocity_of(problem, lambda, velocity);
  double not_finite = 0.0;  // zero, or NaN: std::max would drop a NaN silently
  Residuals result;
  const auto keep_larger = [](double& worst, double value) { worst = std::max(worst, value); };
  for (int i = 0; i < problem.size(); ++i) {
    const Block& block = problem.blocks[i];
    const double stiffness = mean_diagonal(problem, i);
    const int start = block.start;
    for (int r = start; r < start + block.size; ++r) not_finite += 0.0 * velocity[r] + 0.0 * lambda[r];
    if (block.kind == SetKind::cone) {
      contact(block, stiffness, Eigen::Vector3d(lambda.segment<3>(start)), Eigen::Vector3d(velocity.segment<3>(start)),
              result);
      continue;
    }
    for (int r = start; r < start + block.size; ++r) {
      const double x = lambda[r], c = velocity[r];
      if (block.kind == SetKind::positive) {
        keep_larger(result.primal, -x);
        keep_larger(result.dual, -c);
        keep_larger(result.complementarity, std::abs(x * c));
        keep_larger(result.natural, std::abs(stiffness * (x - std::max(0.0, x - c / stiffness))));
      } else if (block.kind == SetKind::interval) {
        // An interval has no cone and hence no dual one: every c is allowed, with the λ that opposes it. Its
        // complementarity is the dissipation missing to the most an impulse of the set can give, c λ + b |c| ≥ 0.
        const double b = block.bound;
        keep_larger(result.primal, std::abs(x) - b);
        keep_larger(result.complementarity, std::abs(c * x + b * std::abs(c)));
        keep_larger(result.natural, std::abs(stiffness * (x - std::clamp(x - c / stiffness, -b, b))));
      } else {
        keep_larger(result.dual, std::abs(c));  // the dual of the whole space is {0}
        keep_larger(result.complementarity, std::abs(x * c));
        keep_larger(result.natural, std::abs(c));
      }
    }
  }
  if (not_finite != 0.0) {  // true for NaN only
    constexpr double inf = std::numeric_limits<double>::infinity();
    return {inf, inf, inf, inf};
  }
  return result;
}

/// K_μ ∋ λ ⊥ s ∈ K_μ*: what the residuals say of one cone, whatever the corrected velocity s is.
inline void judge_cone(double mu, double stiffness, const Eigen::Vector3d& lambda, const Eigen::Vector3d& s,
                       Residuals& r) {
  r.primal = std::max(r.primal, (lambda - project_onto_cone(lambda, mu)).norm());
  r.dual = std::max(r.dual, project_onto_cone(-s, mu).norm());  // Moreau: what P_{K*} would have to add
  r.complementarity = std::max(r.complementarity, std::abs(lambda.dot(s)));
  const Eigen::Vector3d natural = lambda - project_onto_cone(lambda - s / stiffness, mu);
  r.natural = std::max(r.natural, stiffness * natural.lpNorm<Eigen::Infinity>());
}

}  // namespace taut
