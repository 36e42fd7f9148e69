#include "taut/constraints/restitution.hpp"

#include <algorithm>

namespace taut {

bool bounces(double gap, double approach, double free_velocity, double threshold, const Instant& instant) {
  return approach < -threshold && gap + instant.ahead * std::min(approach, free_velocity) <= 0.0;
}

double energy_of_impulses(const Problem& problem, const ConstVectorRef& bias, const ConstVectorRef& lambda,
                          const ConstVectorRef& velocity) {
  double energy = 0.0;
  for (Eigen::Index i = 0; i < lambda.size(); ++i) {
    const double pushed = velocity[i] - problem.g[i] - problem.R[i] * lambda[i];  // (G λ)_i
    energy += lambda[i] * (0.5 * pushed + problem.g[i] - bias[i]);
  }
  return energy;
}

}  // namespace taut
