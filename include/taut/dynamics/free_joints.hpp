#pragma once

#include <pinocchio/multibody.hpp>

#include <vector>

#include "taut/problem/problem.hpp"

namespace taut {

/// The linear velocity of a floating base or free body, carried through a step in fixed axes.
///
/// Pinocchio writes it in the body's axes, which turn while the body moves. Semi-implicit Euler in turning axes makes a
/// body that flies and spins at ω faster by (ω dt)²/2 in every step, and lets a rolling one sink along a screw. In axes
/// held at their direction of q, a free flight is straight and its momentum exact (docs/decisions/free_joints.md).
class FreeJoints {
 public:
  explicit FreeJoints(const pinocchio::Model& model);

  /// v_free ← v_free + dt ω × v on linear parts: takes out the turning of the axes that the free acceleration contains.
  void hold_axes(const ConstVectorRef& v, double dt, VectorRef v_free) const;

  /// After q_next = q ⊕ dt·v with v in the axes of q: moves the base along a straight line instead of a screw, and
  /// turns v into the axes of q_next.
  void advance(const ConstVectorRef& q, double dt, VectorRef q_next, VectorRef v) const;

  /// Turns v from the axes of q into those of another configuration.
  void turn(const ConstVectorRef& q, const ConstVectorRef& q_to, VectorRef v) const;

 private:
  struct Joint {
    int q, v;
    bool planar;
  };
  std::vector<Joint> joints_;
};

}  // namespace taut
