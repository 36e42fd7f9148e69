#include "taut/io/load.hpp"

#include <stdexcept>

#include "reading_rights.hpp"
#include "xml.hpp"

namespace taut {

bool is_mjcf(const std::string& path, const LoadOptions& options) {
  io::Allowance allowance = xml::allowance(options.max_bytes);
  const std::string tag = xml::parse(io::read_file(path, allowance), path, options.max_bytes).tag;
  if (tag == "mujoco" || tag == "robot") return tag == "mujoco";
  throw std::invalid_argument(path + ": the root element is <" + tag +
                              ">; taut reads <robot> (URDF) and <mujoco> (MJCF)");
}

Scene load(const std::string& path, const LoadOptions& options) {
  return is_mjcf(path, options) ? load_mjcf(path, options) : load_urdf(path, options);
}

}  // namespace taut
