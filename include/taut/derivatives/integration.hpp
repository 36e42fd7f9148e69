#pragma once

#include <pinocchio/multibody.hpp>

#include <Eigen/Core>
#include <vector>

#include "taut/problem/problem.hpp"

namespace taut {

/// Derivatives of the end of a step: q⁺ = q ⊕ ahead·v⁺, and v⁺ in the axes of q⁺, as `FreeJoints::advance` has them.
/// Most joints just add; those that turn (floating, planar, ball) have a block
///
///   δq⁺ = A δq + B δv⁺,   δv_next = C δv⁺        in the tangents of q and q⁺.
class IntegrationDerivatives {
 public:
  explicit IntegrationDerivatives(const pinocchio::Model& model);

  void update(const ConstVectorRef& v_plus, double ahead);

  /// Tangents of q (columns of `dq`) and of v⁺ (of `dv`) become those of q⁺ and of v_next, in place.
  void apply(Eigen::Ref<Eigen::MatrixXd> dq, Eigen::Ref<Eigen::MatrixXd> dv) const;

  /// The same for tangents of v⁺ alone: `dq` is made.
  void begin(Eigen::MatrixXd& dq, Eigen::MatrixXd& dv) const;

  /// Derivatives with respect to (q⁺, v_next), by columns, become those with respect to (q, v⁺), in place.
  void precede(Eigen::Ref<Eigen::MatrixXd> of_q, Eigen::Ref<Eigen::MatrixXd> of_v) const;

  /// Adjoints of q⁺ and v_next become those of q and v⁺, in place.
  void apply_transpose(VectorRef q_bar, VectorRef v_bar) const;

 private:
  enum class Kind { floating, planar, ball };
  struct Turn {
    Kind kind;
    int dof, size;
    Eigen::Matrix<double, 6, 6> A, B, C;  ///< their top left corner
  };
  double ahead_ = 0.0;
  std::vector<Turn> turns_;
};

}  // namespace taut
