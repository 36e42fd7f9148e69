#pragma once

#include "taut/simulation/scene.hpp"
#include "xml.hpp"

namespace taut::mjcf {

/// Warns, by kind, about the elements and attributes of an MJCF file that no part of the reader looks at. What is for
/// display only, or without effect on how a rigid world moves, is passed over; what depends on values (condim, springs
/// of balls, laws of actuators) is left to those who read them.
void warn_about_dropped(const xml::Element& root, Scene& scene);

}  // namespace taut::mjcf
