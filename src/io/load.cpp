#include "taut/io/load.hpp"

#include <stdexcept>

#include "xml.hpp"

namespace taut {

Scene load(const std::string& path, const LoadOptions& options) {
  const xml::Element root = xml::read(path, "", options.max_bytes);
  if (root.tag == "mujoco") return load_mjcf(path, options);
  if (root.tag == "robot") return load_urdf(path, options);
  throw std::invalid_argument(path + ": the root element is <" + root.tag +
                              ">; taut reads <robot> (URDF) and <mujoco> (MJCF)");
}

}  // namespace taut
