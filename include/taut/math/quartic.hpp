#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace taut {

/// f[0] + f[1] x + … + f[4] x⁴.
using Quartic = std::array<double, 5>;

class QuarticRoots {
 public:
  void add(double x) {
    if (size_ < x_.size()) x_[size_++] = x;
  }
  const double* begin() const { return x_.data(); }
  const double* end() const { return x_.data() + size_; }

 private:
  std::array<double, 8> x_{};  // four, or one at each of the four places where it may touch zero
  std::size_t size_ = 0;
};

namespace detail {

/// The root between points where the signs of a polynomial differ: Newton, and bisection where that would leave them.
template <std::size_t Size>
double root_between(const std::array<double, Size>& f, double low, double high, double at_low) {
  double x = 0.5 * (low + high);
  for (int k = 0; k < 80; ++k) {
    double value = f[Size - 1], derivative = 0.0;
    for (std::size_t d = Size - 1; d-- > 0;) {
      derivative = derivative * x + value;
      value = value * x + f[d];
    }
    if (value == 0.0) return x;
    ((value > 0.0) == (at_low > 0.0) ? low : high) = x;
    double next = x - value / derivative;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - x) <= 1e-15) return next;
    x = next;
  }
  return x;
}

/// The roots in [−1, 1] of a polynomial that is monotone between the corners, and the corners where it is below
/// `touch`.
template <std::size_t Size>
QuarticRoots roots_between(const std::array<double, Size>& f, const QuarticRoots& corners, double touch) {
  QuarticRoots found;
  double low = -1.0, at_low = 0.0;
  const auto at = [&](double x) {
    double value = f[Size - 1];
    for (std::size_t d = Size - 1; d-- > 0;) value = value * x + f[d];
    return value;
  };
  const auto up_to = [&](double high) {
    const double at_high = at(high);
    if ((at_low > 0.0) != (at_high > 0.0)) found.add(root_between(f, low, high, at_low));
    if (std::abs(at_high) <= touch) found.add(high);
    low = high;
    at_low = at_high;
  };
  at_low = at(low);
  for (const double corner : corners) up_to(corner);
  up_to(1.0);
  return found;
}

}  // namespace detail

/// The roots in [−1, 1], rising. Safe rather than closed form: a polynomial is monotone between the
/// roots of its derivative, so that none is missed however they crowd. Where it almost touches zero the touching point
/// is given too.
inline QuarticRoots quartic_roots(const Quartic& f) {
  const std::array<double, 4> slope{f[1], 2.0 * f[2], 3.0 * f[3], 4.0 * f[4]};
  QuarticRoots bends;
  if (const double a = 3.0 * slope[3], b = slope[2], c = slope[1], square = b * b - a * c; square > 0.0) {
    const double root = -(b + std::copysign(std::sqrt(square), b)), one = root / a, other = c / root;
    for (const double x : {std::min(one, other), std::max(one, other)}) {
      if (std::abs(x) < 1.0) bends.add(x);
    }
  }
  double size = 0.0;
  for (const double coefficient : f) size += std::abs(coefficient);
  return detail::roots_between(f, detail::roots_between(slope, bends, 0.0), 1e-10 * size);
}

}  // namespace taut
