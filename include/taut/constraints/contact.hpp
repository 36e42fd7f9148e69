#pragma once

#include <span>

#include "taut/collision/contact.hpp"
#include "taut/constraints/stabilization.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// Compliance (m/N) of every contact beside its own. A contact that sticks remembers no position, so that one with a
/// tangential compliance e creeps at e f_t/dt: [CB]'s model, not a spring.
struct ContactCompliance {
  double normal = 0.0, tangential = 0.0;
};

/// Appends (t1, t2, n) of each contact: velocity of body 1 relative to body 2 at the contact point.
void add_contacts(std::span<const Contact> contacts, const Dynamics& dynamics, const Instant& instant,
                  const ContactCompliance& compliance, Rows& rows);

/// Bias of the normal rows of contacts, which are the first blocks of `rows`. `approach` holds the velocities of the
/// rows at the start of the step; it may be empty where nothing depends on it (semi-implicit Euler).
void bias_contacts(std::span<const Contact> contacts, const ConstVectorRef& approach, const Instant& instant,
                   const Stabilization& stabilization, Rows& rows);

}  // namespace taut
