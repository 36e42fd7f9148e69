#pragma once

#include <vector>

#include "taut/math/dense.hpp"
#include "taut/solvers/report.hpp"
#include "taut/solvers/sparse_system.hpp"

namespace taut {

/// What a block does at a solution, or is guessed to do on the way to one. On fixed modes the conditions of a problem
/// are equations, and a mode says which of the block's impulses are unknowns of them.
enum class Mode : unsigned char {
  closed,   ///< c = 0: sticking contact, closed limit, stuck joint, bilateral block; every row is an unknown
  sliding,  ///< contact: c_n = 0, λ_t = μ λ_n d opposite to c_t; λ_n and the turn of d are unknowns
  open,     ///< λ known: zero for a breaking contact or an open limit, ±b for a slipping joint
};

/// Semi-smooth Newton on the modes identified from the iterate.
///
/// Each step guesses the modes from  y = λ − ρ c  (ρ = 1 / mean diagonal of G_ii), linearizes the equations they stand
/// for and solves a system in the impulses that are unknowns: 3 for a sticking contact, 2 for a sliding one, none for
/// a breaking one ([S, Sec. 3.2]; docs/theory.md, "Modes"). Near the solution the system is the one implicit
/// differentiation needs, and the factors of the last step stay in the workspace. One or two steps from a warm start
/// whose modes are right; from far away it may cycle, which is what `Auto` is for. The system of a sparse problem
/// is factored as a sparse matrix, or solved by BiCGSTAB where that would fill up.
struct NewtonOptions {
  double tolerance = 1e-6;  ///< on `Residuals::worst()`
  int max_iterations = 100;
  /// Levenberg term, relative to the block's mean diagonal: redundant contacts need one. Bilateral blocks make do with
  /// a thousandth: their equations do not change.
  double damping = 1e-5;
  int patience = 20;  ///< steps without gaining 10 % before the solve counts as stalled
};

/// Buffers of `Newton` and the last linearization it solved.
struct NewtonWorkspace {
  void reserve(int rows);

  /// The linearization of one block: unknowns [first, first + count) of the reduced system.
  struct Linearization {
    Mode mode = Mode::open;
    int first = 0, count = 0;
    Eigen::Vector2d d = Eigen::Vector2d::UnitX();  ///< sliding: direction of λ_t
    double turn = 0.0;  ///< sliding: k = μ y_n / |y_t| in [0, 1], how far friction follows a turn of c_t
    bool bilateral = false;
    double stiffness = 1.0;
  };
  /// How the reduced system of the problem at hand is solved.
  enum class Path : unsigned char {
    none,       ///< not decided yet: a new problem
    dense,      ///< factored as a dense matrix
    sparse,     ///< factored as a sparse one
    iterative,  ///< too much fill: BiCGSTAB
  };
  MatrixView reduced() { return {matrix.data(), unknowns, unknowns, Eigen::OuterStride<>(unknowns)}; }

  Path path = Path::none;
  int unknowns = 0;
  SparseSystem system;
  std::vector<Linearization> blocks;
  std::vector<double> matrix;  ///< factors of the reduced system
  std::vector<int> pivots;
  std::vector<double> rhs, column, product, step, offset_velocity, best, trial, trial_velocity;
  std::vector<Eigen::Matrix3d> inverses;  ///< iterative: diagonal blocks of the reduced system
  std::vector<double> krylov;
};

class Newton {
 public:
  explicit Newton(NewtonOptions options = {});  ///< throws std::invalid_argument if an option is out of range

  /// `lambda` holds the warm start on entry and the solution on exit; `velocity` receives c. Does not allocate once
  /// `workspace` has the rows.
  SolveReport solve(const Problem& problem, NewtonWorkspace& workspace, VectorRef lambda, VectorRef velocity) const;

  /// The same when the caller has just had (λ, velocity) judged and has set `workspace.path` to `none` if the problem
  /// is not that of the last call.
  SolveReport solve_from(const Problem& problem, const Residuals& judged, NewtonWorkspace& workspace, VectorRef lambda,
                         VectorRef velocity) const;

  const NewtonOptions& options() const { return options_; }

 private:
  NewtonOptions options_;
};

/// Guesses the mode of every block at (λ, c) and numbers the unknowns.
void identify_modes(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity,
                    NewtonWorkspace& workspace);

/// Identifies the modes, then assembles and factors the reduced system  W (G + R) Z + diagonal: the matrix of a Newton
/// step and, at a solution, of implicit differentiation. `damping` is relative to each block's mean diagonal. False if
/// the system is singular all the same. With a workspace that has seen another problem, set `workspace.path` to `none`.
bool linearize(const Problem& problem, const ConstVectorRef& lambda, const ConstVectorRef& velocity, double damping,
               NewtonWorkspace& workspace);

}  // namespace taut
