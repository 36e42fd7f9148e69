#pragma once

namespace taut {

/// MuJoCo's soft constraint: a spring and damper whose stiffness depends on the error, and an inverse inertia that
/// grows as it gives way ([KL, Sec. V-D], MuJoCo's "Solver parameters"). Not what taut is for; here to compare.
///
/// With impedance d(r) in (0, 1) a row becomes  c + R λ = (1 − dt b) c⁻ − dt k r,  R = (1 − d)/d G_jj. [KL, eq. (106)]
/// leaves out the velocity c⁻ that the reference acceleration is added to; with it d → 1 is a damped spring.
struct Softening {
  double d_0 = 0.9, d_width = 0.95;  ///< impedance without error, and at `width` and beyond
  double width = 1e-3;               ///< m or rad
  double midpoint = 0.5, power = 2.0;
  double time_constant = 0.02;  ///< s; at least two steps are used, as in MuJoCo
  double damping_ratio = 1.0;

  /// d(r) of [KL, eq. (104)].
  double impedance(double error) const;
};

/// What a softened row is given: R and the bias in place of its own.
struct SoftRow {
  double compliance, bias;
};

/// `error` is r < 0 in penetration, `approach` is c⁻, `mobility` is G_jj.
SoftRow soften(const Softening& softening, double error, double approach, double mobility, double dt);

/// Throws std::invalid_argument naming the value: impedances outside (0, 1), width or time constant ≤ 0.
void validate(const Softening& softening);

}  // namespace taut
