#pragma once

#include <algorithm>
#include <cstddef>

namespace taut {

/// The most a model file may ask for, so that a broken or hostile one ends in an error within a second instead of
/// taking the machine. Everything that grows with the text has its share of `LoadOptions::max_bytes`.
namespace limits {
constexpr std::size_t kBytes = std::size_t{256} << 20;  ///< default of `max_bytes`: the meshes of a model together
constexpr std::size_t kXmlShare = 4;                    ///< its XML files together: this part of `max_bytes`
constexpr std::size_t kElementShare = 1024;             ///< bytes of `max_bytes` for each element
constexpr std::size_t kAttributeShare = 128;            ///< and for each attribute
constexpr int kDepth = 500;                             ///< elements within elements, over all files
constexpr int kIncludes = 100;                          ///< files within files
constexpr int kBodies = 10'000;                         ///< bodies or links
constexpr int kChain = 1000;                            ///< links one after the other
constexpr int kDofs = 10'000;                           ///< degrees of freedom
constexpr int kShapes = 3000;                           ///< shapes that collide
constexpr std::size_t kPairs = 1'500'000;               ///< pairs of shapes that may touch
constexpr int kHeights = 1 << 20;                       ///< elevations of a height field
constexpr double kFarthest = 1e9;                       ///< m: any coordinate or size
constexpr double kLargest = 1e15;                       ///< any other number that must be finite

constexpr std::size_t elements(std::size_t max_bytes) {
  return std::max<std::size_t>(max_bytes / kElementShare, 10'000);
}
constexpr std::size_t attributes(std::size_t max_bytes) {
  return std::max<std::size_t>(max_bytes / kAttributeShare, 100'000);
}
}  // namespace limits

}  // namespace taut
