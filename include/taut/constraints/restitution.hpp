#pragma once

#include <algorithm>

#include "taut/constraints/stabilization.hpp"
#include "taut/problem/problem.hpp"

namespace taut {

/// A one-sided row that bounces in this step by Newton's law, c⁺ ≥ −e c⁻ [KL, eq. (54)].
struct Bounce {
  int row;
  double restitution;
  double approach;       ///< c⁻ < 0
  double without = 0.0;  ///< its bias if it did not bounce
};

/// True if a row at distance `gap` closes within the step, faster than `threshold`. It then bounces where it is, by
/// less than a step too early: with e = 1 a ball's way up mirrors its way down, and its energy is exact.
bool bounces(double gap, double approach, double free_velocity, double threshold, const Instant& instant);

/// The bias that makes a bounce: c + bias ≥ 0.
inline double bounce_bias(const Bounce& bounce, double scale) {
  return std::min(bounce.without, scale * bounce.restitution * bounce.approach);
}

/// Kinetic energy that the impulses add: λᵀ (J v_free) + λᵀ G λ / 2.
///
/// Newton's law with friction or several contacts may have more of it after an impact than before (Kane's paradox);
/// taut then lowers every e by one factor until it does not.
double energy_of_impulses(const Problem& problem, const ConstVectorRef& bias, const ConstVectorRef& lambda,
                          const ConstVectorRef& velocity);

}  // namespace taut
