#include "taut/constraints/bias.hpp"

#include <algorithm>
#include <cmath>

namespace taut {

GapBias bias_of_gap(double gap, double approach, bool is_spring, double correction, const Instant& instant,
                    const Stabilization& stabilization) {
  const double ahead = instant.ahead;
  if (is_spring) return {.value = spring_bias(gap, instant), .gap = 1.0 / ahead};
  const double left = gap + stabilization.penetration, share = correction / instant.dt;
  const double done = instant.dt - ahead;  // the part of the step that lies behind
  const double at_start = left - done * std::min(0.0, approach);
  const double kink =
      share * ahead == 1.0 && done == 0.0 ? HUGE_VAL : std::min(std::abs(left), std::abs(at_start)) / instant.dt;
  if (left >= 0.0) return {.value = left / ahead, .gap = 1.0 / ahead, .kink = kink};
  const double before = std::min(0.0, at_start);
  const double value = share * before, slowest = -stabilization.correction_speed;
  const double to_cap = std::abs(value - slowest);
  if (value < slowest) return {.value = slowest, .kink = std::min(kink, to_cap)};
  if (before == 0.0) return {.kink = kink};
  return {.value = value,
          .gap = share,
          .approach = approach < 0.0 ? -share * done : 0.0,
          .gain = before / instant.dt,
          .kink = std::min(kink, to_cap)};
}

ClosureBias bias_of_closure(const LoopVector& error, const ConstVectorRef& compliance, const Instant& instant,
                            const Stabilization& stabilization) {
  ClosureBias bias;
  bias.rigid = error;
  for (Eigen::Index k = 0; k < error.size(); ++k) {
    if (compliance[k] > 0.0) bias.rigid[k] = 0.0;
  }
  bias.size = bias.rigid.norm();
  bias.rate = stabilization.loop_correction / instant.dt;
  const double speed = bias.rate * bias.size;
  bias.capped = speed > stabilization.correction_speed;
  bias.kink = std::abs(speed - stabilization.correction_speed);
  if (bias.capped) bias.rate *= stabilization.correction_speed / speed;
  bias.closing = bias.rate * bias.rigid;
  bias.value = bias.closing;
  bias.slope.setConstant(error.size(), bias.rate);
  for (Eigen::Index k = 0; k < error.size(); ++k) {
    if (compliance[k] == 0.0) continue;
    bias.value[k] = spring_bias(error[k], instant);
    bias.slope[k] = 1.0 / instant.ahead;
  }
  return bias;
}

bool starts_anew(const LoopRows& rows, const ConstVectorRef& error, const ConstVectorRef& ahead) {
  return rows.angular == 3 && (ahead - error).tail<3>().norm() > EIGEN_PI;
}

}  // namespace taut
