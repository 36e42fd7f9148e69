#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace taut {

/// One contact with the others frozen: c = G λ + free, rows (t1, t2, n). G is (G + R)_ii, positive semi-definite.
struct LocalContact {
  Eigen::Matrix3d G;
  Eigen::Vector3d free;
  double mu = 0.0;
};

/// How RaiSim's sliding impulse is searched. All three find the same point of the same conic.
enum class SlidingSearch : std::uint8_t {
  bisection,  ///< on the sign of the slope, from a good guess                       [RS, Alg. 1]
  golden,     ///< golden section between the tangents seen from the sticking impulse
  quartic,    ///< all stationary points, roots of a quartic; the lowest
};

/// RaiSim's law of one contact. Leaving if free_n ≥ 0; otherwise, with c_n = 0 imposed, the impulse
///
///   argmin ½ λᵀ G λ + (free + s)ᵀ λ   over  λ ∈ K_μ,  c_n = 0          [RS, eq. (8)], [CB, eq. (23)]
///
/// which sticks if it can. `shift` is s_n: zero for RaiSim, De Saxcé's μ |c_t| for its correction [KL, eq. (152)].
/// `lambda` is the present impulse on entry. False if the law has no answer (the contact cannot be held, or the least
/// is not attained); `lambda` is then better than it was, by projected gradient, and in the cone.
bool solve_raisim_contact(const LocalContact& contact, SlidingSearch search, double shift, Eigen::Vector3d& lambda);

/// Signorini, Coulomb and maximum dissipation of one contact, exactly: leaving, sticking or a root of the quartic of
/// sliding. Of several sliding answers (large μ) one near `lambda`, the present impulse, which keeps a sweep on its
/// branch. True means certified: the natural map of the answer is at most 1e-12 + 1e-14 μ of stiffness |λ| + |free|.
/// False if nothing is, because the contact jams (G singular, μ |G_nt| > G_nn) or G is conditioned worse than about
/// 1e8; `lambda` is then as for `solve_raisim_contact`.
bool solve_exact_contact(const LocalContact& contact, Eigen::Vector3d& lambda);

/// ‖(λ − P_K(λ − ρ s))/ρ‖∞, ρ = 3 / trace G, s = c + Γ(c): what `residuals` says of the contact alone.
double natural_map(const LocalContact& contact, const Eigen::Vector3d& lambda);

}  // namespace taut
