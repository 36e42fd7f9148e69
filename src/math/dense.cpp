#include "taut/math/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "taut/math/interruption.hpp"

namespace taut {
namespace {

// Columns factored before the rest of the matrix is updated: two panels of a 1000-row matrix fit a 512 kB cache.
constexpr int kPanel = 24;

// C −= A B. B is read as B(k, j) = B[k·row_step + j·col_step], so that one kernel serves U₁₂ (LU) and L₂₁ᵀ (Cholesky).
// Two columns of C against four of A: eight coefficients, four loads of A and two of C fill the sixteen registers that
// baseline x86-64 has.
void subtract_product(int rows, int cols, int depth, const double* A, std::ptrdiff_t lda, const double* B,
                      std::ptrdiff_t row_step, std::ptrdiff_t col_step, double* C, std::ptrdiff_t ldc) {
  int j = 0;
  for (; j + 1 < cols; j += 2) {
    double* __restrict c0 = C + j * ldc, * __restrict c1 = c0 + ldc;
    const double *b0 = B + j * col_step, *b1 = b0 + col_step;
    int k = 0;
    for (; k + 3 < depth; k += 4) {
      const double* __restrict a0 = A + k * lda, * __restrict a1 = a0 + lda, * __restrict a2 = a1 + lda, * __restrict a3 = a2 + lda;
      const double b00 = b0[k * row_step], b10 = b0[(k + 1) * row_step], b20 = b0[(k + 2) * row_step],
                   b30 = b0[(k + 3) * row_step];
      const double b01 = b1[k * row_step], b11 = b1[(k + 1) * row_step], b21 = b1[(k + 2) * row_step],
                   b31 = b1[(k + 3) * row_step];
      for (int r = 0; r < rows; ++r) {
        c0[r] -= a0[r] * b00 + a1[r] * b10 + a2[r] * b20 + a3[r] * b30;
        c1[r] -= a0[r] * b01 + a1[r] * b11 + a2[r] * b21 + a3[r] * b31;
      }
    }
    for (; k < depth; ++k) {
      const double* __restrict a = A + k * lda;
      const double b_0 = b0[k * row_step], b_1 = b1[k * row_step];
      for (int r = 0; r < rows; ++r) {
        c0[r] -= a[r] * b_0;
        c1[r] -= a[r] * b_1;
      }
    }
  }
  if (j < cols) {
    double* __restrict c = C + j * ldc;
    for (int k = 0; k < depth; ++k) {
      const double* __restrict a = A + k * lda;
      const double b = B[k * row_step + j * col_step];
      for (int r = 0; r < rows; ++r) c[r] -= a[r] * b;
    }
  }
}

void subtract_scaled(int rows, double scale, const double* __restrict x, double* __restrict y) {
  for (int r = 0; r < rows; ++r) y[r] -= scale * x[r];
}

double dot(int rows, const double* x, const double* y) {
  // Four partial sums: without them the additions wait for one another.
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  int r = 0;
  for (; r + 3 < rows; r += 4) {
    s0 += x[r] * y[r];
    s1 += x[r + 1] * y[r + 1];
    s2 += x[r + 2] * y[r + 2];
    s3 += x[r + 3] * y[r + 3];
  }
  for (; r < rows; ++r) s0 += x[r] * y[r];
  return (s0 + s1) + (s2 + s3);
}

// `count` steps of a Cholesky factorization. `accept(k, pivot)` says what becomes of a pivot: kept, dropped, or the
// end.
enum class Pivot { kept, dropped, refused };
template <class Accept>
bool cholesky_steps(MatrixView A, int count, const Accept& accept) {
  const int n = static_cast<int>(A.rows());
  const std::ptrdiff_t ld = A.outerStride();
  double* a = A.data();
  for (int start = 0; start < count; start += kPanel) {
    const int width = std::min(kPanel, count - start), end = start + width;
    for (int k = start; k < end; ++k) {
      double* column = a + k * ld;
      const Pivot fate = accept(k, column[k]);
      if (fate == Pivot::refused) return false;
      if (fate == Pivot::dropped) {
        column[k] = std::numeric_limits<double>::infinity();
        std::fill_n(column + k + 1, n - k - 1, 0.0);
        continue;
      }
      const double pivot = std::sqrt(column[k]), inverse = 1.0 / pivot;
      column[k] = pivot;
      for (int r = k + 1; r < n; ++r) column[r] *= inverse;
      for (int j = k + 1; j < end; ++j) subtract_scaled(n - j, column[j], column + j, a + j * ld + j);
    }
    // The rest, lower triangle only, a few columns at a time; the little above the diagonal is harmless work.
    constexpr int kStrip = 8;
    for (int j = end; j < n; j += kStrip) {
      may_interrupt(n);
      subtract_product(n - j, std::min(kStrip, n - j), width, a + start * ld + j, ld, a + start * ld + j, ld, 1,
                       a + j * ld + j, ld);
    }
  }
  return true;
}

}  // namespace

void multiply_add(int rows, int cols, const double* A, std::ptrdiff_t stride, const double* x, double* y) {
  int k = 0;
  for (; k + 2 < cols; k += 3) {
    if (x[k] != 0.0 || x[k + 1] != 0.0 || x[k + 2] != 0.0) multiply_add_3(rows, A + k * stride, stride, x + k, y);
  }
  for (; k < cols; ++k) {
    if (x[k] != 0.0) subtract_scaled(rows, -x[k], A + k * stride, y);
  }
}

namespace {

#if defined(__x86_64__) && defined(__GNUC__)
#define TAUT_HAS_WIDE_PRODUCT

// Four doubles that stand anywhere.
using Four = double __attribute__((vector_size(32), aligned(8)));

constexpr int kLeastRows = 8;

bool has_wide_units() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return found;
}

// C += A B or A Bᵀ, eight rows and up to four columns at a time, which stay in registers.
template <bool transposed>
__attribute__((target("avx2,fma"))) void add_wide_product(int rows, int cols, int depth, const double* A,
                                                          std::ptrdiff_t lda, const double* B, std::ptrdiff_t ldb,
                                                          double* C, std::ptrdiff_t ldc) {
  constexpr int kRows = kLeastRows, kCols = 4, kLong = 100;
  for (int j = 0; j < cols; j += kCols) {
    if (depth > kLong) may_interrupt(rows);
    // Columns past the end repeat the last one and are not stored.
    std::ptrdiff_t b[kCols];
    for (int c = 0; c < kCols; ++c) b[c] = std::min(j + c, cols - 1) * (transposed ? 1 : ldb);
    int row = 0;
    for (; row + kRows <= rows; row += kRows) {
      Four top[kCols] = {}, bottom[kCols] = {};
      const double *a = A + row, *x = B;
      for (int k = 0; k < depth; ++k, a += lda, x += transposed ? ldb : 1) {
        const Four a0 = *reinterpret_cast<const Four*>(a), a1 = *reinterpret_cast<const Four*>(a + 4);
        for (int c = 0; c < kCols; ++c) {
          top[c] += a0 * x[b[c]];
          bottom[c] += a1 * x[b[c]];
        }
      }
      for (int c = 0; c < std::min(kCols, cols - j); ++c) {
        double* out = C + row + (j + c) * ldc;
        *reinterpret_cast<Four*>(out) += top[c];
        *reinterpret_cast<Four*>(out + 4) += bottom[c];
      }
    }
    // The rest four at a time; the last four overlap those before and are stored where they are new.
    for (; row < rows; row += 4) {
      const int from = std::min(row, rows - 4), fresh = row - from;
      Four sum[kCols] = {};
      const double *a = A + from, *x = B;
      for (int k = 0; k < depth; ++k, a += lda, x += transposed ? ldb : 1) {
        const Four a0 = *reinterpret_cast<const Four*>(a);
        for (int c = 0; c < kCols; ++c) sum[c] += a0 * x[b[c]];
      }
      for (int c = 0; c < std::min(kCols, cols - j); ++c) {
        double* out = C + from + (j + c) * ldc;
        for (int r = fresh; r < 4; ++r) out[r] += sum[c][r];
      }
    }
  }
}

#endif

}  // namespace

void add_product(const MatrixView& A, const MatrixView& B, MatrixView C) {
#ifdef TAUT_HAS_WIDE_PRODUCT
  if (A.rows() >= kLeastRows && has_wide_units()) {
    add_wide_product<false>(static_cast<int>(A.rows()), static_cast<int>(B.cols()), static_cast<int>(A.cols()),
                            A.data(), A.outerStride(), B.data(), B.outerStride(), C.data(), C.outerStride());
    return;
  }
#endif
  C.noalias() += A * B;
}

void add_product_transposed(const MatrixView& A, const MatrixView& B, MatrixView C) {
#ifdef TAUT_HAS_WIDE_PRODUCT
  if (A.rows() >= kLeastRows && has_wide_units()) {
    add_wide_product<true>(static_cast<int>(A.rows()), static_cast<int>(B.rows()), static_cast<int>(A.cols()), A.data(),
                           A.outerStride(), B.data(), B.outerStride(), C.data(), C.outerStride());
    return;
  }
#endif
  C.noalias() += A * B.transpose();
}

bool cholesky(MatrixView A) {
  return cholesky_steps(A, static_cast<int>(A.rows()),
                        [](int, double pivot) { return pivot > 0.0 ? Pivot::kept : Pivot::refused; });
}

int pivoted_cholesky(MatrixView A, std::span<int> order, std::span<double> diagonal, double least, int leading) {
  const int n = static_cast<int>(A.rows());
  const std::ptrdiff_t ld = A.outerStride();
  double* a = A.data();
  for (int k = 0; k < n; ++k) {
    order[k] = k;
    diagonal[k] = a[k + k * ld];
  }
  int next = 0;  // of the leading rows
  for (int k = 0; k < n; ++k) {
    may_interrupt(n);
    int pivot = -1;
    for (; next < leading && pivot < 0; ++next) {
      const int at = static_cast<int>(std::find(order.begin() + k, order.end(), next) - order.begin());
      if (a[at + at * ld] > least * diagonal[at]) pivot = at;
    }
    if (pivot < 0) {
      double most = least;
      for (int i = k; i < n; ++i) {
        const double left = order[i] < leading ? 0.0 : a[i + i * ld] / diagonal[i];  // those were passed over
        if (left > most) most = left, pivot = i;
      }
    }
    if (pivot < 0) return k;
    if (pivot != k) {
      for (int j = 0; j < k; ++j) std::swap(a[k + j * ld], a[pivot + j * ld]);
      std::swap(a[k + k * ld], a[pivot + pivot * ld]);
      for (int i = k + 1; i < pivot; ++i) std::swap(a[i + k * ld], a[pivot + i * ld]);
      for (int i = pivot + 1; i < n; ++i) std::swap(a[i + k * ld], a[i + pivot * ld]);
      std::swap(order[k], order[pivot]);
      std::swap(diagonal[k], diagonal[pivot]);
    }
    double* column = a + k * ld;
    const double root = std::sqrt(column[k]), inverse = 1.0 / root;
    column[k] = root;
    for (int r = k + 1; r < n; ++r) column[r] *= inverse;
    for (int j = k + 1; j < n; ++j) {
      if (column[j] != 0.0) subtract_scaled(n - j, column[j], column + j, a + j * ld + j);
    }
  }
  return n;
}

void eliminate(MatrixView A, int count, std::span<const double> least) {
  cholesky_steps(A, count, [&](int k, double pivot) { return pivot > least[k] ? Pivot::kept : Pivot::dropped; });
}

void eliminate_forward(const MatrixView& L, int count, double* x) {
  const int n = static_cast<int>(L.rows());
  for (int k = 0; k < count; ++k) {
    const double* column = L.data() + k * L.outerStride();
    x[k] /= column[k];
    subtract_scaled(n - k - 1, x[k], column + k + 1, x + k + 1);
  }
}

void eliminate_backward(const MatrixView& L, int count, double* x) {
  const int n = static_cast<int>(L.rows());
  for (int k = count - 1; k >= 0; --k) {
    const double* column = L.data() + k * L.outerStride();
    x[k] = (x[k] - dot(n - k - 1, column + k + 1, x + k + 1)) / column[k];
  }
}

void reconcile(const MatrixView& L, int count, double* x, double* work) {
  std::copy_n(x, count, work);
  for (int k = 0; k < count; ++k) {
    const double* column = L.data() + k * L.outerStride();
    if (std::isinf(column[k])) {
      x[k] -= work[k];  // what is left of it after the rows before have had their say
      continue;
    }
    work[k] /= column[k];
    subtract_scaled(count - k - 1, work[k], column + k + 1, work + k + 1);
  }
}

void cholesky_solve(const MatrixView& L, double* x) {
  const int n = static_cast<int>(L.rows());
  eliminate_forward(L, n, x);
  eliminate_backward(L, n, x);
}

bool lu(MatrixView A, std::span<int> pivots) {
  const int n = static_cast<int>(A.rows());
  const std::ptrdiff_t ld = A.outerStride();
  double* a = A.data();
  for (int start = 0; start < n; start += kPanel) {
    const int width = std::min(kPanel, n - start), end = start + width;
    for (int k = start; k < end; ++k) {
      double* column = a + k * ld;
      int pivot = k;
      double largest = std::abs(column[k]);
      for (int r = k + 1; r < n; ++r) {
        if (std::abs(column[r]) > largest) largest = std::abs(column[r]), pivot = r;
      }
      if (!(largest > 0.0) || !std::isfinite(largest)) return false;
      pivots[k] = pivot;
      if (pivot != k) {
        for (int j = start; j < end; ++j) std::swap(a[k + j * ld], a[pivot + j * ld]);
      }
      const double inverse = 1.0 / column[k];
      for (int r = k + 1; r < n; ++r) column[r] *= inverse;
      for (int j = k + 1; j < end; ++j) subtract_scaled(n - k - 1, a[k + j * ld], column + k + 1, a + j * ld + k + 1);
    }
    // The panel's exchanges in the columns beside it, then the rows of U to its right.
    const auto exchange = [&](int j) {
      for (int k = start; k < end; ++k) std::swap(a[k + j * ld], a[pivots[k] + j * ld]);
    };
    for (int j = 0; j < start; ++j) exchange(j);
    for (int j = end; j < n; ++j) {
      exchange(j);
      double* column = a + j * ld;
      for (int k = start; k < end; ++k) subtract_scaled(end - k - 1, column[k], a + k * ld + k + 1, column + k + 1);
    }
    constexpr int kStrip = 64;
    for (int j = end; j < n; j += kStrip) {
      may_interrupt(n);
      subtract_product(n - end, std::min(kStrip, n - j), width, a + start * ld + end, ld, a + j * ld + start, 1, ld,
                       a + j * ld + end, ld);
    }
  }
  return true;
}

void lu_solve(const MatrixView& LU, std::span<const int> pivots, double* x) {
  const int n = static_cast<int>(LU.rows());
  const std::ptrdiff_t ld = LU.outerStride();
  const double* a = LU.data();
  for (int k = 0; k < n; ++k) std::swap(x[k], x[pivots[k]]);
  for (int k = 0; k < n; ++k) subtract_scaled(n - k - 1, x[k], a + k * ld + k + 1, x + k + 1);
  for (int k = n - 1; k >= 0; --k) {
    x[k] /= a[k + k * ld];
    subtract_scaled(k, x[k], a + k * ld, x);
  }
}

void lu_solve_transposed(const MatrixView& LU, std::span<const int> pivots, double* x) {
  const int n = static_cast<int>(LU.rows());
  const std::ptrdiff_t ld = LU.outerStride();
  const double* a = LU.data();
  for (int k = 0; k < n; ++k) x[k] = (x[k] - dot(k, a + k * ld, x)) / a[k + k * ld];
  for (int k = n - 1; k >= 0; --k) x[k] -= dot(n - k - 1, a + k * ld + k + 1, x + k + 1);
  for (int k = n - 1; k >= 0; --k) std::swap(x[k], x[pivots[k]]);
}

}  // namespace taut
