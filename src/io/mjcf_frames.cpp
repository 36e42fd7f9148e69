#include <Eigen/Geometry>
#include <cctype>
#include <cmath>

#include "mjcf_spec.hpp"

namespace taut::mjcf {

using Eigen::AngleAxisd;
using Eigen::Matrix3d;
using Eigen::Vector3d;

const std::set<std::string> kOrientations{"quat", "axisangle", "euler", "xyaxes", "zaxis"};

namespace {

Vector3d unit(const Vector3d& v, const xml::Attributes& attributes, const std::string& name) {
  const double norm = v.norm();
  if (!(norm > 1e-14) || !std::isfinite(norm)) attributes.fail(name, "has no direction");
  return v / norm;
}

Matrix3d from_euler(const Vector3d& angles, const std::string& sequence) {
  Matrix3d R = Matrix3d::Identity();
  for (int i = 0; i < 3; ++i) {
    const char axis = sequence[static_cast<std::size_t>(i)];
    const Matrix3d turn =
        AngleAxisd(angles[i], Vector3d::Unit(std::tolower(static_cast<unsigned char>(axis)) - 'x')).toRotationMatrix();
    R = std::islower(static_cast<unsigned char>(axis)) ? Matrix3d(R * turn) : Matrix3d(turn * R);
  }
  return R;
}

}  // namespace

Matrix3d rotation_from_z(const Vector3d& direction) {
  const Vector3d axis = Vector3d::UnitZ().cross(direction);
  const double sine = axis.norm();
  // Straight up or down leaves the axis open; MuJoCo turns about x.
  return AngleAxisd(std::atan2(sine, direction.z()), sine < 1e-10 ? Vector3d::UnitX() : Vector3d(axis / sine))
      .toRotationMatrix();
}

Matrix3d read_orientation(const xml::Attributes& attributes, const Compiler& compiler) {
  std::string given;
  for (const auto& name : kOrientations) {
    if (!attributes.has(name)) continue;
    if (!given.empty())
      attributes.fail("'" + given + "' and '" + name + "' are both given, one orientation is allowed");
    given = name;
  }
  if (given == "quat") {
    const Eigen::Vector4d wxyz = *attributes.finite("quat", 4, 4);
    if (!(wxyz.norm() > 1e-14)) attributes.fail("quat", "is not a rotation");
    return Eigen::Quaterniond(wxyz[0], wxyz[1], wxyz[2], wxyz[3]).normalized().toRotationMatrix();
  }
  if (given == "axisangle") {
    const Eigen::Vector4d values = *attributes.finite("axisangle", 4, 4);
    return AngleAxisd(compiler.angle(values[3]), unit(values.head<3>(), attributes, given)).toRotationMatrix();
  }
  if (given == "euler") {
    const Vector3d values = *attributes.finite("euler", 3, 3);
    return from_euler(values.unaryExpr([&](double a) { return compiler.angle(a); }), compiler.euler_sequence);
  }
  if (given == "xyaxes") {
    const Eigen::VectorXd values = *attributes.finite("xyaxes", 6, 6);
    Matrix3d R;
    R.col(0) = unit(values.head<3>(), attributes, given);
    R.col(1) = unit(values.tail<3>() - R.col(0) * R.col(0).dot(values.tail<3>()), attributes, given);
    R.col(2) = R.col(0).cross(R.col(1));
    return R;
  }
  if (given == "zaxis") return rotation_from_z(unit(*attributes.finite("zaxis", 3, 3), attributes, given));
  return Matrix3d::Identity();
}

SE3 read_placement(const xml::Attributes& attributes, const Compiler& compiler) {
  return {read_orientation(attributes, compiler), attributes.vector3("pos", Vector3d::Zero())};
}

}  // namespace taut::mjcf
