#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <span>
#include <vector>

#include "taut/dynamics/forest.hpp"
#include "taut/dynamics/instant.hpp"
#include "taut/problem/problem.hpp"

namespace taut {

/// Derivatives of τ = M(q) a + b(q, v) − Σ Jᵀ f, the wrenches f fixed in the frames of their joints: Pinocchio's for
/// trees of joints, closed forms for free bodies, whose effects are those of a step.
class InverseDynamicsDerivatives {
 public:
  explicit InverseDynamicsDerivatives(const pinocchio::Model& model);

  /// At velocity `v`; of free bodies at `v_bodies`, in a step that looks `when`.
  /// `forces`: per joint, the world first, in its frame.
  void update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v,
              const ConstVectorRef& v_bodies, const ConstVectorRef& a, std::span<const pinocchio::Force> forces,
              const Instant& when);

  /// Clears the rows of free bodies.
  void clear_bodies(Eigen::Ref<Eigen::MatrixXd> rows) const;

  /// out −= ∂τ/∂q, in the tangent of q. Trees do not feel each other: nothing else of `out` is touched.
  void subtract_dq(Eigen::MatrixXd& out) const;
  const Eigen::MatrixXd& dv() const { return dv_; }  ///< ∂τ/∂v

 private:
  struct Part {
    int tree;
    pinocchio::Model model;
    pinocchio::Data data;
    std::vector<pinocchio::Force> forces;
  };
  Forest forest_;
  bool whole_ = false;
  std::vector<Part> parts_;
  std::vector<int> bodies_;  ///< trees that are one free body
  Eigen::MatrixXd dq_, dv_;
};

}  // namespace taut
