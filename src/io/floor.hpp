#pragma once

#include <optional>

#include "taut/simulation/scene.hpp"

namespace taut::io {

/// Gives every shape, and every pair that has friction, the coefficient `mu`, if there is one.
void override_friction(Scene& scene, std::optional<double> mu);

/// Adds the half-space z ≤ 0 unless the world has it already: two of them would double every contact.
void add_floor_once(Scene& scene, std::optional<double> mu);

/// Height of the lowest point of the moving shapes in configuration q; infinite if there are none.
double lowest_point(const Scene& scene, const Eigen::VectorXd& q);

}  // namespace taut::io
