#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "taut/simulation/simulator.hpp"

namespace taut::python {

/// Scenes that something steps in now, one entry for each such call. Only who holds the GIL comes here.
inline std::vector<const Scene*>& scenes_in_use() {
  static std::vector<const Scene*> scenes;
  return scenes;
}

/// A call that goes on without the GIL: holding it here and at the end. `Use` is `Usage::Change` or `Usage::Look`,
/// and throws std::runtime_error if another call is in the way.
template <typename Use>
struct Running {
  explicit Running(const Simulator& simulator) : use(simulator.usage()), scene(&simulator.scene()) {
    scenes_in_use().push_back(scene);
  }
  ~Running() {
    auto& scenes = scenes_in_use();
    scenes.erase(std::find(scenes.begin(), scenes.end(), scene));
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  const Use use;
  const Scene* const scene;
};

/// For what changes the structure of a scene, as an annotation of the method: arrays that another thread reads would
/// move away under it.
struct NotWhileRunning {
  static void precall(PyObject** arguments, std::size_t, nanobind::detail::cleanup_list*) {
    const auto& scenes = scenes_in_use();
    const Scene& scene = nanobind::cast<const Scene&>(nanobind::handle(arguments[0]));
    if (std::find(scenes.begin(), scenes.end(), &scene) == scenes.end()) return;
    throw std::runtime_error(
        "this scene is being simulated by another thread, or by the call that this one is within: "
        "it can be changed before and after");
  }
  static void postcall(PyObject**, std::size_t, nanobind::handle) {}
};

/// A property or method that reads what the last step has left.
template <typename Read>
auto looked_at(Read read) {
  return [read](const Simulator& simulator) {
    const Usage::Look look(simulator.usage());
    return read(simulator);
  };
}

}  // namespace taut::python
