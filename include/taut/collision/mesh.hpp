#pragma once

#include <array>
#include <cstdint>

#include "taut/collision/shape.hpp"

namespace taut {

/// A few vertices of a convex mesh, by index, each once.
struct VertexSet {
  static constexpr int capacity = 256;
  std::array<int, capacity> items;
  int count = 0;

  bool contains(int vertex) const {
    if (!(seen_[slot(vertex)] >> (vertex % 64) & 1)) return false;
    for (int i = 0; i < count; ++i) {
      if (items[i] == vertex) return true;
    }
    return false;
  }
  void add(int vertex) {
    if (count == capacity || contains(vertex)) return;
    items[count++] = vertex;
    seen_[slot(vertex)] |= std::uint64_t{1} << (vertex % 64);
  }
  const int* begin() const { return items.data(); }
  const int* end() const { return items.data() + count; }

 private:
  static std::size_t slot(int vertex) { return static_cast<std::size_t>(vertex / 64 % 16); }
  std::array<std::uint64_t, 16> seen_{};  // a bit for each vertex, modulo their number: most are not in the set
};

/// The vertex farthest along d, uphill along edges from `start`: a convex mesh has no second hill. Small meshes, and
/// those that do not know their edges, are searched whole.
int farthest_vertex(const Shape& mesh, const Eigen::Vector3d& d, int start = 0);

/// The vertices that are at most `slack` lower along d than `top`, the farthest: one, or those of an edge or a face.
VertexSet vertices_near_top(const Shape& mesh, const Eigen::Vector3d& d, int top, double slack);

/// Adds what is at most `depth` edges away; everything where edges are not known.
void add_neighbors(const Shape& mesh, int depth, VertexSet& vertices);

}  // namespace taut
