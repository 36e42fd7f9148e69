#pragma once

#include <array>
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

  /// Bit by bit where the scene stands; also false if the same values stand elsewhere. For the scene that was copied.
  /// Does not allocate.
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
  std::vector<std::byte> values_;  ///< one after the other, to find which of them differs
  /// The same, and the sizes of shapes, as bytes where they stand: to see quickly that none differs. What stands
  /// between two values may be among them.
  template <typename Copy>
  struct Piece {
    int what;  ///< `kHead`: of the scene itself; `kList`: of its lists; or the shape whose size it is
    const void* live;
    Copy copy;
  };
  static constexpr int kHead = -2, kList = -1;
  using Window = Piece<std::array<std::byte, 32>>;
  using Word = Piece<std::uint64_t>;
  std::vector<Window> windows_;                                           ///< those of heads come first
  std::vector<Word> words_;                                               ///< of what is shorter
  std::vector<int> kinds_;                                                ///< of the shapes, Coal's
  std::vector<std::shared_ptr<const coal::CollisionGeometry>> geometry_;  ///< keeps what the last of these point to
};

/// Of what a simulator is made for, names included and values left out: scenes that were read from the same file, or
/// built by the same code, have the same.
std::uint64_t structure_of(const Scene& scene);

}  // namespace taut
