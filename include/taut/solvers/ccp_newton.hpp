#pragma once

#include "taut/solvers/regularized_newton.hpp"
#include "taut/solvers/report.hpp"

namespace taut {

/// Whose compliance R̃ the rows of a problem are given.
///
/// - mujoco: R̃ = α diag G [CB, Sec. III-B], the tangential pair of a contact sharing its mean.
/// - drake: R̃_n = β²/(4π²) w and R̃_t = σ w with w = ‖G_ii‖_F / size (Castro, Permenter and Han, *An Unconstrained
///   Convex Formulation of Compliant Contact*, 2021): as stiff as a step can resolve. Joint friction counts as
///   tangential, limits and bilateral rows as normal.
///
/// A row that is already softer than that keeps its own compliance; one that moves nothing is given the block's.
enum class Regularization { mujoco, drake };

/// Newton's method on the primal of the convex relaxation [CB, Alg. 4, eqs. (21)-(22)], as MuJoCo and Drake do.
///
///   min over λ ∈ K of ½ λᵀ (G + R̃) λ + gᵀ λ
///
/// The compliance R̃ > 0 makes the solution unique and Newton's method possible, at the price of a solution that is not
/// the rigid one: sticking contacts creep, resting ones sink at R̃ λ. The judge of the method is `ccp_residuals` with
/// R̃ in place of R. Few iterations, whatever the mass ratios and however redundant the contacts.
struct CcpNewtonOptions {
  double tolerance = 1e-6;
  int max_iterations = 200;
  Regularization regularization = Regularization::mujoco;
  /// mujoco: (1 − d)/d for the impedance d = 0.9 of a contact that just touches, by MuJoCo's default solimp
  /// (0.9, 0.95, 1 mm); a contact 1 mm deep has d = 0.95, α = 0.053.
  double alpha = 1.0 / 9.0;
  double beta = 1.0;    ///< drake: the period of the stiffest contact, in time steps
  double sigma = 1e-3;  ///< drake: R̃_t / w, creep of a sticking contact
  int patience = 50;    ///< steps without gaining 10 % before the solve counts as stalled
};

struct CcpNewtonWorkspace {
  void reserve(int rows);

  RegularizedNewtonWorkspace newton;
  std::vector<double> compliance;  ///< R̃ of the last problem
  std::vector<double> x, best;
};

class CcpNewton {
 public:
  explicit CcpNewton(CcpNewtonOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c = (G + R) λ + g with the
  /// problem's own R. The residuals reported are those of the model, with R̃. Does not allocate once `workspace` has
  /// the rows.
  SolveReport solve(const Problem& problem, CcpNewtonWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  /// R̃ of a problem.
  void compliance(const Problem& problem, VectorRef R) const;

  const CcpNewtonOptions& options() const { return options_; }

 private:
  CcpNewtonOptions options_;
};

}  // namespace taut
