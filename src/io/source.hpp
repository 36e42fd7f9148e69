#pragma once

#include "taut/io/load.hpp"

namespace taut::io {

/// What every reader ends with: checks the scene, notes where it is read from, wherever the process goes afterwards,
/// and throws std::invalid_argument if it has warnings and the options are strict.
void finish(const std::string& path, const LoadOptions& options, Scene& scene);

}  // namespace taut::io
