#include "source.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace taut::io {

namespace {

Source source_of(const std::string& path, const LoadOptions& options) {
  const auto absolute = [](const std::string& given) {
    return std::filesystem::absolute(given).lexically_normal().string();
  };
  Source source{.path = absolute(path), .trust = options.trust, .max_bytes = options.max_bytes};
  std::ranges::transform(options.package_dirs, std::back_inserter(source.package_dirs), absolute);
  std::ranges::transform(options.allow, std::back_inserter(source.allow), absolute);
  return source;
}

void refuse_warnings(const std::string& path, const Scene& scene) {
  std::string message = path + " asks for " + std::to_string(scene.warnings.size()) +
                        (scene.warnings.size() == 1 ? " thing" : " things") + " that taut does not do:";
  for (const std::string& what : scene.warnings) message += "\n  " + what;
  throw std::invalid_argument(message);
}

}  // namespace

void finish(const std::string& path, const LoadOptions& options, Scene& scene) {
  validate(scene);
  scene.sources.push_back(source_of(path, options));
  if (options.strict && !scene.warnings.empty()) refuse_warnings(path, scene);
}

}  // namespace taut::io
