#pragma once

#include <algorithm>

#include "taut/problem/problem.hpp"

namespace taut {

/// How far λ is from solving a problem. Zero for an exact solution; the worst block counts; infinite if λ or the
/// velocity it makes is not finite.
struct Residuals {
  double primal = 0.0;           ///< distance of λ to its set, N s                     [CB, Sec. III-A]
  double dual = 0.0;             ///< distance of the corrected velocity to the dual set, m/s
  double complementarity = 0.0;  ///< |⟨λ, c + Γ(c)⟩|, J; of an interval c λ + b |c|
  double natural = 0.0;          ///< ‖(λ − P(λ − ρ s))/ρ‖∞, ρ = size / trace((G + R)_ii), s = c + Γ(c): m/s

  /// What a tolerance is held against. The natural map bounds `dual` up to √3 and, times |λ|, `complementarity`.
  double worst() const { return std::max({primal, dual, natural}); }
};

/// The one judge of every method: no solver grades itself. Does not allocate. `velocity` receives c = (G + R) λ + g.
Residuals residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity);

/// The same, for callers that do not keep the velocity. Allocates.
Residuals residuals(const Problem& problem, const ConstVectorRef& lambda);

/// Throws std::invalid_argument, naming the value, unless sizes agree, everything is finite, R, μ and bounds are
/// non-negative, blocks cover the rows in order, cones have three rows and limits and joint friction one.
void validate(const Problem& problem);

}  // namespace taut
