#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "taut/io/limits.hpp"
#include "taut/simulation/scene.hpp"

namespace taut::io {

/// Adds a collision pair that is known to be new: Pinocchio looks at all others first, which for a thousand shapes
/// takes minutes. Throws std::invalid_argument if there are too many.
inline void add_new_pair(pinocchio::GeometryModel& geometry, std::size_t i, std::size_t j) {
  if (geometry.collisionPairs.size() >= limits::kPairs) {
    throw std::invalid_argument("there are more than " + std::to_string(limits::kPairs) +
                                " pairs of shapes that may touch");
  }
  const int index = static_cast<int>(geometry.collisionPairs.size());
  geometry.collisionPairs.emplace_back(i, j);
  const auto row = static_cast<Eigen::Index>(i), column = static_cast<Eigen::Index>(j);
  geometry.collisionPairMapping(row, column) = geometry.collisionPairMapping(column, row) = index;
}

}  // namespace taut::io
