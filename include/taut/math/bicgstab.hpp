#pragma once

#include <algorithm>
#include <cmath>

#include "taut/math/interruption.hpp"

namespace taut {

/// Solves A x = b for a matrix that need not be symmetric, by BiCGSTAB (van der Vorst 1992), preconditioned from the
/// right. `apply(x, y)` writes y = A x, `precondition(r, z)` z ≈ A⁻¹ r; `x` is the start on entry and the solution on
/// exit; `work` has room for 8 n. Stops at |b − A x| ≤ tolerance |b|, after `max_products` products with A, or when it
/// breaks down; x is then the last iterate. Returns the products. Does not allocate.
template <class Apply, class Precondition>
int bicgstab(int n, const Apply& apply, const Precondition& precondition, const double* b, double* x, double tolerance,
             int max_products, double* work) {
  double *r = work, *shadow = r + n, *p = shadow + n, *v = p + n, *s = v + n, *t = s + n, *hat = t + n, *z = hat + n;
  const auto dot = [n](const double* a, const double* c) {
    double sum = 0.0;
    for (int k = 0; k < n; ++k) sum += a[k] * c[k];
    return sum;
  };
  const double target = tolerance * std::sqrt(dot(b, b));
  apply(x, r);
  for (int k = 0; k < n; ++k) r[k] = b[k] - r[k];
  std::copy_n(r, n, shadow);
  std::copy_n(r, n, p);
  double rho = dot(shadow, r);
  int products = 1;
  while (products + 1 < max_products && std::sqrt(dot(r, r)) > target) {
    may_interrupt(n);
    precondition(p, hat);
    apply(hat, v);
    const double alpha = rho / dot(shadow, v);
    if (!std::isfinite(alpha)) break;
    for (int k = 0; k < n; ++k) s[k] = r[k] - alpha * v[k];
    precondition(s, z);
    apply(z, t);
    products += 2;
    const double tt = dot(t, t), omega = tt > 0.0 ? dot(t, s) / tt : 0.0;
    for (int k = 0; k < n; ++k) {
      x[k] += alpha * hat[k] + omega * z[k];
      r[k] = s[k] - omega * t[k];
    }
    const double rho_next = dot(shadow, r), beta = rho_next / rho * (alpha / omega);
    if (!std::isfinite(beta)) break;
    rho = rho_next;
    for (int k = 0; k < n; ++k) p[k] = r[k] + beta * (p[k] - omega * v[k]);
  }
  return products;
}

}  // namespace taut
