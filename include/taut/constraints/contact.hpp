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
///
/// `compliance` e (m/N) makes a contact give way: R = e/dt² on its rows, so that R λ = e f/dt for λ = f dt. With the
/// whole gap as bias, c + φ/dt + e f/dt = 0 says φ + dt c = −e f: at the end of the step a spring of stiffness 1/e. A
/// penetration enters the bias by the share Kp, so that a body at rest sinks by e f/Kp and gets there as one that is
/// damped. Tangents remember no position: a contact that sticks creeps at e f_t/dt.
void add_contacts(std::span<const Contact> contacts, const Dynamics& dynamics, double dt,
                  const Stabilization& stabilization, Rows& rows, double compliance = 0.0);

}  // namespace taut
