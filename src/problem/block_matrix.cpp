#include "taut/problem/block_matrix.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace taut {

const char* to_string(SetKind kind) {
  switch (kind) {
    case SetKind::free:
      return "free";
    case SetKind::positive:
      return "positive";
    case SetKind::interval:
      return "interval";
    case SetKind::cone:
      return "cone";
  }
  return "unknown";
}

void BlockSparse::clear(int rows) {
  rows_ = rows;
  columns_.clear();
  runs_.clear();
  values_.clear();
}

void BlockSparse::reserve(int blocks, std::ptrdiff_t values) {
  columns_.reserve(static_cast<std::size_t>(blocks));
  runs_.reserve(static_cast<std::size_t>(8 * blocks));
  values_.reserve(static_cast<std::size_t>(values));
}

Eigen::Map<Eigen::MatrixXd> BlockSparse::add_column(std::span<const Block> blocks, int i,
                                                    std::span<const int> touched) {
  Column column;
  column.offset = static_cast<std::ptrdiff_t>(values_.size());
  column.first_run = static_cast<int>(runs_.size());
  for (const int j : touched) {
    const Block& other = blocks[static_cast<std::size_t>(j)];
    if (j == i) column.diagonal = column.height;
    const bool adjacent =
        static_cast<int>(runs_.size()) > column.first_run && runs_.back().start + runs_.back().size == other.start;
    if (adjacent) {
      runs_.back().size += other.size;
    } else {
      runs_.push_back({other.start, other.size, column.height});
    }
    column.height += other.size;
  }
  column.end = static_cast<int>(runs_.size());
  columns_.push_back(column);
  const int size = blocks[static_cast<std::size_t>(i)].size;
  values_.resize(values_.size() + static_cast<std::size_t>(column.height) * size, 0.0);
  return {values_.data() + column.offset, column.height, size};
}

BlockSparse BlockSparse::from_dense(const ConstMatrixRef& G, std::span<const Block> blocks) {
  BlockSparse sparse;
  sparse.clear(static_cast<int>(G.rows()));
  std::vector<int> touched;
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    touched.clear();
    for (int j = 0; j < static_cast<int>(blocks.size()); ++j) {
      const auto G_ji = G.block(blocks[j].start, blocks[i].start, blocks[j].size, blocks[i].size);
      if (j == i || (G_ji.array() != 0.0).any()) touched.push_back(j);
    }
    auto panel = sparse.add_column(blocks, i, touched);
    int row = 0;
    for (const int j : touched) {
      panel.middleRows(row, blocks[j].size) = G.block(blocks[j].start, blocks[i].start, blocks[j].size, blocks[i].size);
      row += blocks[j].size;
    }
  }
  return sparse;
}

BlockSparse BlockSparse::from_compressed(std::span<const double> values, std::span<const int> indices,
                                         std::span<const int> begin, std::span<const Block> blocks) {
  const int rows = static_cast<int>(begin.size()) - 1;
  if (rows < 0 || values.size() != indices.size() || begin[0] != 0 || begin[rows] != static_cast<int>(indices.size()) ||
      !std::is_sorted(begin.begin(), begin.end())) {
    throw std::invalid_argument("BlockSparse: indptr, indices and data do not fit one another");
  }
  for (const int index : indices) {
    if (index < 0 || index >= rows) {
      throw std::invalid_argument("BlockSparse: index " + std::to_string(index) + " is outside 0 … " +
                                  std::to_string(rows - 1));
    }
  }
  if (!blocks.empty() && blocks.back().start + blocks.back().size != rows) {
    throw std::invalid_argument("BlockSparse: the matrix has " + std::to_string(rows) + " rows, the blocks " +
                                std::to_string(blocks.back().start + blocks.back().size));
  }
  std::vector<int> block_of(static_cast<std::size_t>(rows));
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    std::fill_n(block_of.begin() + blocks[i].start, blocks[i].size, i);
  }
  BlockSparse sparse;
  sparse.clear(rows);
  std::vector<int> touched, row_of(blocks.size());
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    const int first = blocks[i].start, last = first + blocks[i].size;
    touched.assign(1, i);
    for (int k = begin[first]; k < begin[last]; ++k) touched.push_back(block_of[indices[k]]);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    auto panel = sparse.add_column(blocks, i, touched);
    int row = 0;
    for (const int j : touched) {
      row_of[j] = row;
      row += blocks[j].size;
    }
    for (int line = first; line < last; ++line) {
      for (int k = begin[line]; k < begin[line + 1]; ++k) {
        const int j = block_of[indices[k]];
        panel(row_of[j] + indices[k] - blocks[j].start, line - first) += values[k];
      }
    }
  }
  return sparse;
}

}  // namespace taut
