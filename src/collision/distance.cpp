#include "taut/collision/distance.hpp"

#include <Eigen/Geometry>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "placed_feature.hpp"
#include "taut/collision/contact.hpp"
#include "taut/collision/mesh.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::SE3;

// How far a normal separates the shapes, which is φ if it is the right one and less if it is not.
double separation(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Distance& at) {
  const auto height = [](const Shape& shape, const Vector3d& d, int& vertex) {
    if (shape.kind != Shape::Kind::convex) return support_height(shape, d);
    vertex = farthest_vertex(shape, d, vertex);
    return d.dot((*shape.vertices)[vertex]);
  };
  return at.normal.dot(oM1.translation() - oM2.translation()) -
         height(first, oM1.rotation().transpose() * -at.normal, at.vertex_1) -
         height(second, oM2.rotation().transpose() * at.normal, at.vertex_2);
}

// Newton on the optimality conditions; false if it leads away from where it starts. `angle` says what features the
// normal is taken to see.
bool newton(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, double angle, Distance& at) {
  Distance best = at;
  for (int round = 0; round < 6; ++round) {
    const Matrix3d frame = contact_frame(best.normal);
    const auto T = frame.leftCols<2>();
    PlacedFeature one(first, oM1, frame, -1.0, best.point_1, best.vertex_1, angle);
    PlacedFeature two(second, oM2, frame, 1.0, best.point_2, best.vertex_2, angle);
    const CollisionResponse response(one.tangent, two.tangent, best.distance, least_curvature(first, second));
    const Vector3d p_1 = oM1.act(one.local.point), p_2 = oM2.act(two.local.point);
    const Vector3d rest = p_1 - p_2 - best.distance * best.normal;
    const Eigen::Vector2d e = T.transpose() * rest;
    Eigen::Vector4d b;
    b << one.local.flat.transpose() * one.F.col(2), two.local.flat.transpose() * two.F.col(2);
    const Eigen::Vector2d turn = response.by_slip * e + response.by_tilt * b;
    if (!turn.allFinite() || turn.norm() > 0.1) return false;
    const Eigen::Vector2d left = response.K * turn - e;
    const double grown = best.normal.dot(rest);
    const Eigen::Vector2d move_1 = response.slide_1 * left - one.tangent.curvature * turn;
    const Eigen::Vector2d move_2 = response.slide_2 * left + two.tangent.curvature * turn;
    best.normal = (best.normal + T * turn).normalized();
    best.distance += grown;
    best.point_1 = p_1 + T * move_1;
    best.point_2 = p_2 + T * move_2;
    const double size = turn.norm() + std::abs(grown) + move_1.norm() + move_2.norm();
    if (size < 1e-14 * (1.0 + std::abs(best.distance))) break;
  }
  at = best;
  return true;
}

// GJK's normal is good to the root of its tolerance. That may be too little to see the edge it is square to: then a
// wider angle does. The answer that separates most is the right one; true if it separates by what it claims.
bool polish(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Distance& at) {
  const double exact = 1e-12 * (1.0 + std::abs(at.distance));
  Distance start = at;
  double most = separation(first, oM1, second, oM2, start) - exact;
  for (const double angle : {1e-6, 1e-4, 1e-3, 1e-2}) {
    Distance found = start;
    if (!newton(first, oM1, second, oM2, angle, found)) continue;
    const double reached = separation(first, oM1, second, oM2, found);
    if (reached > most) most = reached, at = found;
    if (reached > found.distance - exact) break;
  }
  return most > at.distance - 1e-9;
}

void require(bool fine, const char* what) {
  if (!fine) throw std::invalid_argument(std::string("distance: ") + what);
}

Pose pose_of(const SE3& M) { return {M.rotation(), M.translation()}; }

// What GJK and EPA say with the second shape moved by `shift`, seen from where it stands.
std::optional<Distance> ask(Gjk& gjk, const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                            const Vector3d& shift, const Vector3d& start) {
  Pose moved = pose_of(oM2);
  moved.translation += shift;
  gjk.run(first, pose_of(oM1), second, moved, oM1.rotation().transpose() * start);
  const auto witness = gjk.witness();
  if (!witness || !witness->normal.allFinite() || !(witness->normal.norm() > 0.5)) return {};
  Distance found{.distance = witness->distance,
                 .normal = oM1.rotation() * witness->normal.normalized(),
                 .point_1 = oM1.act(witness->point_1),
                 .point_2 = oM1.act(witness->point_2) - shift,
                 .vertex_1 = gjk.hint()[0],
                 .vertex_2 = gjk.hint()[1]};
  if (!found.point_1.allFinite() || !found.point_2.allFinite()) return {};
  found.distance = found.normal.dot(found.point_1 - found.point_2);
  return found;
}

// The shapes as a direction sees them.
Distance seen_along(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, const Vector3d& n) {
  Distance found{.normal = n,
                 .point_1 = oM1.act(support(first, oM1.rotation().transpose() * -n)),
                 .point_2 = oM2.act(support(second, oM2.rotation().transpose() * n))};
  found.distance = n.dot(found.point_1 - found.point_2);
  return found;
}

}  // namespace

Distance distance(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Gjk& gjk) {
  using Kind = Shape::Kind;
  require(oM1.rotation().allFinite() && oM1.translation().allFinite(), "the first pose is not finite");
  require(oM2.rotation().allFinite() && oM2.translation().allFinite(), "the second pose is not finite");
  require(first.kind != Kind::height_field && second.kind != Kind::height_field, "height fields are not convex");
  require(first.kind != Kind::half_space || second.kind != Kind::half_space, "two half-spaces have none");
  Distance found;
  if (first.kind == Kind::half_space) {
    found = distance(second, oM2, first, oM1, gjk);
    std::swap(found.point_1, found.point_2);
    std::swap(found.vertex_1, found.vertex_2);
    found.normal = -found.normal;
    return found;
  }
  if (second.kind == Kind::half_space) {
    found.normal = oM2.rotation() * second.normal;
    found.point_1 = oM1.act(support(first, oM1.rotation().transpose() * -found.normal));
    found.distance = found.normal.dot(found.point_1 - oM2.translation()) - second.offset;
    found.point_2 = found.point_1 - found.distance * found.normal;
    return found;
  }
  const Vector3d line = oM1.act(first.center) - oM2.act(second.center);
  const Vector3d centers = line.norm() > 0.0 ? Vector3d(line.normalized()) : Vector3d(Vector3d::UnitZ());
  const auto answer = ask(gjk, first, oM1, second, oM2, Vector3d::Zero(), line.norm() > 0.0 ? line : centers);
  found = answer ? *answer : seen_along(first, oM1, second, oM2, centers);
  if (polish(first, oM1, second, oM2, found)) return found;

  // Where shapes just touch, the two nearest points are one and their difference is no direction; EPA may fail, and is
  // slow on curved shapes. From a little apart along a direction the nearest features are seen clearly; for the right
  // direction asking again gives it back.
  const double apart = 1e-2 * std::min(first.radius, second.radius);
  double most = separation(first, oM1, second, oM2, found);
  for (const Vector3d& start : {Vector3d(found.normal), centers}) {
    Distance at{.normal = start, .vertex_1 = found.vertex_1, .vertex_2 = found.vertex_2};
    double reached = separation(first, oM1, second, oM2, at);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const Vector3d shift = -(apart + std::max(0.0, -reached)) * at.normal;
      const auto seen = ask(gjk, first, oM1, second, oM2, shift, -shift);
      if (!seen) break;
      at = *seen;
      polish(first, oM1, second, oM2, at);
      const double s = separation(first, oM1, second, oM2, at);
      if (s > most) most = s, found = at;
      if (s - reached < 1e-10) break;
      reached = s;
    }
  }
  found.distance = most;
  return found;
}

Distance distance(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2) {
  thread_local Gjk gjk({.max_iterations = 512, .max_epa_iterations = 256});
  return distance(first, oM1, second, oM2, gjk);
}

bool refine(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Distance& at) {
  return polish(first, oM1, second, oM2, at);
}

}  // namespace taut
