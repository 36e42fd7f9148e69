#include "hull.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

namespace taut::io {

namespace {

using Eigen::Vector3d;
using Lattice = Eigen::Matrix<std::int64_t, 3, 1>;
__extension__ using Wide = __int128;

constexpr double kGrid = 274877906944.0;  // 2³⁸: a product of three differences of such numbers fits into 128 bits
constexpr double kFlat = 1e-7;            // of the extent: the detector takes what is a little thicker
constexpr std::size_t kMostEdges = 254;   // Coal counts the edges of a vertex in a byte

struct Face {
  std::array<int, 3> corners;
  std::array<int, 3> neighbors;  // across the edge from corner k to corner k + 1
  Vector3d normal;
  std::vector<int> outside;  // points that see this face, each in the list of one face
  bool removed = false;
};

class QuickHull {
 public:
  explicit QuickHull(std::vector<Lattice> points) : points_(std::move(points)), start_(points_.size(), -1) {}

  // False if all points are in one plane.
  bool build() {
    if (!first_tetrahedron()) return false;
    for (std::size_t at = 0; at < faces_.size(); ++at) {  // grows while it is walked
      if (!faces_[at].removed && !faces_[at].outside.empty()) add_point(static_cast<int>(at));
    }
    return true;
  }

  std::vector<std::array<int, 3>> triangles() const {
    std::vector<std::array<int, 3>> found;
    for (const Face& face : faces_) {
      if (!face.removed) found.push_back(face.corners);
    }
    return found;
  }

 private:
  // Is the point strictly above the face? Coplanar ones are not, which keeps every new triangle from being flat.
  bool sees(int point, const Face& face) const {
    const Lattice d = points_[static_cast<std::size_t>(point)] - corner(face, 0);
    // Rounding moves the determinant by less than 2⁷⁰: normals up to 2⁷⁹, differences up to 2³⁹, 53 bits.
    const double height = face.normal.dot(d.cast<double>());
    constexpr double certain = 4722366482869645213696.0;  // 2⁷²
    if (std::abs(height) > certain) return height > 0.0;
    const Lattice a = corner(face, 1) - corner(face, 0), b = corner(face, 2) - corner(face, 0);
    const auto minor = [&](int i, int j) { return Wide(a[i]) * b[j] - Wide(a[j]) * b[i]; };
    return minor(1, 2) * d[0] + minor(2, 0) * d[1] + minor(0, 1) * d[2] > 0;
  }

  const Lattice& corner(const Face& face, int k) const {
    return points_[static_cast<std::size_t>(face.corners[static_cast<std::size_t>(k)])];
  }

  int add_face(int a, int b, int c) {
    Face face{.corners = {a, b, c}, .neighbors = {-1, -1, -1}, .normal = {}, .outside = {}};
    face.normal =
        (corner(face, 1) - corner(face, 0)).cast<double>().cross((corner(face, 2) - corner(face, 0)).cast<double>());
    faces_.push_back(std::move(face));
    return static_cast<int>(faces_.size()) - 1;
  }

  // Four points as far apart as a greedy search finds them.
  bool first_tetrahedron() {
    const int count = static_cast<int>(points_.size());
    const auto farthest = [&](const auto& measure) {
      int best = 0;
      double most = -1.0;
      for (int i = 0; i < count; ++i) {
        if (const double m = measure(points_[static_cast<std::size_t>(i)]); m > most) most = m, best = i;
      }
      return std::pair(best, most);
    };
    const auto at = [&](int i) { return points_[static_cast<std::size_t>(i)].cast<double>().eval(); };
    const int a = farthest([](const Lattice& p) { return static_cast<double>(p[0]); }).first;
    const int b = farthest([&](const Lattice& p) { return (p.cast<double>() - at(a)).norm(); }).first;
    const Vector3d along = at(b) - at(a);
    const int c = farthest([&](const Lattice& p) { return along.cross(p.cast<double>() - at(a)).norm(); }).first;
    const Vector3d normal = along.cross(at(c) - at(a));
    const int d = farthest([&](const Lattice& p) { return std::abs(normal.dot(p.cast<double>() - at(a))); }).first;
    std::array<int, 4> first{a, b, c, d};
    add_face(a, b, c);
    if (!sees(d, faces_[0])) {
      std::swap(first[0], first[1]);  // seen from the other side, or from nowhere
      faces_.clear();
      add_face(b, a, c);
      if (!sees(d, faces_[0])) return false;
    }
    faces_.clear();
    // d is above (0, 1, 2), so the faces turn their backs to each other like this:
    add_face(first[0], first[2], first[1]);
    add_face(first[0], first[1], d);
    add_face(first[1], first[2], d);
    add_face(first[2], first[0], d);
    faces_[0].neighbors = {3, 2, 1};
    faces_[1].neighbors = {0, 2, 3};
    faces_[2].neighbors = {0, 3, 1};
    faces_[3].neighbors = {0, 1, 2};
    std::vector<int> all(points_.size());
    for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
    hand_out(all, 0);
    return true;
  }

  // Gives every point to the first face, from `first` on, that it sees; those that see none are inside.
  void hand_out(const std::vector<int>& points, std::size_t first) {
    for (const int point : points) {
      for (std::size_t f = first; f < faces_.size(); ++f) {
        if (!sees(point, faces_[f])) continue;
        faces_[f].outside.push_back(point);
        break;
      }
    }
  }

  void add_point(int from) {
    const Face& base = faces_[static_cast<std::size_t>(from)];
    int apex = base.outside.front();
    double most = -1.0;
    for (const int point : base.outside) {
      const Lattice d = points_[static_cast<std::size_t>(point)] - corner(base, 0);
      if (const double height = base.normal.dot(d.cast<double>()); height > most) most = height, apex = point;
    }

    // All faces the apex sees hang together; their border is one closed line.
    struct Edge {
      int begin, end, beyond;
    };
    std::vector<Edge> border;
    std::vector<int> seen{from}, orphans;
    faces_[static_cast<std::size_t>(from)].removed = true;
    for (std::size_t i = 0; i < seen.size(); ++i) {  // grows while it is walked
      const std::array<int, 3> corners = faces_[static_cast<std::size_t>(seen[i])].corners;
      const std::array<int, 3> neighbors = faces_[static_cast<std::size_t>(seen[i])].neighbors;
      for (std::size_t k = 0; k < 3; ++k) {
        Face& neighbor = faces_[static_cast<std::size_t>(neighbors[k])];
        if (neighbor.removed) continue;
        if (sees(apex, neighbor)) {
          neighbor.removed = true;
          seen.push_back(neighbors[k]);
        } else {
          border.push_back({corners[k], corners[(k + 1) % 3], neighbors[k]});
        }
      }
    }
    for (const int f : seen) {
      auto& outside = faces_[static_cast<std::size_t>(f)].outside;
      for (const int point : outside) {
        if (point != apex) orphans.push_back(point);
      }
      outside = {};
    }

    const std::size_t first = faces_.size();
    for (const Edge& edge : border) {
      const int made = add_face(edge.begin, edge.end, apex);
      start_[static_cast<std::size_t>(edge.begin)] = made;
      faces_[static_cast<std::size_t>(made)].neighbors[0] = edge.beyond;
      Face& beyond = faces_[static_cast<std::size_t>(edge.beyond)];
      for (std::size_t k = 0; k < 3; ++k) {
        if (beyond.corners[k] == edge.end) beyond.neighbors[k] = made;  // the same edge, the other way
      }
    }
    for (std::size_t f = first; f < faces_.size(); ++f) {
      const int next = start_[static_cast<std::size_t>(faces_[f].corners[1])];
      faces_[f].neighbors[1] = next;
      faces_[static_cast<std::size_t>(next)].neighbors[2] = static_cast<int>(f);
    }
    hand_out(orphans, first);
  }

  std::vector<Lattice> points_;
  std::vector<Face> faces_;
  std::vector<int> start_;  // of a corner on the border: the new face that begins there
};

struct Extent {
  Vector3d low;
  double size;
};

Extent extent_of(const std::vector<Vector3d>& points) {
  Vector3d low = points.front(), high = low;
  for (const Vector3d& p : points) low = low.cwiseMin(p), high = high.cwiseMax(p);
  return {low, (high - low).maxCoeff()};
}

void check(const std::vector<Vector3d>& points) {
  if (points.size() < 3) {
    throw std::invalid_argument("a mesh has at least 3 vertices, this one " + std::to_string(points.size()));
  }
  for (const Vector3d& p : points) {
    if (!p.allFinite()) throw std::invalid_argument("a vertex is not finite");
    if (!(p.cwiseAbs().maxCoeff() <= limits::kFarthest)) {
      throw std::invalid_argument("a vertex is farther than 1e9 m from the origin");
    }
  }
}

// Both sides of what is flat, else the points as they are.
std::vector<Vector3d> thickened(const std::vector<Vector3d>& points, const Extent& extent, bool& plate) {
  if (!(extent.size > 1e-100)) throw std::invalid_argument("all vertices are in one point");
  Vector3d mean = Vector3d::Zero();
  const double share = 1.0 / static_cast<double>(points.size());
  for (const Vector3d& p : points) mean += share * (p - extent.low) / extent.size;
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const Vector3d& p : points) {
    const Vector3d d = (p - extent.low) / extent.size - mean;
    spread += share * d * d.transpose();
  }
  const Eigen::Matrix3d axes = Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(spread).eigenvectors();
  const auto width = [&](int axis) {
    double least = INFINITY, most = -INFINITY;
    for (const Vector3d& p : points) {
      const double along = axes.col(axis).dot(p - extent.low) / extent.size;
      least = std::min(least, along), most = std::max(most, along);
    }
    return most - least;
  };
  if (width(1) <= kFlat) throw std::invalid_argument("all vertices are on one line");
  plate = width(0) <= kFlat;
  if (!plate) return points;
  const Vector3d half = 0.5 * kPlate * extent.size * axes.col(0);
  std::vector<Vector3d> both;
  for (const Vector3d& p : points) both.insert(both.end(), {p - half, p + half});
  return both;
}

std::vector<std::array<int, 3>> triangles_of(const std::vector<Vector3d>& points) {
  const Extent extent = extent_of(points);
  std::vector<Lattice> snapped;
  snapped.reserve(points.size());
  for (const Vector3d& p : points) {
    snapped.push_back(((p - extent.low) / extent.size * kGrid).array().round().matrix().cast<std::int64_t>());
  }
  QuickHull hull(std::move(snapped));
  if (!hull.build()) throw std::invalid_argument("the mesh is flat");
  return hull.triangles();
}

// Only corners, in the order of the points.
void keep_corners(std::vector<Vector3d>& points, std::vector<std::array<int, 3>>& triangles) {
  std::vector<int> number(points.size(), -1);
  for (const auto& triangle : triangles) {
    for (const int corner : triangle) number[static_cast<std::size_t>(corner)] = 0;
  }
  std::vector<Vector3d> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(kept.size());
    kept.push_back(points[i]);
  }
  for (auto& triangle : triangles) {
    for (int& corner : triangle) corner = number[static_cast<std::size_t>(corner)];
  }
  points = std::move(kept);
}

// Every second neighbour of the corner that has too many: the tip of a cone on a very fine circle. Empty if none has.
std::set<int> too_many(std::size_t corners, const std::vector<std::array<int, 3>>& triangles) {
  std::vector<std::size_t> edges(corners, 0);
  for (const auto& triangle : triangles) {
    for (const int corner : triangle) ++edges[static_cast<std::size_t>(corner)];
  }
  const auto most = std::max_element(edges.begin(), edges.end());
  std::set<int> surplus;
  if (*most <= kMostEdges) return surplus;
  const int tip = static_cast<int>(most - edges.begin());
  std::vector<int> after(corners, -1);  // around the tip
  int first = -1;
  for (const auto& triangle : triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      if (triangle[k] == tip) after[static_cast<std::size_t>(first = triangle[(k + 1) % 3])] = triangle[(k + 2) % 3];
    }
  }
  int at = first;
  for (std::size_t i = 0; i + 1 < *most; ++i, at = after[static_cast<std::size_t>(at)]) {
    if (i % 2 == 1) surplus.insert(at);
  }
  return surplus;
}

}  // namespace

Hull convex_hull(const std::vector<Vector3d>& given) {
  check(given);
  Hull hull;
  std::vector<Vector3d> points = thickened(given, extent_of(given), hull.plate);
  std::vector<std::array<int, 3>> triangles = triangles_of(points);
  keep_corners(points, triangles);
  for (auto surplus = too_many(points.size(), triangles); !surplus.empty();
       surplus = too_many(points.size(), triangles)) {
    std::vector<Vector3d> fewer;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!surplus.contains(static_cast<int>(i))) fewer.push_back(points[i]);
    }
    hull.left_out += points.size() - fewer.size();
    points = std::move(fewer);
    triangles = triangles_of(points);
    keep_corners(points, triangles);
  }

  auto faces = std::make_shared<std::vector<coal::Triangle>>();
  faces->reserve(triangles.size());
  for (const auto& [a, b, c] : triangles) {
    faces->emplace_back(static_cast<std::size_t>(a), static_cast<std::size_t>(b), static_cast<std::size_t>(c));
  }
  auto corners = std::make_shared<std::vector<coal::Vec3s>>(points.begin(), points.end());
  hull.shape = std::make_shared<coal::Convex<coal::Triangle>>(corners, static_cast<unsigned int>(corners->size()),
                                                              faces, static_cast<unsigned int>(faces->size()));
  hull.shape->computeLocalAABB();
  return hull;
}

}  // namespace taut::io
