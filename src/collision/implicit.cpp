#include "implicit.hpp"

#include <algorithm>
#include <cmath>

namespace taut {

namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;

// A symmetric matrix as large λ₁ u uᵀ + λ₂ s sᵀ, λ₁ ≥ λ₂.
struct Spectrum {
  double large, small;
  Vector2d u, s;

  explicit Spectrum(const Matrix2d& A) {
    const double mean = 0.5 * (A(0, 0) + A(1, 1)), half = 0.5 * (A(0, 0) - A(1, 1)), off = 0.5 * (A(0, 1) + A(1, 0));
    const double radius = std::hypot(half, off);
    large = mean + radius;
    small = mean - radius;
    // The longer of two expressions for the eigenvector: the other may cancel.
    u = half > 0.0 ? Vector2d(half + radius, off) : Vector2d(off, radius - half);
    const double length = u.norm();
    u = length > 0.0 ? Vector2d(u / length) : Vector2d(1.0, 0.0);
    s = Vector2d(-u.y(), u.x());
  }
};

}  // namespace

CollisionResponse::CollisionResponse(TangentFeature& one, TangentFeature& two, double phi, double floor)
    : K(one.curvature + two.curvature + phi * Matrix2d::Identity()),
      by_slip(Matrix2d::Zero()),
      by_tilt(Eigen::Matrix<double, 2, 4>::Zero()),
      slide_1(Matrix2d::Zero()),
      slide_2(Matrix2d::Zero()),
      flats_1(one.flats),
      flats_2(two.flats),
      unique(true) {
  const auto raise = [&](const Matrix2d& missing) {
    K += missing;
    one.curvature += 0.5 * missing;
    two.curvature += 0.5 * missing;
  };
  const Matrix2d W = one.flat * one.flat.transpose() + two.flat * two.flat.transpose();  // W Wᵀ: unused columns are 0
  const Spectrum flat(W);
  constexpr double parallel = 1e-12;  // square of an angle: what counts as one direction
  const int rank = flat.large <= parallel ? 0 : flat.small <= parallel * flat.large ? 1 : 2;
  unique = flats_1 + flats_2 == rank;
  if (rank == 0) {
    const Spectrum curved(K);
    const double large = std::max(curved.large, floor), small = std::max(curved.small, floor);
    if (curved.small < floor) {
      unique = false;
      raise((large - curved.large) * curved.u * curved.u.transpose() +
            (small - curved.small) * curved.s * curved.s.transpose());
    }
    by_slip = curved.u * curved.u.transpose() / large + curved.s * curved.s.transpose() / small;
    return;
  }
  Matrix2d inverse = flat.u * flat.u.transpose() / flat.large;  // (W Wᵀ)⁺
  if (rank == 2) inverse += flat.s * flat.s.transpose() / flat.small;
  Matrix2d decided = inverse;
  if (rank == 1) {
    const double along = flat.s.dot(K * flat.s), least = std::max(along, floor);
    if (along < floor) {
      unique = false;
      raise((least - along) * flat.s * flat.s.transpose());
    }
    by_slip = flat.s * flat.s.transpose() / least;
    decided -= by_slip * K * inverse;
  }
  by_tilt.leftCols<2>() = -decided * one.flat;
  by_tilt.rightCols<2>() = -decided * two.flat;
  slide_1 = one.flat * one.flat.transpose() * inverse;
  slide_2 = -two.flat * two.flat.transpose() * inverse;
}

}  // namespace taut
