#pragma once

#include "taut/dynamics/instant.hpp"

namespace taut {

/// How errors of position come back as velocities, by class of constraint.
struct Stabilization {
  double margin = 1e-3;           ///< m: closer than this a pair is a contact (bodies that approach are seen earlier)
  double limit_margin = 1e-2;     ///< rad or m: the same for joint limits
  double correction = 0.2;        ///< share of a penetration corrected in one step: 1 − K_p of [S, App. D]
  double limit_correction = 0.2;  ///< the same past a joint limit
  double loop_correction = 1.0;   ///< the same of an open loop; two-sided, so that all of it does no harm
  double correction_speed = 1.0;  ///< m/s or rad/s: never correct faster, so that a deep start does not explode
  double penetration = 0.0;       ///< m: δ of [KL, eq. (91)]: bodies at rest overlap by this (below zero: keep apart)
};

/// Bias of a one-sided row at signed distance `gap`: an open gap may close exactly, c ≥ −φ/ahead; a penetration is
/// corrected by the share `correction`. `approach` is the row's velocity at the start of the step: what it has cost on
/// the way to the midpoint is an impact, not an error to undo.
double gap_bias(double gap, double approach, double correction, const Instant& instant,
                const Stabilization& stabilization);

/// The same for a row with compliance e (m/N), which is a spring and not an error: with R = e/(dt·ahead) on the row,
/// c + φ/ahead + R λ = 0 says that φ + ahead·c = −e f at the end of the step, f = λ/dt.
inline double spring_bias(double gap, const Instant& instant) { return gap / instant.ahead; }
inline double spring_compliance(double compliance, const Instant& instant) {
  return compliance / (instant.dt * instant.ahead);
}

}  // namespace taut
