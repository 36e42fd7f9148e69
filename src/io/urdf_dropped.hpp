#pragma once

#include "taut/simulation/scene.hpp"
#include "xml.hpp"

namespace taut::urdf {

/// Warns, by kind, about what a URDF file holds and neither Pinocchio's reader nor ours takes from it. What is for
/// display only, or without effect on a simulation, is passed over.
void warn_about_dropped(const xml::Element& robot, Scene& scene);

}  // namespace taut::urdf
