#pragma once

#include <Eigen/Core>
#include <span>

namespace taut {

// Dense factorizations in place. Eigen's own allocate (pivots, packed panels) as soon as sizes vary or grow; these
// never do, and at the sizes of a robot (3 to 60 rows) they are faster for having no dispatch in front.

using MatrixView = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using VectorView = Eigen::Map<Eigen::VectorXd>;

/// y += A x for the `cols` columns of A starting at `A`, `stride` apart; columns with x = 0 are skipped.
void multiply_add(int rows, int cols, const double* A, std::ptrdiff_t stride, const double* x, double* y);

/// y += A x for three columns.
inline void multiply_add_3(int rows, const double* A, std::ptrdiff_t stride, const double* x, double* y) {
  const double* __restrict a0 = A, * __restrict a1 = A + stride, * __restrict a2 = A + 2 * stride;
  const double x0 = x[0], x1 = x[1], x2 = x[2];
  double* __restrict out = y;
  for (int r = 0; r < rows; ++r) out[r] += a0[r] * x0 + a1[r] * x1 + a2[r] * x2;
}

/// C += A B, and C += A Bᵀ; C is neither of them. With the vector units of newer machines where there are some: the
/// sizes of a robot are those where Eigen's own products spend much on their preparation.
void add_product(const MatrixView& A, const MatrixView& B, MatrixView C);
void add_product_transposed(const MatrixView& A, const MatrixView& B, MatrixView C);

inline MatrixView view(Eigen::MatrixXd& A) { return {A.data(), A.rows(), A.cols(), Eigen::OuterStride<>(A.rows())}; }

/// A = L Lᵀ in place of the lower triangle; the upper one is not read. False, with A half done, if a pivot is not
/// positive.
bool cholesky(MatrixView A);

/// The same for a semi-definite A, in the order of `order`, which begins with the row that is largest by its own
/// diagonal after those before it. Ends where none has more than `least` of it left, and returns how many have: the
/// others repeat them. The first `leading` rows come before all others and in their own order, each unless it repeats
/// those before it. `diagonal` receives that of A, in the new order.
int pivoted_cholesky(MatrixView A, std::span<int> order, std::span<double> diagonal, double least, int leading = 0);

/// The first `count` steps of `cholesky`: L of the leading rows and, in place of the others, their Schur complement
/// A₂₂ − L₂₁ L₂₁ᵀ. A pivot that is not above `least[k]` is what rounding has left of a redundant row: its column of L
/// becomes zero and its pivot infinite, and `cholesky_solve` answers zero there.
void eliminate(MatrixView A, int count, std::span<const double> least);

/// x₁ ← L₁₁⁻¹ x₁, then x₂ ← x₂ − L₂₁ x₁, from the factors of `eliminate`.
void eliminate_forward(const MatrixView& L, int count, double* x);

/// x₁ ← L₁₁⁻ᵀ (x₁ − L₂₁ᵀ x₂).
void eliminate_backward(const MatrixView& L, int count, double* x);

/// Of the rows that `eliminate` found redundant, x ← what the rows before them say: x becomes a right-hand side that
/// A₁₁ z = x has a solution for. `work` has room for `count` numbers.
void reconcile(const MatrixView& L, int count, double* x, double* work);

/// x ← (L Lᵀ)⁻¹ x.
void cholesky_solve(const MatrixView& L, double* x);

/// P A = L U in place, with partial pivoting. `pivots[k]` is the row exchanged with row k. False, with A half done,
/// if a column has no pivot: A is singular or not finite.
bool lu(MatrixView A, std::span<int> pivots);

/// x ← A⁻¹ x from the factors of `lu`.
void lu_solve(const MatrixView& LU, std::span<const int> pivots, double* x);

/// x ← A⁻ᵀ x from the factors of `lu`.
void lu_solve_transposed(const MatrixView& LU, std::span<const int> pivots, double* x);

}  // namespace taut
