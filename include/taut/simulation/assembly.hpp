#pragma once

#include <span>
#include <string>
#include <vector>

#include "taut/simulation/scene.hpp"

namespace taut {

/// How far each loop of a scene is open in a configuration, in the order of `Scene::loops`.
std::vector<LoopGap> loop_gaps(const Scene& scene, const ConstVectorRef& q);

/// φ of all loops and then of all couplings, one below the other.
Eigen::VectorXd closure_error(const Scene& scene, const ConstVectorRef& q);

/// Its derivative in the tangent space of q: the rows J of loops and couplings.
Eigen::MatrixXd closure_jacobian(const Scene& scene, const ConstVectorRef& q);

/// How far joints are beyond their limits in a configuration, at worst: m of those that slide, rad of those that turn.
/// Zero within them; NaN if q is.
LoopGap limit_excess(const Scene& scene, const ConstVectorRef& q);

struct AssemblyOptions {
  double tolerance = 1e-10;  ///< m and rad, of every row
  int max_iterations = 200;
  std::vector<int> fixed;  ///< joints that must not move, such as a floating base
};

/// The configuration near `q` in which every loop and coupling is closed and hinges and slides that are not fixed are
/// within their limits.
///
/// Levenberg-Marquardt on the closure errors, each step the shortest that helps. Throws std::invalid_argument naming
/// the loop that stays open, and by how much, if there is none to be found.
Eigen::VectorXd assemble(const Scene& scene, const ConstVectorRef& q, const AssemblyOptions& options = {});

}  // namespace taut
