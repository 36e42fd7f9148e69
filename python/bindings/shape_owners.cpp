#include "shape_owners.hpp"

#include "pinocchio_bridge.hpp"
// The bridge comes first.
#include <boost/python/converter/shared_ptr_deleter.hpp>
#include <memory>

#include "taut/simulation/simulator.hpp"

namespace taut::python {

namespace {

using Shape = std::shared_ptr<coal::CollisionGeometry>;

struct WithGil {
  Shape owner;
  void operator()(const coal::CollisionGeometry*) {
    const nanobind::gil_scoped_acquire held;
    owner.reset();
  }
};

}  // namespace

void own_shapes(const Scene& scene) {
  for (const auto& object : scene.geometry.geometryObjects) {
    if (!std::get_deleter<boost::python::converter::shared_ptr_deleter>(object.geometry)) continue;
    // The shape stays the same: who looks at the scene sees no change.
    auto& shape = const_cast<Shape&>(object.geometry);
    shape = Shape(shape.get(), WithGil{shape});
  }
}

void prepare(const Simulator& simulator) {
  if (simulator.require_same_structure()) own_shapes(simulator.scene());
}

}  // namespace taut::python
