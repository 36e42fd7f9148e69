#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/shared_ptr.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "taut/dynamics/kinematics.hpp"
#include "taut/dynamics/mobility.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/structure.hpp"

namespace {

using taut::python::ArrayLike;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Where the bodies of a scene are. The scene may not get others meanwhile.
struct Bodies {
  explicit Bodies(std::shared_ptr<const taut::Scene> of) : scene(checked(std::move(of))), kinematics(scene->model) {}

  static std::shared_ptr<const taut::Scene> checked(std::shared_ptr<const taut::Scene> scene) {
    taut::check_structure(*scene);
    return scene;
  }

  const pinocchio::Model& model() const {
    taut::check_live(*scene);
    const auto& now = scene->model;
    if (now.njoints != joints || now.nq != coordinates || now.nv != freedoms) {
      throw std::invalid_argument("the scene has got other bodies meanwhile");
    }
    return scene->model;
  }

  std::shared_ptr<const taut::Scene> scene;
  taut::Kinematics kinematics;
  int joints = scene->model.njoints, coordinates = scene->model.nq, freedoms = scene->model.nv;
};

// It holds its scene, which may hold it.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    const nb::object scene = nb::find(*nb::inst_ptr<Bodies>(self)->scene);
    if (scene.is_valid()) Py_VISIT(scene.ptr());
  }
  return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};

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

double mobility(const Bodies& self, const ArrayLike& q, const taut::python::Integer& given, const ArrayLike& point) {
  const auto& model = self.model();
  const auto joint = static_cast<int>(given.within("joint", 1, self.joints - 1));
  return taut::mobility(model, q.vector("q", model.nq), joint, point.vector("point", 3));
}

}  // namespace

void bind_kinematics(nb::module_& m) {
  nb::class_<Bodies>(
      m, "_Bodies", nb::type_slots(slots),
      "Where the bodies of a scene are and how they move, without a pinocchio.Data, whose size grows with "
      "the cube of the degrees of freedom.")
      .def(nb::init<std::shared_ptr<const taut::Scene>>(), "scene"_a)
      .def("placements", &placements, "q"_a, "(njoints, 12): rows of [R | p] of each joint, in the world.")
      .def("velocities", &velocities, "q"_a, "v"_a, "(njoints, 6): (linear, angular) of each joint, in its own frame.")
      .def("mobility", &mobility, "q"_a, "joint"_a, "point"_a,
           "1/kg: the speed 1 N s gives a point of a body (in its joint's frame), on average over all directions.");
}
