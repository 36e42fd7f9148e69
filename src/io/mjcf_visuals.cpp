#include "taut/io/visuals.hpp"

#include <coal/BVH/BVH_model.h>

#include "mjcf_spec.hpp"

namespace taut {

namespace {

constexpr int kGroupsShown = 3;  // MuJoCo draws the first three unless its user asks for more

std::shared_ptr<coal::CollisionGeometry> triangles(const mjcf::Mesh& mesh) {
  auto model = std::make_shared<coal::BVHModel<coal::OBBRSS>>();
  std::vector<coal::Triangle> faces;
  faces.reserve(mesh.faces.size());
  for (const Eigen::Vector3i& face : mesh.faces) {
    faces.emplace_back(static_cast<std::size_t>(face[0]), static_cast<std::size_t>(face[1]),
                       static_cast<std::size_t>(face[2]));
  }
  model->beginModel(static_cast<unsigned int>(faces.size()), static_cast<unsigned int>(mesh.vertices.size()));
  model->addSubModel({mesh.vertices.begin(), mesh.vertices.end()}, faces);
  model->endModel();
  return model;
}

}  // namespace

pinocchio::GeometryModel mjcf_visuals(const std::string& path, const LoadOptions& options) {
  Scene scene;
  mjcf::Spec spec = mjcf::read_spec(path, options, scene);
  mjcf::set_inertias(spec);
  mjcf::build_model(spec, scene);  // joints are numbered there

  pinocchio::GeometryModel shown;
  std::map<std::string, std::shared_ptr<coal::CollisionGeometry>> meshes;  // each once, whoever uses it
  for (const mjcf::Body& body : spec.bodies) {
    for (const mjcf::Geom& geom : body.geoms) {
      if (geom.group >= kGroupsShown || (geom.colour && (*geom.colour)[3] == 0.0)) continue;
      const bool is_mesh = geom.kind == mjcf::Geom::Kind::mesh;
      if (is_mesh && !meshes.contains(geom.asset)) {
        meshes[geom.asset] = triangles(spec.assets.meshes.at(geom.asset));
      }
      const auto shape = is_mesh ? meshes.at(geom.asset) : mjcf::make_shape(geom, spec.assets);
      if (!shape) continue;
      shown.addGeometryObject(pinocchio::GeometryObject(
          geom.name, body.joint_index, body.frame_index, body.in_joint * geom.placement, shape, geom.asset,
          Eigen::Vector3d::Ones(), geom.colour.has_value(), geom.colour.value_or(Eigen::Vector4d::Zero())));
    }
  }
  return shown;
}

}  // namespace taut
