#include "taut/collision/derivatives.hpp"

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <stdexcept>

#include "differences.hpp"
#include "placed_feature.hpp"
#include "taut/collision/contact.hpp"
#include "taut/collision/smoothing.hpp"

namespace taut {

namespace {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using pinocchio::SE3;
using Rows2 = Eigen::Matrix<double, 2, 6>;
using Rows3 = Eigen::Matrix<double, 3, 6>;

// What the six motions of a body do at its witness point, in the contact frame.
struct Motions {
  Rows3 velocity;  // of the material point
  Rows2 turn;      // n × ω, in the tangent plane

  Motions(const Matrix3d& F, const Vector3d& arm) {
    for (int k = 0; k < 3; ++k) {
      velocity.row(k) << F.col(k).transpose(), arm.cross(F.col(k)).transpose();
    }
    turn.row(0) << 0.0, 0.0, 0.0, -F.col(1).transpose();
    turn.row(1) << 0.0, 0.0, 0.0, F.col(0).transpose();
  }
};

// A shape as the method sees it: its feature, or a curvature in place of its corners.
PlacedFeature place(const Shape& shape, const SE3& oM, const Matrix3d& frame, double side, const Vector3d& near,
                    int vertex, const CollisionDerivativeOptions& options, CollisionMethod method,
                    NormalNumbers& normal) {
  const bool gumbel =
      method == CollisionMethod::gumbel && (shape.kind == Shape::Kind::convex || shape.kind == Shape::Kind::box);
  const bool gaussian = method == CollisionMethod::gaussian && has_corners(shape);
  if (!gumbel && !gaussian) return {shape, oM, frame, side, near, vertex};
  PlacedFeature feature(oM, frame);
  const Vector3d d = side * feature.F.col(2);
  const double blur = options.blur(method);
  feature.bend(gumbel ? gumbel_curvature(shape, d, options.depth, blur, vertex)
                      : gaussian_curvature(shape, d, options.samples, blur, normal, vertex));
  return feature;
}

// How the contact frame turns per turn of its normal in the tangent plane.
Eigen::Matrix<double, 3, 2> frame_turns(const Matrix3d& frame) {
  Eigen::Matrix<double, 3, 2> turns;
  for (int k = 0; k < 2; ++k) turns.col(k) = frame_rotation(frame.col(2), frame.col(k));
  return turns;
}

}  // namespace

const char* name_of(CollisionMethod method) {
  switch (method) {
    case CollisionMethod::automatic:
      return "auto";
    case CollisionMethod::exact:
      return "exact";
    case CollisionMethod::gumbel:
      return "gumbel";
    case CollisionMethod::gaussian:
      return "gaussian";
    case CollisionMethod::gaussian_0:
      return "gaussian_0";
    case CollisionMethod::finite_differences:
      return "finite_differences";
  }
  return "";
}

CollisionMethod collision_method(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(CollisionMethod::finite_differences); ++i) {
    const auto method = static_cast<CollisionMethod>(i);
    if (name == name_of(method)) return method;
  }
  throw std::invalid_argument("method is '" + name +
                              "', it must be 'auto', 'exact', 'gumbel', 'gaussian', 'gaussian_0' or "
                              "'finite_differences'");
}

double CollisionDerivativeOptions::blur(CollisionMethod used) const {
  if (temperature) return *temperature;
  if (used == CollisionMethod::gumbel) return 0.02;
  return used == CollisionMethod::gaussian ? 0.1 : 0.01;
}

void validate(const CollisionDerivativeOptions& options) {
  const auto require = [](bool fine, const std::string& what) {
    if (!fine) throw std::invalid_argument(what);
  };
  require(options.samples >= 1, "samples is " + std::to_string(options.samples) + ", it must be at least 1");
  require(options.depth >= 1, "depth is " + std::to_string(options.depth) + ", it must be at least 1");
  require(!options.temperature || (*options.temperature > 0.0 && std::isfinite(*options.temperature)),
          "temperature is " + std::to_string(options.temperature.value_or(0.0)) + ", it must be positive and finite");
  require(options.step > 0.0 && std::isfinite(options.step),
          "step is " + std::to_string(options.step) + ", it must be positive and finite");
}

CollisionMethod chosen_method(CollisionMethod method, const Shape& first, const Shape& second) {
  if (method != CollisionMethod::automatic) return method;
  const bool mesh = first.kind == Shape::Kind::convex || second.kind == Shape::Kind::convex;
  return mesh ? CollisionMethod::gumbel : CollisionMethod::exact;
}

// The normal turns by n × δn; about the normal t1, which Duff's formula gives, turns by t2 · δt1.
Vector3d frame_rotation(const Vector3d& n, const Vector3d& dn) {
  const double sign = std::copysign(1.0, n.z()), a = -1.0 / (sign + n.z()), da = a * a * dn.z();
  const double b = n.x() * n.y() * a;
  const Vector3d t2(b, sign + n.y() * n.y() * a, -n.y());
  const Vector3d dt1(2.0 * n.x() * dn.x() * a + n.x() * n.x() * da,
                     dn.x() * n.y() * a + n.x() * dn.y() * a + n.x() * n.y() * da, -dn.x());
  return n.cross(dn) + sign * t2.dot(dt1) * n;
}

DistanceDerivatives derivatives(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                const Distance& at, const CollisionDerivativeOptions& options) {
  const CollisionMethod method = chosen_method(options.method, first, second);
  if (method == CollisionMethod::gaussian_0) return random_differences(first, oM1, second, oM2, at, options);
  if (method == CollisionMethod::finite_differences) return central_differences(first, oM1, second, oM2, at, options);

  const Matrix3d frame = contact_frame(at.normal);
  NormalNumbers normal(options.seed);
  PlacedFeature one = place(first, oM1, frame, -1.0, at.point_1, at.vertex_1, options, method, normal);
  PlacedFeature two = place(second, oM2, frame, 1.0, at.point_2, at.vertex_2, options, method, normal);
  // A blurred corner is never sharper than this; an exact one is finite where it has no derivative.
  const double floor = least_curvature(first, second, method == CollisionMethod::exact ? 1e-6 : 1e-2);
  const CollisionResponse response(one.tangent, two.tangent, at.distance, floor);
  const Motions motions_1(one.F, oM1.actInv(at.point_1)), motions_2(two.F, oM2.actInv(at.point_2));

  // At fixed n a curved point stays behind the turn of its body: by −C_1 (n × ω) on the first, by C_2 (n × ω) on the
  // second, which is met along n.
  const Matrix2d &C_1 = one.tangent.curvature, &C_2 = two.tangent.curvature;
  Rows2 own_1 = motions_1.velocity.topRows<2>(), own_2 = motions_2.velocity.topRows<2>();
  own_1.noalias() -= C_1 * motions_1.turn;
  own_2.noalias() += C_2 * motions_2.turn;
  const Rows2 turn_1 = response.by_slip * own_1 + response.tilt_1(one.tangent) * motions_1.turn;
  const Rows2 turn_2 = response.tilt_2(two.tangent) * motions_2.turn - response.by_slip * own_2;
  const Rows2 left_1 = response.K * turn_1 - own_1, left_2 = response.K * turn_2 + own_2;

  DistanceDerivatives result;
  result.method = method;
  result.unique = response.unique;
  result.distance << motions_1.velocity.row(2), -motions_2.velocity.row(2);
  const auto T = frame.leftCols<2>();
  result.normal.leftCols<6>().noalias() = T * turn_1;
  result.normal.rightCols<6>().noalias() = T * turn_2;
  const Eigen::Matrix<double, 3, 2> turns = frame_turns(frame);
  result.frame.leftCols<6>().noalias() = turns * turn_1;
  result.frame.rightCols<6>().noalias() = turns * turn_2;
  result.point_1.leftCols<6>().noalias() = T * (own_1 - C_1 * turn_1 + response.slide_1 * left_1);
  result.point_1.rightCols<6>().noalias() = T * (response.slide_1 * left_2 - C_1 * turn_2);
  result.point_2.leftCols<6>().noalias() = T * (response.slide_2 * left_1 + C_2 * turn_1);
  result.point_2.rightCols<6>().noalias() = T * (own_2 + C_2 * turn_2 + response.slide_2 * left_2);
  result.point_1.leftCols<6>().noalias() += frame.col(2) * motions_1.velocity.row(2);
  result.point_2.rightCols<6>().noalias() += frame.col(2) * motions_2.velocity.row(2);
  return result;
}

SizeDerivatives size_derivatives(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                 const Distance& at) {
  const Matrix3d frame = contact_frame(at.normal);
  int vertex_1 = at.vertex_1, vertex_2 = at.vertex_2;
  PlacedFeature one(first, oM1, frame, -1.0, at.point_1, vertex_1);
  PlacedFeature two(second, oM2, frame, 1.0, at.point_2, vertex_2);
  const CollisionResponse response(one.tangent, two.tangent, at.distance, least_curvature(first, second));

  Rows3 own_1 = Rows3::Zero(), own_2 = Rows3::Zero();  // in the contact frame
  Eigen::Matrix<double, 4, 6> tilt = Eigen::Matrix<double, 4, 6>::Zero();
  const auto grow = [&](const Shape& shape, const PlacedFeature& feature, double side, int column, int row,
                        Rows3& own) {
    const SizeMotion motion = size_motion(shape, feature.local, side * feature.F.col(2));
    own.middleCols<3>(column) = feature.F.transpose() * motion.point;
    for (int f = 0; f < feature.local.flats; ++f) {
      tilt.block<1, 3>(row + f, column) = feature.F.col(2).transpose() * motion.flat[f];
    }
  };
  grow(first, one, -1.0, 0, 0, own_1);
  grow(second, two, 1.0, 3, 2, own_2);

  const Rows2 slip = own_1.topRows<2>() - own_2.topRows<2>();
  const Rows2 turn = response.by_slip * slip + response.by_tilt * tilt;
  const Rows2 left = response.K * turn - slip;
  SizeDerivatives result;
  result.unique = response.unique;
  result.distance = own_1.row(2) - own_2.row(2);
  result.normal = frame.leftCols<2>() * turn;
  result.frame = frame_turns(frame) * turn;
  own_1.topRows<2>() += response.slide_1 * left - one.tangent.curvature * turn;
  own_2.topRows<2>() += response.slide_2 * left + two.tangent.curvature * turn;
  result.point_1 = frame * own_1;
  result.point_2 = frame * own_2;
  return result;
}

}  // namespace taut
