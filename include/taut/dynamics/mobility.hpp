#pragma once

#include <Eigen/Core>

#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// How easily a point of a body moves, 1/kg: the speed that an impulse of 1 N s at the point gives it along itself, on
/// average over all directions. Joints act, constraints do not. `point` is in the joint's frame.
double mobility(const pinocchio::Model& model, const ConstVectorRef& q, int joint, const Eigen::Vector3d& point);

}  // namespace taut
