#include "taut/problem/residuals.hpp"

#include "taut/problem/judge.hpp"

namespace taut {

// K_μ ∋ λ ⊥ s ∈ K_μ*,  s = c + Γ(c, μ)                                        [CB, eq. (15)]
Residuals residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity) {
  return judge_blocks(problem, lambda, velocity,
                      [](const Block& block, double stiffness, const Eigen::Vector3d& x, const Eigen::Vector3d& c,
                         Residuals& r) { judge_cone(block.mu, stiffness, x, c + de_saxce(c, block.mu), r); });
}

Residuals residuals(const Problem& problem, const ConstVectorRef& lambda) {
  Eigen::VectorXd velocity(problem.rows());
  return residuals(problem, lambda, velocity);
}

}  // namespace taut
