#include "taut/collision/mesh.hpp"

#include <coal/shape/geometric_shapes.h>

#include <algorithm>
#include <cmath>

namespace taut {

namespace {

using Eigen::Vector3d;

// Edges of every vertex, or null.
const std::vector<coal::ConvexBase::Neighbors>* edges_of(const Shape& mesh) {
  const auto& neighbors = static_cast<const coal::ConvexBase*>(mesh.geometry)->neighbors;
  return neighbors && neighbors->size() == mesh.vertices->size() ? neighbors.get() : nullptr;
}

constexpr std::size_t kSmall = 32;  // a scan of so few is faster than a walk

}  // namespace

int farthest_vertex(const Shape& mesh, const Vector3d& d, int start) {
  const auto& vertices = *mesh.vertices;
  const auto* edges = edges_of(mesh);
  int best = edges && vertices.size() > kSmall ? std::clamp(start, 0, static_cast<int>(vertices.size()) - 1) : 0;
  double height = vertices[best].dot(d);
  const auto attempt = [&](int i) {
    const double h = vertices[i].dot(d);
    if (h > height) height = h, best = i;
  };
  // A vertex without edges, of a mesh with doubled ones, is no place to walk from.
  if (!edges || vertices.size() <= kSmall || (*edges)[best].count() == 0) {
    for (int i = 0; i < static_cast<int>(vertices.size()); ++i) attempt(i);
    return best;
  }
  for (int at = -1; at != best;) {
    at = best;
    const auto& around = (*edges)[at];
    for (int k = 0; k < around.count(); ++k) attempt(static_cast<int>(around[k]));
  }
  return best;
}

VertexSet vertices_near_top(const Shape& mesh, const Vector3d& d, int top, double slack) {
  const auto& vertices = *mesh.vertices;
  const auto* edges = edges_of(mesh);
  const double limit = vertices[top].dot(d) - slack;
  VertexSet found;
  found.add(top);
  if (!edges) {
    for (int i = 0; i < static_cast<int>(vertices.size()); ++i) {
      if (vertices[i].dot(d) >= limit) found.add(i);
    }
    return found;
  }
  for (int i = 0; i < found.count; ++i) {  // grows while it is walked
    const auto& around = (*edges)[found.items[i]];
    for (int k = 0; k < around.count(); ++k) {
      if (vertices[around[k]].dot(d) >= limit) found.add(static_cast<int>(around[k]));
    }
  }
  return found;
}

void add_neighbors(const Shape& mesh, int depth, VertexSet& vertices) {
  const auto* edges = edges_of(mesh);
  if (!edges) {
    for (int i = 0; i < static_cast<int>(mesh.vertices->size()); ++i) vertices.add(i);
    return;
  }
  int first = 0;
  for (int level = 0; level < depth; ++level) {
    const int last = vertices.count;
    for (int i = first; i < last; ++i) {
      const auto& around = (*edges)[vertices.items[i]];
      for (int k = 0; k < around.count(); ++k) vertices.add(static_cast<int>(around[k]));
    }
    first = last;
  }
}

}  // namespace taut
