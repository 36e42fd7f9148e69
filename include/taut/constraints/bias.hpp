#pragma once

#include "taut/constraints/loop.hpp"
#include "taut/constraints/stabilization.hpp"

namespace taut {

/// The bias of a one-sided row, and its slopes: decided once, for the step and for its derivative.
struct GapBias {
  double value = 0.0;
  double gap = 0.0, approach = 0.0;  ///< d value by d gap and by d approach
  double gain = 0.0;                 ///< and by the share of a penetration that is corrected
  double kink = HUGE_VAL;            ///< m/s: how far from where the slope by the gap changes
};

/// Of a row at signed distance `gap`, with `approach`, its velocity at the start of the step; a spring if it has
/// compliance (`spring_bias`), else as `gap_bias` has it.
GapBias bias_of_gap(double gap, double approach, bool is_spring, double correction, const Instant& instant,
                    const Stabilization& stabilization);

/// The bias of the rows of a loop or coupling, by its error φ alone: rows with compliance are springs, of the others a
/// share is closed, together not faster than allowed.
///
///   value = rate φ of rigid rows, φ/ahead of springs
struct ClosureBias {
  LoopVector rigid;    ///< φ of the rows that are rigid; zero for springs
  LoopVector value;    ///< the bias
  LoopVector closing;  ///< that of the rigid rows alone
  LoopVector slope;    ///< d value by dφ, row by row, at a `rate` that does not change
  double rate = 0.0;
  bool capped = false;  ///< closed as fast as allowed: the rate is that speed by |rigid|
  double size = 0.0;    ///< |rigid|
  double kink = 0.0;    ///< m/s: how far it is from being capped, or from not being
};

/// `compliance` holds R of these rows.
ClosureBias bias_of_closure(const LoopVector& error, const ConstVectorRef& compliance, const Instant& instant,
                            const Stabilization& stabilization);

/// How much of the bend φ(q ⊕ ahead v) − φ − ahead J v counts: half a step ahead sees a quarter of it, and of the rest
/// the first half of the step has made a part already.
inline double bend_share(const Instant& instant) { return instant.ahead < instant.dt ? 3.0 : 1.0; }

/// A rotation vector starts anew where a weld passes half a turn: 2 π between two errors is no motion.
bool starts_anew(const LoopRows& rows, const ConstVectorRef& error, const ConstVectorRef& ahead);

}  // namespace taut
