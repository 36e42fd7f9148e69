#include "differences.hpp"

#include <Eigen/Geometry>

#include "taut/collision/smoothing.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;
using pinocchio::Motion;
using pinocchio::SE3;
using Vector6d = Eigen::Matrix<double, 6, 1>;

Distance moved(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2, const Vector6d& by) {
  return distance(first, oM1, second, oM2 * pinocchio::exp6(Motion(by)));
}

void add(const Distance& ahead, const Distance& behind, const Eigen::Matrix<double, 1, 6>& weight,
         DistanceDerivatives& sum) {
  sum.distance.rightCols<6>() += (ahead.distance - behind.distance) * weight;
  sum.normal.rightCols<6>() += (ahead.normal - behind.normal) * weight;
  sum.point_1.rightCols<6>() += (ahead.point_1 - behind.point_1) * weight;
  sum.point_2.rightCols<6>() += (ahead.point_2 - behind.point_2) * weight;
}

// A motion of the first shape is that of both, less that of the second.
void complete(const SE3& oM1, const SE3& oM2, const Distance& at, DistanceDerivatives& d) {
  const SE3 M = oM2.actInv(oM1);
  const Eigen::Matrix<double, 6, 6> carried = M.toActionMatrix();  // a motion of 1, in the axes of 2
  d.distance.leftCols<6>() = -d.distance.rightCols<6>() * carried;
  const auto both = [&](DistanceDerivatives::Rows& rows, const Vector3d& x, bool placed) {
    rows.leftCols<6>() = -rows.rightCols<6>() * carried;
    for (int k = 0; k < 3; ++k) {
      const Vector3d axis = oM1.rotation().col(k);
      if (placed) rows.col(k) += axis;
      rows.col(3 + k) += axis.cross(placed ? Vector3d(x - oM1.translation()) : x);
    }
  };
  both(d.normal, at.normal, false);
  both(d.point_1, at.point_1, true);
  both(d.point_2, at.point_2, true);
  for (int c = 0; c < 12; ++c) d.frame.col(c) = frame_rotation(at.normal, d.normal.col(c));
}

}  // namespace

DistanceDerivatives central_differences(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                        const Distance& at, const CollisionDerivativeOptions& options) {
  DistanceDerivatives result;
  result.method = CollisionMethod::finite_differences;
  for (int c = 0; c < 6; ++c) {
    const Vector6d by = options.step * Vector6d::Unit(c);
    add(moved(first, oM1, second, oM2, by), moved(first, oM1, second, oM2, -by),
        Vector6d::Unit(c).transpose() / (2.0 * options.step), result);
  }
  complete(oM1, oM2, at, result);
  return result;
}

DistanceDerivatives random_differences(const Shape& first, const SE3& oM1, const Shape& second, const SE3& oM2,
                                       const Distance& at, const CollisionDerivativeOptions& options) {
  DistanceDerivatives result;
  result.method = CollisionMethod::gaussian_0;
  NormalNumbers normal(options.seed);
  const double blur = options.blur(CollisionMethod::gaussian_0), size = std::min(first.radius, second.radius);
  const Vector6d scale = (Vector6d() << Vector3d::Constant(blur * size), Vector3d::Constant(blur)).finished();
  for (int i = 0; i < options.samples; ++i) {
    Vector6d z;
    for (double& x : z) x = normal();
    add(moved(first, oM1, second, oM2, scale.cwiseProduct(z)), at,
        z.cwiseQuotient(scale).transpose() / static_cast<double>(options.samples), result);
  }
  complete(oM1, oM2, at, result);
  return result;
}

}  // namespace taut
