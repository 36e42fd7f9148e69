#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/shared_ptr.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "taut/dynamics/kinematics.hpp"
#include "taut/dynamics/mobility.hpp"
#include "taut/simulation/scene.hpp"

namespace {

using taut::python::ArrayLike;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Where the bodies of a scene are. The scene may not get others meanwhile.
struct Bodies {
  explicit Bodies(std::shared_ptr<const taut::Scene> of) : scene(std::move(of)), kinematics(scene->model) {}

  const pinocchio::Model& model() const {
    if (scene->model.njoints != joints) throw std::invalid_argument("the scene has got other bodies meanwhile");
    return scene->model;
  }

  std::shared_ptr<const taut::Scene> scene;
  taut::Kinematics kinematics;
  int joints = scene->model.njoints;
};

RowMajor placements(Bodies& self, const ArrayLike& q) {
  const auto& model = self.model();
  self.kinematics.update(model, q.vector("q", model.nq));
  RowMajor out(self.joints, 12);
  for (int joint = 0; joint < self.joints; ++joint) {
    const auto& place = self.kinematics[joint];
    for (int row = 0; row < 3; ++row)
      out.row(joint).segment<4>(4 * row) << place.rotation().row(row), place.translation()[row];
  }
  return out;
}

RowMajor velocities(Bodies& self, const ArrayLike& q, const ArrayLike& v) {
  const auto& model = self.model();
  self.kinematics.update(model, q.vector("q", model.nq), v.vector("v", model.nv));
  RowMajor out(self.joints, 6);
  for (int joint = 0; joint < self.joints; ++joint) out.row(joint) = self.kinematics.velocity(joint).toVector();
  return out;
}

double mobility(const Bodies& self, const ArrayLike& q, int joint, const ArrayLike& point) {
  const auto& model = self.model();
  if (joint < 1 || joint >= self.joints) throw std::invalid_argument("no joint has index " + std::to_string(joint));
  return taut::mobility(model, q.vector("q", model.nq), joint, point.vector("point", 3));
}

}  // namespace

void bind_kinematics(nb::module_& m) {
  nb::class_<Bodies>(
      m, "_Bodies",
      "Where the bodies of a scene are and how they move, without a pinocchio.Data, whose size grows with "
      "the cube of the degrees of freedom.")
      .def(nb::init<std::shared_ptr<const taut::Scene>>(), "scene"_a)
      .def("placements", &placements, "q"_a, "(njoints, 12): rows of [R | p] of each joint, in the world.")
      .def("velocities", &velocities, "q"_a, "v"_a, "(njoints, 6): (linear, angular) of each joint, in its own frame.")
      .def("mobility", &mobility, "q"_a, "joint"_a, "point"_a,
           "1/kg: the speed 1 N s gives a point of a body (in its joint's frame), on average over all directions.");
}
