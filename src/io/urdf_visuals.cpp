#include <pinocchio/parsers/urdf.hpp>

#include <sstream>

#include "taut/io/visuals.hpp"
#include "urdf_meshes.hpp"
#include "urdf_xml.hpp"

namespace taut {

UrdfVisuals urdf_visuals(const std::string& path, const LoadOptions& options) {
  io::ReadingRights rights(path, options);
  io::Allowance allowance = xml::allowance(options.max_bytes);
  const std::string file = io::read_file(path, allowance);
  urdf::check_links(xml::parse(file, path, options.max_bytes));
  const std::string text = urdf::resolve_meshes(file, path, "visual", options.package_dirs, rights, options.max_bytes);
  UrdfVisuals made;
  pinocchio::urdf::buildModelFromXML(text, made.model);
  std::istringstream stream(text);
  pinocchio::urdf::buildGeom(made.model, stream, pinocchio::VISUAL, made.geometry, std::vector<std::string>{},
                             std::make_shared<urdf::MeshLoader>(rights, path, options.max_bytes));
  return made;
}

}  // namespace taut
