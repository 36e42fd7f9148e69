// G = J (M + diag)⁻¹ Jᵀ = Y Yᵀ with Y = J U⁻ᵀ D^{-1/2}, by arms: two arms meet in the joints they share.
#include <algorithm>
#include <iterator>
#include <type_traits>

#include "taut/math/interruption.hpp"

#include "taut/dynamics/dynamics.hpp"

namespace taut {

namespace {

// half ← half U⁻ᵀ D^{-1/2} along one chain of a tree, its columns being degrees of freedom, root first. `scale` is that
// of the tree, whose first degree of freedom is `first`.
template <int size>
void halve_chain(double* half, std::span<const int> dofs, int rows, const Eigen::MatrixXd& U, const double* scale,
                 int first) {
  using Columns = Eigen::Map<Eigen::Matrix<double, size, Eigen::Dynamic>>;
  Columns Y(half, rows, static_cast<Eigen::Index>(dofs.size()));
  for (int j = static_cast<int>(dofs.size()) - 1; j >= 0; --j) {
    const double* column = U.data() + static_cast<std::ptrdiff_t>(dofs[j] - first) * U.rows();
    for (int k = 0; k < j; ++k) Y.col(k) -= column[dofs[k] - first] * Y.col(j);
    Y.col(j) *= scale[dofs[j] - first];
  }
}

// The same for a free body: six columns.
template <int size>
void halve_body(double* half, int rows, const FreeBody::Matrix6& U, const double* scale) {
  Eigen::Map<Eigen::Matrix<double, size, 6>> Y(half, rows, 6);
  for (int j = 5; j >= 0; --j) {
    for (int k = 0; k < j; ++k) Y.col(k) -= U(k, j) * Y.col(j);
    Y.col(j) *= scale[j];
  }
}

// Calls f with the number of rows of a constraint, known to the compiler where it is a common one.
template <typename F>
void with_size(int size, F&& f) {
  if (size == 3) return f(std::integral_constant<int, 3>());
  if (size == 1) return f(std::integral_constant<int, 1>());
  f(std::integral_constant<int, Eigen::Dynamic>());
}

// G_ab += A Bᵀ over the first `depth` columns.
template <int rows_a, int rows_b>
void accumulate(const double* a, const double* b, int depth, double* g, std::ptrdiff_t stride) {
  Eigen::Matrix<double, rows_a, rows_b> sum = Eigen::Matrix<double, rows_a, rows_b>::Zero();
  for (int k = 0; k < depth; ++k, a += rows_a, b += rows_b) {
    for (int j = 0; j < rows_b; ++j) {
      for (int i = 0; i < rows_a; ++i) sum(i, j) += a[i] * b[j];
    }
  }
  for (int j = 0; j < rows_b; ++j) {
    for (int i = 0; i < rows_a; ++i) g[i + j * stride] += sum(i, j);
  }
}

void accumulate(const double* a, int rows_a, const double* b, int rows_b, int depth, double* g, std::ptrdiff_t stride) {
  if (rows_a == 3 && rows_b == 3) return accumulate<3, 3>(a, b, depth, g, stride);
  if (rows_a == 1 && rows_b == 3) return accumulate<1, 3>(a, b, depth, g, stride);
  if (rows_a == 3 && rows_b == 1) return accumulate<3, 1>(a, b, depth, g, stride);
  if (rows_a == 1 && rows_b == 1) return accumulate<1, 1>(a, b, depth, g, stride);
  Eigen::Map<const Eigen::MatrixXd> A(a, rows_a, depth), B(b, rows_b, depth);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(g, rows_a, rows_b, Eigen::OuterStride<>(stride)) +=
      A.lazyProduct(B.transpose());
}

}  // namespace

void Dynamics::halve(Rows& rows) const {
  for (const Rows::Arm& arm : rows.arms()) {
    Rows::Map half = rows.half(arm);
    half = rows.jacobian(arm);
    const auto tree = static_cast<std::size_t>(forest_.tree_of(arm.joint));
    const int source = source_[tree], first = forest_.trees()[tree].first_dof;
    const double* scale = inverse_sqrt_D_.data() + first;
    const int size = static_cast<int>(half.rows());
    with_size(size, [&](auto fixed) {
      if (source < 0) {
        halve_body<fixed>(half.data(), size, bodies_[static_cast<std::size_t>(-1 - source)].U(), scale);
      } else {
        const Eigen::MatrixXd& U = parts_[static_cast<std::size_t>(source)].data.U;
        halve_chain<fixed>(half.data(), chain(arm.joint), size, U, scale, first);
      }
    });
  }
}

void Dynamics::delassus(Rows& rows, Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>> G) const {
  halve(rows);
  const auto blocks = rows.blocks();
  const auto arms = rows.arms();
  const std::ptrdiff_t stride = G.outerStride();
  const int n = rows.rows();
  G.topLeftCorner(n, n).setZero();
  // By couples of arms; an arm enters with the sign its J already carries.
  for (int b = 0; b < static_cast<int>(arms.size()); ++b) {
    may_interrupt();
    const Block& block_b = blocks[arms[b].block];
    const auto shared = forest_.shared_with(arms[b].joint);
    for (int a = rows.first_arm(arms[b].block); a < static_cast<int>(arms.size()); ++a) {
      const int depth = shared(arms[a].joint);
      if (depth == 0) continue;
      const Block& block_a = blocks[arms[a].block];
      double* g = G.data() + block_a.start + block_b.start * stride;
      accumulate(rows.half(a), block_a.size, rows.half(b), block_b.size, depth, g, stride);
    }
  }
  // Only the lower triangle was summed: mirrored, the matrix is symmetric to the last bit.
  for (int j = 0; j < n; ++j) {
    for (int i = j + 1; i < n; ++i) G(j, i) = G(i, j);
  }
}

// Sorts the constraints by the trees they hold; in each tree they stay in order.
void Dynamics::list_neighbours(const Rows& rows) {
  const auto arms = rows.arms();
  const auto visit = [&](auto&& see) {
    for (int block = 0; block < static_cast<int>(rows.blocks().size()); ++block) {
      const int first = rows.first_arm(block);
      for (int a = first; a < rows.first_arm(block + 1); ++a) {
        const int tree = forest_.tree_of(arms[a].joint);
        const bool again = std::any_of(arms.begin() + first, arms.begin() + a,
                                       [&](const Rows::Arm& other) { return forest_.tree_of(other.joint) == tree; });
        if (!again) see(block, static_cast<std::size_t>(tree));
      }
    }
  };
  // Two places ahead while counting, one while filling: then the lists begin where they should.
  first_on_tree_.assign(forest_.trees().size() + 2, 0);
  visit([&](int, std::size_t tree) { ++first_on_tree_[tree + 2]; });
  for (std::size_t t = 2; t < first_on_tree_.size(); ++t) first_on_tree_[t] += first_on_tree_[t - 1];
  on_tree_.resize(static_cast<std::size_t>(first_on_tree_.back()));
  visit([&](int block, std::size_t tree) { on_tree_[static_cast<std::size_t>(first_on_tree_[tree + 1]++)] = block; });
}

void Dynamics::delassus(Rows& rows, BlockSparse& G) {
  halve(rows);
  list_neighbours(rows);
  const auto blocks = rows.blocks();
  const auto arms = rows.arms();
  const int count = static_cast<int>(blocks.size());
  cursor_.resize(blocks.size());
  G.clear(rows.rows());
  for (int i = 0; i < count; ++i) {
    may_interrupt();
    const auto neighbours = [&](int arm) {
      const auto tree = static_cast<std::size_t>(forest_.tree_of(arms[arm].joint));
      return std::span(on_tree_).subspan(first_on_tree_[tree], first_on_tree_[tree + 1] - first_on_tree_[tree]);
    };
    const auto one = neighbours(rows.first_arm(i)), other = neighbours(rows.first_arm(i + 1) - 1);
    touched_.clear();
    std::set_union(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(touched_));

    auto panel = G.add_column(blocks, i, touched_);
    const int size = blocks[i].size;
    int row = 0;
    for (const int j : touched_) {
      auto G_ji = panel.middleRows(row, blocks[j].size);
      row += blocks[j].size;
      if (j < i) {
        // Its mirror image is there: in column j the constraints after j come in the order in which we pass here.
        const Panel mirror = G.panel(j);
        for (int c = 0; c < size; ++c) {
          for (int r = 0; r < blocks[j].size; ++r) G_ji(r, c) = mirror.data[cursor_[j] + c + r * mirror.stride];
        }
        cursor_[j] += size;
        continue;
      }
      for (int b = rows.first_arm(i); b < rows.first_arm(i + 1); ++b) {
        const auto shared = forest_.shared_with(arms[b].joint);
        for (int a = rows.first_arm(j); a < rows.first_arm(j + 1); ++a) {
          const int depth = shared(arms[a].joint);
          if (depth == 0) continue;
          accumulate(rows.half(a), blocks[j].size, rows.half(b), size, depth, G_ji.data(), panel.rows());
        }
      }
      if (j > i) continue;
      for (int c = 0; c < size; ++c) {
        for (int r = 0; r < c; ++r) G_ji(r, c) = G_ji(c, r);
      }
      cursor_[i] = row;
    }
  }
}

}  // namespace taut
