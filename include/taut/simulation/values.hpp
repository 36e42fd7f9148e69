#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "taut/simulation/scene.hpp"

namespace taut {

/// A scene is live: masses, limits, surfaces, shapes may be edited between two steps, and nobody is told. This is a
/// copy of all that a step and its derivatives read of one, to see at the next whether something was edited.
///
/// The points of a mesh and the heights of a height field are not among them: for another mesh give another geometry.
class SceneValues {
 public:
  explicit SceneValues(const Scene& scene) { copy(scene); }

  void copy(const Scene& scene);

  /// Bit by bit. Does not allocate, and takes 0.1 µs for a robot.
  bool equal(const Scene& scene) const;

  /// What is made of values, and must be made anew where they differ.
  struct Difference {
    std::string first;         ///< the first value that differs, by name; empty if none does
    bool structure = false;    ///< joints, shapes, pairs, loops, …: what a simulator is made for
    bool joint_rows = false;   ///< limits and dry friction
    bool pairs = false;        ///< what pairs of shapes have of their own
    bool restitution = false;  ///< of anything
    bool placements = false;   ///< of shapes on their joints
    bool shapes = false;       ///< sizes
  };
  Difference difference(const Scene& scene) const;

 private:
  std::vector<std::byte> values_;
  /// Sizes are read where the geometry has them, without asking what it is.
  struct Sizes {
    int shape;
    const void* live;
    std::size_t bytes, at;  ///< how many, and where in `sizes_`
  };
  std::vector<Sizes> sized_;
  std::vector<std::byte> sizes_;
  std::vector<int> kinds_;                                                ///< of the shapes, Coal's
  std::vector<std::shared_ptr<const coal::CollisionGeometry>> geometry_;  ///< keeps what `sized_` points to
};

/// Of what a simulator is made for, names included and values left out: scenes that were read from the same file, or
/// built by the same code, have the same.
std::uint64_t structure_of(const Scene& scene);

}  // namespace taut
