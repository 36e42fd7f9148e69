#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "taut/simulation/scene.hpp"

namespace taut {

/// A quantity of a scene, or of how it is simulated, that a step can be differentiated by: "kind" or "kind:name".
///
/// | kind                              | of      | values                                                        |
/// |-----------------------------------|---------|---------------------------------------------------------------|
/// | friction                          | a shape, or a pair that has its own: "friction:a\|b" | 1                |
/// | restitution                       | likewise | 1                                                            |
/// | compliance                        | a shape | 1, m/N                                                        |
/// | size                              | a shape | those of `size_names`, m; inertia is not touched              |
/// | placement                         | a shape | 6: a twist of the shape in its own frame, from where it is    |
/// | mass, com                         | a joint | 1, 3: kg and m, the inertia about the centre of mass held     |
/// | inertia                           | a joint | 10: log-Cholesky parameters, physical whatever they are       |
/// | damping, dry_friction, stiffness, armature | a joint | one per degree of freedom                            |
/// | gravity                           |         | 3                                                             |
/// | correction, limit_correction, loop_correction |  | 1: shares of `Stabilization`, of a simulator               |
struct Parameter {
  enum class Kind {
    friction,
    restitution,
    compliance,
    size,
    placement,
    mass,
    com,
    inertia,
    damping,
    dry_friction,
    stiffness,
    armature,
    gravity,
    correction,
    limit_correction,
    loop_correction,
  };
  Kind kind = Kind::gravity;
  int index = -1;  ///< of the shape or joint
  int other = -1;  ///< of a pair's second shape
  int size = 1;
  std::string name{};
};

/// Throws std::invalid_argument naming what is not known: the kind, the shape, the joint, a pair without a value.
Parameter find_parameter(const Scene& scene, const std::string& name);

/// All of a scene, those of a simulator last.
std::vector<std::string> parameter_names(const Scene& scene);

/// What it is now; a placement is zero. Throws std::invalid_argument for a simulator's.
Eigen::VectorXd value_of(const Scene& scene, const Parameter& parameter);

/// Throws std::invalid_argument on wrong sizes, values that make no sense, and what cannot be set (the size of a mesh,
/// a simulator's). Sizes and what belongs to a pair are felt by simulators made afterwards.
void set_value(Scene& scene, const Parameter& parameter, const Eigen::Ref<const Eigen::VectorXd>& value);

/// Slopes of the friction of two shapes in that of each; of a tie half and half.
std::pair<double, double> friction_slopes(const Scene& scene, std::size_t shape_1, std::size_t shape_2);

/// α, d₁ … d₃, s₁₂, s₂₃, s₁₃, t₁ … t₃ of Pinocchio's `LogCholeskyParameters`. Throws std::invalid_argument if no body
/// has such an inertia.
Eigen::Matrix<double, 10, 1> log_cholesky(const pinocchio::Inertia& inertia);

}  // namespace taut
