#pragma once

#include <nanobind/nanobind.h>

namespace taut {
class Simulator;
struct Scene;
}  // namespace taut

namespace nb = nanobind;
using namespace nb::literals;

// One function a concept: names, shapes and docstrings; no logic.
void bind_problem(nb::module_& m);
void bind_scene(nb::module_& m);
void bind_loops(nb::module_& m, nb::class_<taut::Scene>& scene);
void bind_simulator(nb::module_& m);
void bind_derivatives(nb::module_& m, nb::class_<taut::Simulator>& simulator);
void bind_adjoints(nb::module_& m, nb::class_<taut::Simulator>& simulator);
void bind_tape(nb::module_& m, nb::class_<taut::Simulator>& simulator);
void bind_collision(nb::module_& m);
void bind_gjk(nb::module_& m);
void bind_kinematics(nb::module_& m);
void bind_signatures(nb::module_& m);
