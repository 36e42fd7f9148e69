#pragma once

#include <array>
#include <string>

#include "taut/constraints/stabilization.hpp"
#include "taut/dynamics/dynamics.hpp"

namespace taut {

/// A gear or cam between two joint coordinates: one `free` row that holds
///
///   q_1 − r_1 = Σ a_k (q_2 − r_2)^k,   k = 0 … 4
///
/// or, without a second joint, q_1 at r_1 + a_0. Joints with one coordinate only; one that turns without end (cos, sin)
/// has no position to hold and is coupled by its velocity, which takes a linear law.
struct Coupling {
  std::string name{};
  int joint_1 = 0, joint_2 = 0;  ///< joints of the model; 0 for none
  std::array<double, 5> polynomial{0.0, 1.0, 0.0, 0.0, 0.0};
  double reference_1 = 0.0, reference_2 = 0.0;
  double compliance = 0.0;  ///< rad/(N m) or m/N
};

/// φ = q_1 − r_1 − Σ a_k (q_2 − r_2)^k, zero where a joint turns without end.
double coupling_error(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q);

/// Whether one of its joints turns without end.
bool is_endless(const Coupling& coupling, const pinocchio::Model& model);

/// dφ/dq_2.
double coupling_slope(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q);

/// d²φ/dq_2².
double coupling_bend(const Coupling& coupling, const pinocchio::Model& model, const ConstVectorRef& q);

/// Appends the row of a coupling.
void add_coupling(const Coupling& coupling, const pinocchio::Model& model, const Dynamics& dynamics,
                  const ConstVectorRef& q, const Instant& instant, Rows& rows);

}  // namespace taut
