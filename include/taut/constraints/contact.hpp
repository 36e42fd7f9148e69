#pragma once

#include <span>

#include "taut/collision/contact.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// How errors of position come back as velocities.
struct Stabilization {
  double margin = 1e-3;           ///< m: closer than this a pair is a contact (bodies that approach are seen earlier)
  double limit_margin = 1e-2;     ///< rad or m: the same for joint limits
  double correction = 0.2;        ///< share of a penetration corrected in one step: 1 − K_p of [S, App. D]
  double correction_speed = 1.0;  ///< m/s or rad/s: never correct faster, so that a deep start does not explode
};

/// Bias of a normal row: an open gap may close exactly, c ≥ −φ/dt; a penetration is corrected by the share Kp.
double gap_bias(double gap, double dt, const Stabilization& stabilization);

/// Appends (t1, t2, n) of each contact: velocity of body 1 relative to body 2 at the contact point.
void add_contacts(std::span<const Contact> contacts, const Dynamics& dynamics, double dt,
                  const Stabilization& stabilization, Rows& rows);

}  // namespace taut
