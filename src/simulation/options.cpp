#include "taut/simulation/options.hpp"

#include <cmath>
#include <stdexcept>

namespace taut {

void validate(const SimulatorOptions& options) {
  const auto require = [](bool fine, const std::string& what, double value) {
    if (!fine) throw std::invalid_argument("simulator: " + what + "; it is " + std::to_string(value));
  };
  const auto require_share = [&](const char* name, double value) {
    require(value >= 0.0 && value <= 1.0, std::string(name) + " must be between 0 and 1", value);
  };
  const auto require_not_negative = [&](const char* name, double value) {
    require(value >= 0.0 && std::isfinite(value), std::string(name) + " must not be negative", value);
  };
  require(options.dt > 0.0 && std::isfinite(options.dt), "dt must be positive and finite", options.dt);
  require_not_negative("compliance", options.compliance.normal);
  require_not_negative("tangential compliance", options.compliance.tangential);
  require(options.restitution_threshold >= 0.0, "restitution_threshold must not be negative",
          options.restitution_threshold);
  for (const auto& softening : {options.soft_contacts, options.soft_limits, options.soft_loops}) {
    if (softening) validate(*softening);
  }
  const Stabilization& s = options.stabilization;
  require_not_negative("margin", s.margin);
  require_not_negative("limit_margin", s.limit_margin);
  require_share("correction", s.correction);
  require_share("limit_correction", s.limit_correction);
  require_share("loop_correction", s.loop_correction);
  require(std::isfinite(s.penetration), "penetration must be finite", s.penetration);
  require(s.correction_speed >= 0.0, "correction_speed must not be negative", s.correction_speed);
}

}  // namespace taut
