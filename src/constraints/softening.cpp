#include "taut/constraints/softening.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace taut {

double Softening::impedance(double error) const {
  const double x = std::abs(error) / width;
  if (x >= 1.0) return d_width;
  const double shaped = power == 1.0    ? x
                        : x <= midpoint ? std::pow(x, power) / std::pow(midpoint, power - 1.0)
                                        : 1.0 - std::pow(1.0 - x, power) / std::pow(1.0 - midpoint, power - 1.0);
  return d_0 + shaped * (d_width - d_0);
}

SoftRow soften(const Softening& softening, double error, double approach, double mobility, double dt) {
  const double d = softening.impedance(error);
  const double time = std::max(softening.time_constant, 2.0 * dt), ratio = softening.damping_ratio;
  const double b = 2.0 / (softening.d_width * time);
  const double k = d / (softening.d_width * softening.d_width * time * time * ratio * ratio);
  return {.compliance = (1.0 - d) / d * mobility, .bias = dt * k * error - (1.0 - dt * b) * approach};
}

void validate(const Softening& softening) {
  const auto require = [](bool fine, const char* what, double value) {
    if (!fine) throw std::invalid_argument(std::string("softening: ") + what + " is " + std::to_string(value));
  };
  require(softening.d_0 > 0.0 && softening.d_0 < 1.0, "the impedance d_0 must be between 0 and 1; it", softening.d_0);
  require(softening.d_width > 0.0 && softening.d_width < 1.0, "the impedance d_width must be between 0 and 1; it",
          softening.d_width);
  for (const auto& [what, value] :
       {std::pair("width", softening.width), std::pair("power", softening.power),
        std::pair("time_constant", softening.time_constant), std::pair("damping_ratio", softening.damping_ratio)}) {
    require(std::isfinite(value), what, value);
  }
  require(softening.width > 0.0, "width must be positive; it", softening.width);
  require(softening.midpoint > 0.0 && softening.midpoint < 1.0, "midpoint must be between 0 and 1; it",
          softening.midpoint);
  require(softening.power >= 1.0, "power must not be below 1; it", softening.power);
  require(softening.time_constant > 0.0, "time_constant must be positive; it", softening.time_constant);
  require(softening.damping_ratio > 0.0, "damping_ratio must be positive; it", softening.damping_ratio);
}

}  // namespace taut
