#include <pinocchio/parsers/urdf.hpp>
#include <sstream>

#include "confined_meshes.hpp"
#include "taut/io/visuals.hpp"
#include "urdf_xml.hpp"

namespace taut {

pinocchio::GeometryModel urdf_visuals(const std::string& path, const LoadOptions& options) {
  io::ReadingRights rights(path, options);
  const std::string text = urdf::resolve_meshes(io::read_file(path), path, "visual", options.package_dirs, rights);
  pinocchio::Model model;
  pinocchio::urdf::buildModelFromXML(text, model);
  pinocchio::GeometryModel shown;
  std::istringstream stream(text);
  pinocchio::urdf::buildGeom(model, stream, pinocchio::VISUAL, shown, std::vector<std::string>{},
                             std::make_shared<io::ConfinedMeshes>(rights, path));
  return shown;
}

}  // namespace taut
