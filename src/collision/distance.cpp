#include "taut/collision/distance.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

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

// Spheres and capsules are segments with a radius. The segments' difference is flat, so that the sum of the radii is
// the whole depth of what overlaps: the distance of the segments gives the shapes', however deep.
Distance of_segments(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2) {
  const auto half = [](const Shape& shape, const SE3& M) {
    return shape.kind == Shape::Kind::capsule ? Vector3d(shape.size.z() * M.rotation().col(2))
                                              : Vector3d(0.0, 0.0, 0.0);
  };
  const Vector3d a = half(first, oM1), b = half(second, oM2), w = oM1.translation() - oM2.translation();
  const double aa = a.squaredNorm(), bb = b.squaredNorm(), ab = a.dot(b), aw = a.dot(w), bw = b.dot(w);
  Vector3d x = w, nearest = w;  // of w + s a − t b, |s| ≤ 1, |t| ≤ 1, the shortest
  double s = 0.0, t = 0.0, least = HUGE_VAL;
  const auto attempt = [&](double u, double v) {
    x = w + u * a - v * b;
    if (x.squaredNorm() < least) least = x.squaredNorm(), nearest = x, s = u, t = v;
  };
  const auto ratio = [](double p, double q) { return q > 0.0 ? std::clamp(p / q, -1.0, 1.0) : 0.0; };
  const double cross = aa * bb - ab * ab;
  if (cross > 0.0) attempt(ratio(ab * bw - bb * aw, cross), ratio(aa * bw - ab * aw, cross));
  for (const double end : {-1.0, 1.0}) {
    attempt(end, ratio(bw + end * ab, bb));
    attempt(ratio(end * ab - aw, aa), end);
  }
  Distance found;
  const double scale = first.radius + second.radius, apart = nearest.norm();
  if (apart > 1e-12 * scale) {
    found.normal = nearest / apart;
  } else if (a.cross(b).norm() > 1e-9 * a.norm() * b.norm()) {
    found.normal = a.cross(b).normalized();
  } else if (const Vector3d& along = aa > bb ? a : b; along.norm() > 0.0) {
    found.normal = contact_frame(along.normalized()).col(0);
  }
  found.point_1 = oM1.translation() + s * a - first.size.x() * found.normal;
  found.point_2 = oM2.translation() + t * b + second.size.x() * found.normal;
  found.distance = (apart > 1e-12 * scale ? apart : 0.0) - first.size.x() - second.size.x();
  return found;
}

// Half of how thin a shape is.
double thickness(const Shape& shape) {
  using Kind = Shape::Kind;
  if (shape.kind == Kind::convex) return shape.radius;
  if (shape.kind == Kind::capsule) return shape.size.x();
  if (shape.kind == Kind::cylinder || shape.kind == Kind::cone) return std::min(shape.size.x(), shape.size.z());
  return shape.size.minCoeff();
}

// Looks around a direction for one that separates more. No derivative is asked for: most directions see corners and
// rims. Good to some 1e-3 of the shapes.
void climb(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, double step, double least,
           Distance& at) {
  for (int left = 150; step > least && left > 0;) {
    const Matrix3d frame = contact_frame(at.normal);
    bool better = false;
    for (int k = 0; k < 6 && !better; ++k, --left) {
      const double angle = k * M_PI / 3.0 + 10.0 * step;
      Distance next = at;
      next.normal += step * (std::cos(angle) * frame.col(0) + std::sin(angle) * frame.col(1));
      next.normal.normalize();
      next.distance = separation(first, oM1, second, oM2, next);
      if (next.distance > at.distance) at = next, better = true;
    }
    if (!better) step *= 0.5;
  }
}

// Overlapping shapes have several directions that separate them more than all nearby. The largest is most often found
// from one of these: what was found, the line of centres and the axes of both, of a cone those of its side.
using Starts = std::array<Distance, 5>;
Starts best_starts(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, const Vector3d& centers,
                   Distance at) {
  std::array<Distance, 14> all;
  all[13] = at;
  all[13].distance = separation(first, oM1, second, oM2, all[13]);
  for (std::size_t k = 0; k < 13; ++k) {
    const Shape& shape = k < 6 ? first : second;
    Vector3d axis = (k & 1 ? -1.0 : 1.0) * Vector3d::Unit(static_cast<Eigen::Index>(k / 2 % 3));
    if (shape.kind == Shape::Kind::cone && axis.z() == 0.0) {
      axis = (Vector3d(0.0, 0.0, shape.size.x()) + 2.0 * shape.size.z() * axis).normalized();
    }
    at.normal = k == 12 ? centers : k < 6 ? Vector3d(oM1.rotation() * -axis) : Vector3d(oM2.rotation() * axis);
    at.distance = separation(first, oM1, second, oM2, at);
    all[k] = at;
  }
  for (Distance& start : all) climb(first, oM1, second, oM2, 0.4, 0.06, start);
  Starts starts;
  std::partial_sort_copy(all.begin(), all.end(), starts.begin(), starts.end(),
                         [](const Distance& a, const Distance& b) { return a.distance > b.distance; });
  for (Distance& start : starts) climb(first, oM1, second, oM2, 0.05, 3e-3, start);
  return starts;
}

// Points that do not belong to the normal: a ball or an ellipsoid has one that does, and a capsule that does not lie.
void oppose(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Distance& at) {
  if ((at.point_1 - at.point_2 - at.distance * at.normal).norm() < 1e-9 * (1.0 + std::abs(at.distance))) return;
  const auto has_one = [&](const Shape& shape, const SE3& M) {
    return shape.kind <= Shape::Kind::ellipsoid ||
           (shape.kind == Shape::Kind::capsule && std::abs(at.normal.dot(M.rotation().col(2))) > 1e-3);
  };
  if (has_one(first, oM1)) {
    at.point_1 = oM1.act(support(first, oM1.rotation().transpose() * -at.normal));
    at.point_2 = at.point_1 - at.distance * at.normal;
  } else if (has_one(second, oM2)) {
    at.point_2 = oM2.act(support(second, oM2.rotation().transpose() * at.normal));
    at.point_1 = at.point_2 + at.distance * at.normal;
  }
}

}  // namespace

bool deep(const Shape& first, const Shape& second, double distance) {
  const bool curved = std::min(first.kind, second.kind) < Shape::Kind::box;
  return curved && distance < -1e-2 * std::min(thickness(first), thickness(second));
}

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
  if (first.kind != Kind::ellipsoid && std::max(first.kind, second.kind) <= Kind::capsule &&
      second.kind != Kind::ellipsoid) {
    return of_segments(first, oM1, second, oM2);
  }
  const Vector3d line = oM1.act(first.center) - oM2.act(second.center);
  const Vector3d centers = line.norm() > 0.0 ? Vector3d(line.normalized()) : Vector3d(Vector3d::UnitZ());
  const auto answer = ask(gjk, first, oM1, second, oM2, Vector3d::Zero(), line.norm() > 0.0 ? line : centers);
  found = answer ? *answer : seen_along(first, oM1, second, oM2, centers);
  const bool holds = polish(first, oM1, second, oM2, found);
  double most = separation(first, oM1, second, oM2, found);
  const bool sunk = deep(first, second, most);
  if (holds && !sunk) {
    oppose(first, oM1, second, oM2, found);
    return found;
  }

  // Where shapes just touch, the two nearest points are one and their difference is no direction; EPA may fail, and is
  // slow on curved shapes. From a little apart along a direction the nearest features are seen clearly; for the right
  // direction asking again gives it back.
  const double apart = 1e-2 * std::min(first.radius, second.radius);
  const double slack = holds ? 1e-10 * (1.0 + std::abs(most)) : 0.0;  // what holds is polished
  const auto search = [&](const Vector3d& start) {
    Distance at{.normal = start, .vertex_1 = found.vertex_1, .vertex_2 = found.vertex_2};
    double reached = separation(first, oM1, second, oM2, at);
    for (int attempt = 0; attempt < (sunk ? 50 : 10); ++attempt) {
      const Vector3d shift = -(apart + std::max(0.0, -reached)) * at.normal;
      const auto seen = ask(gjk, first, oM1, second, oM2, shift, -shift);
      if (!seen) break;
      at = *seen;
      polish(first, oM1, second, oM2, at);
      const double s = separation(first, oM1, second, oM2, at);
      if (s > most + slack) most = s, found = at;
      if (s - reached < 1e-10) break;
      reached = s;
    }
  };
  if (!holds) search(found.normal);
  if (sunk) {
    for (const Distance& start : best_starts(first, oM1, second, oM2, centers, found)) {
      const bool known = start.distance <= most && start.normal.dot(found.normal) > 0.999;
      if (!known && start.distance > most - apart) search(start.normal);
    }
  } else {
    search(centers);
  }
  found.distance = most;
  oppose(first, oM1, second, oM2, found);
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
