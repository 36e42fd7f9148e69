#include <pinocchio/parsers/urdf.hpp>

#include <sstream>

#include "file_content.hpp"
#include "taut/io/visuals.hpp"
#include "urdf_meshes.hpp"
#include "urdf_xml.hpp"

namespace taut {

UrdfVisuals urdf_visuals(const std::string& path, const std::vector<std::string>& package_dirs, std::size_t max_bytes) {
  urdf::check_links(xml::read(path, "", max_bytes));
  const std::string text = io::Allowance(max_bytes / limits::kXmlShare, "the XML files").read(path);
  UrdfVisuals made;
  pinocchio::urdf::buildModelFromXML(text, made.model);
  std::istringstream stream(text);
  pinocchio::urdf::buildGeom(made.model, stream, pinocchio::VISUAL, made.geometry, package_dirs,
                             std::make_shared<urdf::MeshLoader>(max_bytes));
  return made;
}

}  // namespace taut
