#include "urdf_meshes.hpp"

#include <coal/BVH/BVH_model.h>

#include <stdexcept>

#include "taut/io/limits.hpp"
#include "taut/math/interruption.hpp"

namespace taut::urdf {

coal::BVHModelPtr_t MeshLoader::load(const std::string& path, const coal::Vec3s& scale) {
  may_interrupt(1000);  // a robot has tens of meshes, each of which may take a while
  auto& model = made_[{path, {scale[0], scale[1], scale[2]}}];
  if (model) return model;
  auto found = files_.find(path);
  if (found == files_.end()) found = files_.emplace(path, reader_.read(path, asker_)).first;
  std::vector<coal::Vec3s> vertices;
  vertices.reserve(found->second.vertices.size());
  for (const Eigen::Vector3d& v : found->second.vertices) {
    vertices.push_back(v.cwiseProduct(scale));
    if (!vertices.back().allFinite() || vertices.back().cwiseAbs().maxCoeff() > limits::kFarthest) {
      throw std::invalid_argument(asker_ + ": '" + path +
                                  "': a vertex is not finite or farther than 1e9 m from the origin");
    }
  }
  std::vector<coal::Triangle> faces;
  faces.reserve(found->second.faces.size());
  for (const Eigen::Vector3i& face : found->second.faces) {
    faces.emplace_back(static_cast<std::size_t>(face[0]), static_cast<std::size_t>(face[1]),
                       static_cast<std::size_t>(face[2]));
  }
  auto made = std::make_shared<coal::BVHModel<coal::OBBRSS>>();
  made->beginModel(static_cast<unsigned int>(faces.size()), static_cast<unsigned int>(vertices.size()));
  made->addSubModel(vertices, faces);
  model = made;
  return model;
}

}  // namespace taut::urdf
