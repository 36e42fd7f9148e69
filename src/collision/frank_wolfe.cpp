#include "taut/collision/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace taut {

using Eigen::Vector3d;

FrankWolfeReport frank_wolfe(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                             double tolerance, int max_iterations) {
  if (!(tolerance > 0.0)) {
    throw std::invalid_argument("Frank-Wolfe: tolerance is " + std::to_string(tolerance) + ", it must be positive");
  }
  if (max_iterations <= 0) {
    throw std::invalid_argument("Frank-Wolfe: max_iterations is " + std::to_string(max_iterations) +
                                ", it must be positive");
  }
  const auto support_along = [&](const Vector3d& d) -> Vector3d {  // the point of the difference farthest along d
    return first_pose * support(first, first_pose.rotation.transpose() * d) -
           second_pose * support(second, second_pose.rotation.transpose() * -d);
  };
  // The centres are points of the shapes: their difference is one of the difference of the shapes.
  Vector3d x = first_pose * first.center - second_pose * second.center;
  FrankWolfeReport report;
  while (report.iterations < max_iterations) {
    const Vector3d s = support_along(-x);
    const double gap = 2.0 * x.dot(x - s);
    report.converged = gap <= tolerance || x.squaredNorm() <= tolerance;
    if (report.converged) break;
    const double gamma = std::clamp(0.5 * gap / (x - s).squaredNorm(), 0.0, 1.0);
    x += gamma * (s - x);
    ++report.iterations;
  }
  const bool touching = report.converged && x.squaredNorm() <= tolerance;
  report.distance = touching ? 0.0 : x.norm();
  return report;
}

}  // namespace taut
