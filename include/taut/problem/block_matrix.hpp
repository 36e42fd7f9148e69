#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "taut/problem/block.hpp"

namespace taut {

using ConstMatrixRef = Eigen::Ref<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using ConstVectorRef = Eigen::Ref<const Eigen::VectorXd>;
using VectorRef = Eigen::Ref<Eigen::VectorXd>;

/// Consecutive rows [start, start + size) of a matrix, stored at rows [row, row + size) of a panel.
struct Run {
  int start = 0, size = 0, row = 0;
};

/// The columns of one block: values by columns, only the rows that the block touches.
struct Panel {
  const double* data = nullptr;
  std::ptrdiff_t stride = 0;
  std::span<const Run> runs;  ///< by increasing `start`
};

/// A block on the diagonal.
struct Tile {
  const double* data = nullptr;
  std::ptrdiff_t stride = 0;

  double operator()(int row, int col) const { return data[row + col * stride]; }
};

/// A symmetric matrix of which only the blocks that are not zero are stored, both triangles: a pile, where a contact
/// meets the few others on its two bodies. Grows and keeps its memory, so that a warm step does not allocate.
class BlockSparse {
 public:
  /// Forgets the entries; `rows` of the whole matrix.
  void clear(int rows);
  void reserve(int blocks, std::ptrdiff_t values);

  /// Appends the columns of block `i` (the next one), which touch the blocks `touched`: sorted, `i` among them.
  /// Returns the panel, all zero, its rows those of the touched blocks one after the other; valid until the next call.
  Eigen::Map<Eigen::MatrixXd> add_column(std::span<const Block> blocks, int i, std::span<const int> touched);

  /// Keeps the blocks of a dense matrix that are not zero.
  static BlockSparse from_dense(const ConstMatrixRef& G, std::span<const Block> blocks);
  /// From compressed columns or rows (the matrix is symmetric): entries of line k are [begin[k], begin[k + 1]).
  /// Throws std::invalid_argument naming an index outside the matrix. Entries given twice are added.
  static BlockSparse from_compressed(std::span<const double> values, std::span<const int> indices,
                                     std::span<const int> begin, std::span<const Block> blocks);

  int rows() const { return rows_; }
  int size() const { return static_cast<int>(columns_.size()); }
  Panel panel(int i) const {
    const Column& column = columns_[static_cast<std::size_t>(i)];
    return {
        values_.data() + column.offset, column.height, {runs_.data() + column.first_run, runs_.data() + column.end}};
  }
  Tile diagonal(int i) const {
    const Column& column = columns_[static_cast<std::size_t>(i)];
    return {values_.data() + column.offset + column.diagonal, column.height};
  }
  std::span<const double> values() const { return values_; }

 private:
  struct Column {
    std::ptrdiff_t offset = 0;
    int height = 0;
    int diagonal = 0;  ///< row of the panel where the diagonal block begins
    int first_run = 0, end = 0;
  };
  int rows_ = 0;
  std::vector<Column> columns_;
  std::vector<Run> runs_;
  std::vector<double> values_;
};

/// The Delassus matrix as solvers see it: a view of a dense or a block-sparse matrix.
class BlockMatrix {
 public:
  // Implicit on purpose: a problem is written {.G = matrix, …} whatever the matrix is. Only what lies in memory can be
  // viewed: a product or a sum does not compile.
  template <class Derived>
    requires((Derived::Flags & Eigen::DirectAccessBit) != 0 && !Derived::IsRowMajor)
  BlockMatrix(const Eigen::MatrixBase<Derived>& dense)  // NOLINT(google-explicit-constructor)
      : data_(dense.derived().data()),
        stride_(dense.derived().outerStride()),
        rows_(static_cast<int>(dense.rows())),
        cols_(static_cast<int>(dense.cols())),
        whole_{0, rows_, 0} {}
  BlockMatrix(const BlockSparse& sparse)  // NOLINT(google-explicit-constructor)
      : sparse_(&sparse), rows_(sparse.rows()), cols_(sparse.rows()) {}

  bool is_sparse() const { return sparse_ != nullptr; }
  int rows() const { return rows_; }
  int cols() const { return cols_; }

  Panel panel(int i, const Block& block) const {
    if (sparse_) return sparse_->panel(i);
    return {data_ + block.start * stride_, stride_, {&whole_, 1}};
  }
  Tile diagonal(int i, const Block& block) const {
    if (sparse_) return sparse_->diagonal(i);
    return {data_ + block.start * (stride_ + 1), stride_};
  }

  /// Only of a dense one.
  Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>> dense() const {
    return {data_, rows_, cols_, Eigen::OuterStride<>(stride_)};
  }
  /// Only of a sparse one.
  const BlockSparse& sparse() const { return *sparse_; }

 private:
  const BlockSparse* sparse_ = nullptr;
  const double* data_ = nullptr;
  std::ptrdiff_t stride_ = 0;
  int rows_ = 0, cols_ = 0;
  Run whole_{};
};

}  // namespace taut
