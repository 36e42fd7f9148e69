#pragma once

namespace taut {
class Simulator;
struct Scene;
}  // namespace taut

namespace taut::python {

/// A shape that was made in Python belongs to a Python object, and a simulator keeps what it has seen: once another
/// took its place the step is the last to let go of it, and a step does not hold the GIL. Here such shapes get owners
/// that take the GIL first. Holding the GIL; before a simulator sees the scene.
void own_shapes(const Scene& scene);

/// What comes first in every call that goes on without the GIL: throws if the simulator can no longer step its scene,
/// and owns the shapes of one that was edited.
void prepare(const Simulator& simulator);

}  // namespace taut::python
