#pragma once

#include <Eigen/Core>
#include <cmath>

#include "taut/math/dense.hpp"
#include "taut/math/interruption.hpp"

namespace taut {

/// Preconditioned conjugate gradients for A x = b, A symmetric and positive definite (semi-definite if b lies in its
/// range). `apply(x, y)` writes y = A x, `precondition(r, z)` writes z = P r with P ≈ A⁻¹ symmetric and positive
/// definite; both take `n` doubles. `x` is the start and the solution. Stops when |b − A x| ≤ tolerance |b|, after
/// `max_iterations`, or where the search direction has no curvature left: A is singular there, or not finite, and x
/// stays the last good iterate. `work` has 4 n doubles; nothing is allocated. Returns the iterations.
///
/// The residual of the stopping rule is the recursive one, which drifts from b − A x by rounding: callers that need
/// the last digits judge x themselves.
template <class Apply, class Precondition>
int conjugate_gradient(int n, const Apply& apply, const Precondition& precondition, const double* b, double* x,
                       double tolerance, int max_iterations, double* work) {
  const Eigen::Map<const Eigen::VectorXd> rhs(b, n);
  VectorView solution(x, n), residual(work, n), direction(work + n, n), image(work + 2 * n, n),
      preconditioned(work + 3 * n, n);
  apply(x, image.data());
  residual = rhs - image;
  const double enough = tolerance * rhs.norm();
  if (!(residual.norm() > enough)) return 0;  // also if it is not a number

  precondition(residual.data(), preconditioned.data());
  direction = preconditioned;
  double rz = residual.dot(preconditioned);
  int iterations = 0;
  while (iterations < max_iterations) {
    may_interrupt(n);
    apply(direction.data(), image.data());
    const double curvature = direction.dot(image), step = rz / curvature;
    if (!(curvature > 0.0) || !std::isfinite(step)) return iterations;
    solution += step * direction;
    residual -= step * image;
    ++iterations;
    if (!(residual.norm() > enough)) return iterations;

    precondition(residual.data(), preconditioned.data());
    const double rz_next = residual.dot(preconditioned);
    direction = preconditioned + (rz_next / rz) * direction;
    rz = rz_next;
  }
  return iterations;
}

}  // namespace taut
