#include "taut/collision/distance.hpp"

#include <coal/distance.h>

#include <Eigen/Geometry>
#include <Eigen/QR>
#include <cmath>
#include <stdexcept>

#include "taut/collision/contact.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::SE3;

// A feature in the world.
struct Placed {
  Vector3d point;
  Eigen::Matrix<double, 3, 2> flat;
  int flats;
  Matrix3d curvature;

  Placed(const Shape& shape, const SE3& oM, const Vector3d& d, const Vector3d& near) {
    const Feature local = feature_along(shape, oM.rotation().transpose() * d, oM.actInv(near));
    point = oM.act(local.point);
    flat = oM.rotation() * local.flat;
    flats = local.flats;
    curvature = oM.rotation() * local.curvature * oM.rotation().transpose();
  }
};

// Unknowns (δn, δφ, moves along the flats of 1, along those of 2); equations
//   δp_1 − δp_2 = φ δn + n δφ,   n · δn = 0,   U_1ᵀ δn = −δU_1ᵀ n,   U_2ᵀ δn = −δU_2ᵀ n.
constexpr int kMost = 8;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMost, kMost>;
using Right = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMost, 12>;

Matrix system_of(const Placed& one, const Placed& two, const Vector3d& n, double phi) {
  const int size = 4 + one.flats + two.flats;
  Matrix A = Matrix::Zero(size, size);
  // Body 1 is met along −n: its point moves by −curvature δn.
  A.topLeftCorner<3, 3>() = -one.curvature - two.curvature - phi * Matrix3d::Identity();
  A.block<3, 1>(0, 3) = -n;
  A.block<1, 3>(3, 0) = n.transpose();
  for (int k = 0; k < one.flats; ++k) {
    A.block<3, 1>(0, 4 + k) = one.flat.col(k);
    A.block<1, 3>(4 + k, 0) = one.flat.col(k).transpose();
  }
  for (int k = 0; k < two.flats; ++k) {
    const int at = 4 + one.flats + k;
    A.block<3, 1>(0, at) = -two.flat.col(k);
    A.block<1, 3>(at, 0) = two.flat.col(k).transpose();
  }
  return A;
}

// Newton on the optimality conditions; false if it leads away from where it starts.
bool polish(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, Distance& at) {
  Distance best = at;
  for (int round = 0; round < 6; ++round) {
    const Placed one(first, oM1, -best.normal, best.point_1), two(second, oM2, best.normal, best.point_2);
    const int size = 4 + one.flats + two.flats;
    Right rest(size, 1);
    rest.topRows<3>() = one.point - two.point - best.distance * best.normal;
    rest(3, 0) = 0.0;
    for (int k = 0; k < one.flats; ++k) rest(4 + k, 0) = one.flat.col(k).dot(best.normal);
    for (int k = 0; k < two.flats; ++k) rest(4 + one.flats + k, 0) = two.flat.col(k).dot(best.normal);
    const Right step =
        -Eigen::CompleteOrthogonalDecomposition<Matrix>(system_of(one, two, best.normal, best.distance)).solve(rest);
    if (!step.allFinite() || step.topRows<3>().norm() > 0.1) return false;
    best.normal = (best.normal + step.topRows<3>()).normalized();
    best.distance += step(3, 0);
    best.point_1 = one.point - one.curvature * step.topRows<3>();
    best.point_2 = two.point + two.curvature * step.topRows<3>();
    for (int k = 0; k < one.flats; ++k) best.point_1 += step(4 + k, 0) * one.flat.col(k);
    for (int k = 0; k < two.flats; ++k) best.point_2 += step(4 + one.flats + k, 0) * two.flat.col(k);
    if (step.norm() < 1e-14 * (1.0 + std::abs(best.distance))) break;
  }
  at = best;
  return true;
}

// δt1, δt2, δn of Duff's frame as one rotation.
Vector3d frame_rotation(const Vector3d& n, const Vector3d& dn) {
  const double sign = std::copysign(1.0, n.z()), a = -1.0 / (sign + n.z()), da = a * a * dn.z();
  const double db = dn.x() * n.y() * a + n.x() * dn.y() * a + n.x() * n.y() * da;
  const Matrix3d frame = contact_frame(n);
  Matrix3d change;
  change.col(0) << sign * (2.0 * n.x() * dn.x() * a + n.x() * n.x() * da), sign * db, -sign * dn.x();
  change.col(1) << db, 2.0 * n.y() * dn.y() * a + n.y() * n.y() * da, -dn.y();
  change.col(2) = dn;
  Vector3d turn = Vector3d::Zero();
  for (int k = 0; k < 3; ++k) turn += 0.5 * frame.col(k).cross(change.col(k));
  return turn;
}

void require(bool fine, const char* what) {
  if (!fine) throw std::invalid_argument(std::string("distance: ") + what);
}

coal::Transform3s to_coal(const SE3& M) { return {M.rotation(), M.translation()}; }

Distance ask_coal(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2) {
  coal::DistanceRequest request(/*enable_nearest_points=*/true, /*enable_signed_distance=*/true);
  request.gjk_tolerance = request.epa_tolerance = 1e-9;
  request.gjk_max_iterations = 512;
  request.epa_max_iterations = 256;
  coal::DistanceResult result;
  coal::distance(first.geometry, to_coal(oM1), second.geometry, to_coal(oM2), request, result);
  return {.distance = result.min_distance,
          .normal = -result.normal,
          .point_1 = result.nearest_points[0],
          .point_2 = result.nearest_points[1]};
}

}  // namespace

Distance distance(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2) {
  using Kind = Shape::Kind;
  require(oM1.rotation().allFinite() && oM1.translation().allFinite(), "the first pose is not finite");
  require(oM2.rotation().allFinite() && oM2.translation().allFinite(), "the second pose is not finite");
  require(first.kind != Kind::height_field && second.kind != Kind::height_field, "height fields are not convex");
  require(first.kind != Kind::half_space || second.kind != Kind::half_space, "two half-spaces have none");
  Distance found;
  if (first.kind == Kind::half_space) {
    found = distance(second, oM2, first, oM1);
    std::swap(found.point_1, found.point_2);
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
  found = ask_coal(first, oM1, second, oM2);
  if (!found.normal.allFinite() || !(found.normal.norm() > 0.5)) {
    // Identical centres of round shapes: every direction separates alike.
    const Vector3d apart = oM1.translation() - oM2.translation();
    found.normal = apart.norm() > 0.0 ? Vector3d(apart.normalized()) : Vector3d(Vector3d::UnitZ());
    found.point_1 = oM1.act(support(first, oM1.rotation().transpose() * -found.normal));
    found.point_2 = oM2.act(support(second, oM2.rotation().transpose() * found.normal));
    found.distance = found.normal.dot(found.point_1 - found.point_2);
  }
  // Where shapes just touch, the two nearest points are one and their difference is no direction. From a little apart
  // along what is known of it the features are seen clearly, and Newton goes on from there.
  const double apart = 1e-2 * std::min(first.radius, second.radius);
  if (std::abs(found.distance) < 0.1 * apart) {
    SE3 away = oM2;
    away.translation() -= apart * found.normal;
    Distance seen = ask_coal(first, oM1, second, away);
    if (seen.normal.allFinite() && seen.normal.norm() > 0.5) {
      polish(first, oM1, second, away, seen);
      seen.point_2 += apart * found.normal;
      seen.distance = seen.normal.dot(seen.point_1 - seen.point_2);
      if (polish(first, oM1, second, oM2, seen)) return seen;
    }
  }
  polish(first, oM1, second, oM2, found);
  return found;
}

DistanceDerivatives derivatives(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                const Distance& at) {
  const Vector3d& n = at.normal;
  const Placed one(first, oM1, -n, at.point_1), two(second, oM2, n, at.point_2);
  const int size = 4 + one.flats + two.flats;
  // What poses do at fixed n and fixed places on the flats. A curved point turns with its body and, at fixed n, against
  // it: δp = δx + [ω] (p − o) + curvature (n × ω)-like terms, which d support(Rᵀ d) gives.
  Right rest = Right::Zero(size, 12);
  DistanceDerivatives result;
  const auto add = [&](const Placed& placed, const SE3& oM, const Vector3d& d, int column, double sign, int row,
                       DistanceDerivatives::Rows& point) {
    const Matrix3d& R = oM.rotation();
    for (int k = 0; k < 3; ++k) {
      point.col(column + k) = R.col(k);
      const Vector3d w = R.col(k);  // a turn about the body's own axis k, in the world
      // The body's direction d_local = Rᵀ d changes by −w × d, seen in the world.
      point.col(column + 3 + k) = w.cross(placed.point - oM.translation()) - placed.curvature * w.cross(d);
      for (int f = 0; f < placed.flats; ++f) {
        rest(row + f, column + 3 + k) = w.cross(Vector3d(placed.flat.col(f))).dot(n);
      }
    }
    rest.block<3, 6>(0, column) = sign * point.middleCols<6>(column);
  };
  add(one, oM1, -n, 0, 1.0, 4, result.point_1);
  add(two, oM2, n, 6, -1.0, 4 + one.flats, result.point_2);

  const Eigen::CompleteOrthogonalDecomposition<Matrix> solver(system_of(one, two, n, at.distance));
  const Right change = -solver.solve(rest);
  result.unique = solver.rank() == size;
  result.normal = change.topRows<3>();
  result.distance = change.row(3);
  result.point_1 -= one.curvature * result.normal;
  result.point_2 += two.curvature * result.normal;
  for (int k = 0; k < one.flats; ++k) result.point_1 += one.flat.col(k) * change.row(4 + k);
  for (int k = 0; k < two.flats; ++k) result.point_2 += two.flat.col(k) * change.row(4 + one.flats + k);
  for (int c = 0; c < 12; ++c) result.frame.col(c) = frame_rotation(n, result.normal.col(c));
  return result;
}

DistanceDerivatives central_differences(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                        double h) {
  require(h > 0.0 && std::isfinite(h), "the step of a difference must be positive");
  const Vector3d n = distance(first, oM1, second, oM2).normal;
  DistanceDerivatives result;
  for (int c = 0; c < 12; ++c) {
    const auto at = [&](double by) {
      pinocchio::Motion motion = pinocchio::Motion::Zero();
      motion.toVector()[c % 6] = by;
      const SE3 step = pinocchio::exp6(motion);
      return c < 6 ? distance(first, oM1 * step, second, oM2) : distance(first, oM1, second, oM2 * step);
    };
    const Distance ahead = at(h), behind = at(-h);
    result.distance[c] = (ahead.distance - behind.distance) / (2.0 * h);
    result.normal.col(c) = (ahead.normal - behind.normal) / (2.0 * h);
    result.point_1.col(c) = (ahead.point_1 - behind.point_1) / (2.0 * h);
    result.point_2.col(c) = (ahead.point_2 - behind.point_2) / (2.0 * h);
    result.frame.col(c) = frame_rotation(n, result.normal.col(c));
  }
  return result;
}

}  // namespace taut
