#include "taut/constraints/stabilization.hpp"

#include "taut/constraints/bias.hpp"

namespace taut {

double gap_bias(double gap, double approach, double correction, const Instant& instant,
                const Stabilization& stabilization) {
  return bias_of_gap(gap, approach, false, correction, instant, stabilization).value;
}

}  // namespace taut
