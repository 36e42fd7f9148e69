#pragma once

#include <cstdint>

namespace taut {

/// The set a block of impulses lives in. Every block obeys  set ∋ λ ⊥ c + Γ(c) ∈ dual set  (docs/theory.md, "Sets").
enum class SetKind : std::uint8_t {
  free,      ///< bilateral: λ ∈ Rⁿ, c = 0
  positive,  ///< a joint limit: λ ≥ 0, c ≥ 0, λ c = 0
  interval,  ///< dry joint friction: λ ∈ [−b, b], sliding (c ≠ 0) only at the bound that opposes it
  cone,      ///< frictional contact (t1, t2, n): Signorini and Coulomb
};

/// "free", "positive", "interval" or "cone".
const char* to_string(SetKind kind);

/// One constraint: rows [start, start + size) of the problem.
struct Block {
  SetKind kind = SetKind::cone;
  int start = 0;
  int size = 3;        ///< cone 3, positive and interval 1, free any
  double mu = 0.0;     ///< cone: coefficient of friction, ≥ 0
  double bound = 0.0;  ///< interval: b ≥ 0, an impulse
};

}  // namespace taut
