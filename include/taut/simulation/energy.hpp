#pragma once

#include "taut/dynamics/kinematics.hpp"
#include "taut/simulation/scene.hpp"

namespace taut {

/// Kinetic and potential energy of bodies, armature and joint springs, in J. Zero potential at z = 0 and where springs
/// are at rest. `kinematics` is scratch: of all joints of the scene's model.
double mechanical_energy(const Scene& scene, const ConstVectorRef& q, const ConstVectorRef& v, Kinematics& kinematics);

}  // namespace taut
