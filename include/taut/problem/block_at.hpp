#pragma once

#include <algorithm>
#include <span>

#include "taut/problem/block.hpp"

namespace taut {

/// The block a row belongs to.
inline int block_at(std::span<const Block> blocks, int row) {
  const auto after =
      std::upper_bound(blocks.begin(), blocks.end(), row, [](int r, const Block& block) { return r < block.start; });
  return static_cast<int>(after - blocks.begin()) - 1;
}

}  // namespace taut
