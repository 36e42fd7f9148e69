#include "taut/constraints/stabilization.hpp"

#include <algorithm>

namespace taut {

double gap_bias(double gap, double approach, double correction, const Instant& instant,
                const Stabilization& stabilization) {
  const double left = gap + stabilization.penetration;
  if (left >= 0.0) return left / instant.ahead;
  const double before = std::min(0.0, left - (instant.dt - instant.ahead) * std::min(0.0, approach));
  return std::max(correction * before / instant.dt, -stabilization.correction_speed);
}

}  // namespace taut
