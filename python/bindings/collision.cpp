#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "taut/collision/distance.hpp"

namespace {

using taut::Distance;
using taut::DistanceDerivatives;
using taut::Shape;
using taut::python::ArrayLike;

Shape shape_of(nb::handle object, const char* name) {
  return taut::make_shape(
      taut::python::unwrap<coal::CollisionGeometry>(object, "Coal shape, such as coal.Box(1, 1, 1)"), name);
}

// A pinocchio.SE3, or a matrix (4, 4).
pinocchio::SE3 pose_of(nb::handle object, const char* name) {
  if (nb::hasattr(object, "homogeneous")) return pose_of(object.attr("homogeneous"), name);
  const Eigen::MatrixXd M = nb::cast<ArrayLike>(object).matrix(name);
  if (M.rows() != 4 || M.cols() != 4) {
    throw std::invalid_argument(std::string(name) + " has shape (" + std::to_string(M.rows()) + ", " +
                                std::to_string(M.cols()) + "), expected a pinocchio.SE3 or (4, 4)");
  }
  const Eigen::Matrix3d R = M.topLeftCorner<3, 3>();
  if (!M.allFinite()) throw std::invalid_argument(std::string(name) + " is not finite");
  if (!(R.transpose() * R).isIdentity(1e-6) || R.determinant() < 0.0) {
    throw std::invalid_argument(std::string(name) + " has no rotation in its first three rows and columns");
  }
  return {R, M.topRightCorner<3, 1>()};
}

Distance distance(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2) {
  return taut::distance(shape_of(shape_1, "shape_1"), pose_of(pose_1, "pose_1"), shape_of(shape_2, "shape_2"),
                        pose_of(pose_2, "pose_2"));
}

DistanceDerivatives derivatives(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2,
                                const std::string& method, double step) {
  const Shape one = shape_of(shape_1, "shape_1"), two = shape_of(shape_2, "shape_2");
  const pinocchio::SE3 oM1 = pose_of(pose_1, "pose_1"), oM2 = pose_of(pose_2, "pose_2");
  if (method == "auto" || method == "exact") {
    return taut::derivatives(one, oM1, two, oM2, taut::distance(one, oM1, two, oM2));
  }
  if (method == "finite_differences") return taut::central_differences(one, oM1, two, oM2, step);
  throw std::invalid_argument("method is '" + method + "', it must be 'auto', 'exact' or 'finite_differences'");
}

}  // namespace

void bind_collision(nb::module_& m) {
  nb::class_<Distance>(m, "Distance", "The signed distance of two shapes, and where it is attained.")
      .def_ro("distance", &Distance::distance, "m; negative in penetration.")
      .def_ro("normal", &Distance::normal, "Points to the first shape, world.")
      .def_ro("point_1", &Distance::point_1, "On the first shape, world.")
      .def_ro("point_2", &Distance::point_2, "On the second shape, world.")
      .def("__repr__", [](const Distance& d) { return "Distance(" + std::to_string(d.distance) + " m)"; });

  nb::class_<DistanceDerivatives>(
      m, "DistanceDerivatives",
      "With respect to the poses: columns 0 to 5 are (linear, angular) of the first in its own frame, 6 to 11 of the "
      "second.")
      .def_prop_ro(
          "distance", [](const DistanceDerivatives& d) { return Eigen::VectorXd(d.distance.transpose()); }, "(12,)")
      .def_prop_ro(
          "normal", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.normal); }, "(3, 12), world.")
      .def_prop_ro(
          "point_1", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.point_1); }, "(3, 12), world.")
      .def_prop_ro(
          "point_2", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.point_2); }, "(3, 12), world.")
      .def_prop_ro(
          "frame", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.frame); },
          "(3, 12): the contact frame (t1, t2, n) turns by this rotation vector.")
      .def_ro("unique", &DistanceDerivatives::unique, "False where the points may slide: a face on a face.");

  m.def("collision_distance", &distance, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a);
  m.def("collision_derivatives", &derivatives, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a, "method"_a, "step"_a);
}
