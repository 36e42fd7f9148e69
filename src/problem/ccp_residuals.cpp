#include "taut/problem/ccp_residuals.hpp"

#include "taut/problem/judge.hpp"

namespace taut {

Residuals ccp_residuals(const Problem& problem, const ConstVectorRef& lambda, VectorRef velocity) {
  return judge_blocks(problem, lambda, velocity,
                      [](const Block& block, double stiffness, const Eigen::Vector3d& x, const Eigen::Vector3d& c,
                         Residuals& r) { judge_cone(block.mu, stiffness, x, c, r); });
}

}  // namespace taut
