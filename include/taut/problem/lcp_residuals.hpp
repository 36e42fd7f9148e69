#pragma once

#include "taut/problem/pyramid.hpp"
#include "taut/problem/residuals.hpp"

namespace taut {

/// The judge of the LCP model: Signorini, and maximum dissipation over the pyramid instead of Coulomb's cone,
///
///   K̃_μ ∋ λ ⊥ s ∈ K̃_μ*,   s = c + (0, 0, μ h(−c_t)),   h the support function of the polygon   [CB, Sec. III-A]
///
/// which is the exact law's with |c_t| replaced by h(−c_t). The numbers mean what those of `residuals` mean and tend to
/// them as the sides grow in number. Does not allocate. `velocity` receives c = (G + R) λ + g.
Residuals lcp_residuals(const Problem& problem, const Pyramid& pyramid, const ConstVectorRef& lambda,
                        VectorRef velocity);

/// Every block of λ onto its set, contacts onto the pyramid.
void project_onto_pyramids(const Problem& problem, const Pyramid& pyramid, VectorRef lambda);

}  // namespace taut
