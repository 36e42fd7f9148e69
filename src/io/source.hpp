#pragma once

#include <algorithm>
#include <filesystem>

#include "taut/io/load.hpp"

namespace taut::io {

/// Where a scene is read from, wherever the process goes afterwards.
inline Source source_of(const std::string& path, const LoadOptions& options) {
  const auto absolute = [](const std::string& given) {
    return std::filesystem::absolute(given).lexically_normal().string();
  };
  Source source{.path = absolute(path)};
  std::ranges::transform(options.package_dirs, std::back_inserter(source.package_dirs), absolute);
  return source;
}

}  // namespace taut::io
