#include "taut/problem/lcp_residuals.hpp"

#include "taut/problem/judge.hpp"

namespace taut {

Residuals lcp_residuals(const Problem& problem, const Pyramid& pyramid, const ConstVectorRef& lambda,
                        VectorRef velocity) {
  const auto contact = [&](const Block& block, double stiffness, const Eigen::Vector3d& x, const Eigen::Vector3d& c,
                           Residuals& r) {
    const Eigen::Vector3d s(c[0], c[1], c[2] + block.mu * pyramid.support(-c.head<2>()));
    r.primal = std::max(r.primal, (x - pyramid.project_onto_cone(x, block.mu)).norm());
    r.dual = std::max(r.dual, pyramid.project_onto_cone(-s, block.mu).norm());  // Moreau: P_{K̃*}(s) − s
    r.complementarity = std::max(r.complementarity, std::abs(x.dot(s)));
    const Eigen::Vector3d natural = x - pyramid.project_onto_cone(x - s / stiffness, block.mu);
    r.natural = std::max(r.natural, stiffness * natural.lpNorm<Eigen::Infinity>());
  };
  return judge_blocks(problem, lambda, velocity, contact);
}

void project_onto_pyramids(const Problem& problem, const Pyramid& pyramid, VectorRef lambda) {
  for (const Block& block : problem.blocks) {
    if (block.kind == SetKind::cone) {
      const Eigen::Vector3d x = lambda.segment<3>(block.start);
      lambda.segment<3>(block.start) = pyramid.project_onto_cone(x, block.mu);
    } else {
      project(block, lambda.data() + block.start);
    }
  }
}

}  // namespace taut
