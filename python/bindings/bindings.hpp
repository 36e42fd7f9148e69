#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;
using namespace nb::literals;

// One function a concept: names, shapes and docstrings; no logic.
void bind_problem(nb::module_& m);
void bind_scene(nb::module_& m);
void bind_simulator(nb::module_& m);
