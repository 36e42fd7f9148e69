#pragma once

#include "taut/problem/residuals.hpp"

namespace taut {

/// How far λ is from solving the convex relaxation of a problem,
///
///   K_μ ∋ λ ⊥ c ∈ K_μ*,   c = (G + R) λ + g          [CB, eq. (16)]
///
/// the exact law without De Saxcé's term Γ: the conditions of  min ½ λᵀ (G + R) λ + gᵀ λ  over the cones. Where
/// `residuals` reads a corrected velocity this one reads c; blocks other than contacts are the same in both. Does not
/// allocate. `velocity` receives c.
Residuals ccp_residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity);

}  // namespace taut
