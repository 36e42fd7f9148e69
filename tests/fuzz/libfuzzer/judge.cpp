// A problem from bytes: solved by any method it says how it went, and what is certified holds when it is judged again.
#include <Eigen/Core>
#include <stdexcept>

#include "bytes.hpp"
#include "taut/problem/owned_problem.hpp"
#include "taut/problem/residuals.hpp"
#include "taut/solvers/solver.hpp"

namespace {

using Eigen::Vector3d;

// The law written once more, block by block: the worst of primal, dual and natural residual.
Vector3d onto_cone(const Vector3d& x, double mu) {
  const double radius = std::hypot(x.x(), x.y());
  if (radius <= mu * x.z()) return x;
  const double height = mu * radius + x.z();
  if (height <= 0.0) return Vector3d::Zero();
  const double normal = height / (1.0 + mu * mu), share = mu * normal / radius;
  return {share * x.x(), share * x.y(), normal};
}

double worst(const taut::OwnedProblem& problem, const Eigen::VectorXd& lambda) {
  Eigen::MatrixXd A = problem.G;
  A.diagonal() += problem.R;
  const Eigen::VectorXd c = A * lambda + problem.g;
  double found = 0.0;
  for (const taut::Block& block : problem.blocks) {
    const auto x = lambda.segment(block.start, block.size), s = c.segment(block.start, block.size);
    double stiff = A.diagonal().segment(block.start, block.size).mean();
    if (!(stiff > 0.0)) stiff = 1.0;
    if (block.kind == taut::SetKind::cone) {
      Vector3d corrected = s;
      corrected.z() += block.mu * std::hypot(s[0], s[1]);
      const Vector3d impulse = x;
      found = std::max(found, (impulse - onto_cone(impulse, block.mu)).norm());
      found = std::max(found, onto_cone(-corrected, block.mu).norm());
      const Vector3d natural = impulse - onto_cone(impulse - corrected / stiff, block.mu);
      found = std::max(found, stiff * natural.cwiseAbs().maxCoeff());
    } else if (block.kind == taut::SetKind::positive) {
      found = std::max({found, -x[0], -s[0], stiff * std::abs(x[0] - std::max(0.0, x[0] - s[0] / stiff))});
    } else if (block.kind == taut::SetKind::interval) {
      const double nearest = std::min(std::max(x[0] - s[0] / stiff, -block.bound), block.bound);
      found = std::max({found, std::abs(x[0]) - block.bound, stiff * std::abs(x[0] - nearest)});
    } else {
      found = std::max(found, s.cwiseAbs().maxCoeff());
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const auto methods = taut::solvers();
  const auto& method = methods[static_cast<std::size_t>(bytes.below(static_cast<int>(methods.size())))];
  taut::OwnedProblem problem;
  int rows = 0;
  const int blocks = 1 + bytes.below(5);
  for (int i = 0; i < blocks; ++i) {
    taut::Block block{.kind = taut::SetKind::cone, .start = rows, .size = 3};
    switch (bytes.below(6)) {
      case 0:
        block = {.kind = taut::SetKind::positive, .start = rows, .size = 1};
        break;
      case 1:
        block = {.kind = taut::SetKind::interval, .start = rows, .size = 1, .bound = bytes.decades(-6, 3)};
        break;
      case 2:
        block = {.kind = taut::SetKind::free, .start = rows, .size = 1 + bytes.below(3)};
        break;
      default:
        block.mu = bytes.below(4) == 0 ? 0.0 : bytes.decades(-3, 1);
    }
    rows += block.size;
    problem.blocks.push_back(block);
  }
  const int rank = 1 + bytes.below(rows + 3);
  const double scale = bytes.decades(-6, 6);
  Eigen::MatrixXd J(rows, rank);
  for (double& x : J.reshaped()) x = scale * bytes.unit();
  problem.G = J * J.transpose();
  problem.g.resize(rows);
  for (double& x : problem.g) x = bytes.below(8) == 0 ? 0.0 : bytes.unit() * 10.0;
  problem.R.setZero(rows);
  if (bytes.below(4) == 0) problem.R.setConstant(bytes.decades(-6, 3));
  if (bytes.below(16) == 0) problem.G(0, 0) = bytes.raw();
  if (bytes.below(16) == 0) problem.g[rows - 1] = bytes.raw();

  Eigen::VectorXd lambda = Eigen::VectorXd::Zero(rows), velocity(rows);
  if (bytes.below(3) == 0) {
    for (double& x : lambda) x = bytes.unit();
  }
  const double tolerance = 1e-8;
  taut::SolveReport report;
  try {
    taut::Solver solver(method.name, {.tolerance = tolerance, .max_iterations = 300});
    solver.reserve(rows);
    report = solver.solve(problem.view(), lambda, velocity);
  } catch (const std::invalid_argument&) {  // a block it does not take
    return 0;
  }
  if (report.status != taut::Status::converged) return 0;
  if (!lambda.allFinite() || !velocity.allFinite()) found("converged, but not finite");
  if (method.model != taut::Model::ncp) return 0;
  const double residual = worst(problem, lambda);
  const double rounding = 1e-12 * (problem.G.cwiseAbs() * lambda.cwiseAbs()).maxCoeff();
  if (!(residual <= 5.0 * tolerance + rounding)) found("false converged", residual, rounding);
  return 0;
}
