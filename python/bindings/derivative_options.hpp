#pragma once

#include <optional>
#include <string>
#include <vector>

#include "taut/derivatives/step_derivatives.hpp"

namespace taut::python {

inline StepDerivativeOptions options_of(const std::string& collision, std::optional<double> temperature,
                                        bool move_contacts) {
  const StepDerivativeOptions options{.collision = {.method = collision_method(collision), .temperature = temperature},
                                      .move_contacts = move_contacts};
  validate(options.collision);
  return options;
}

inline std::vector<Parameter> parameters_of(const Scene& scene, const std::vector<std::string>& names) {
  std::vector<Parameter> found;
  for (const std::string& name : names) found.push_back(find_parameter(scene, name));
  return found;
}

}  // namespace taut::python
