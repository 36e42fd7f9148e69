#pragma once

#include <coal/mesh_loader/loader.h>

#include <array>
#include <map>
#include <string>
#include <utility>

#include "mesh_file.hpp"

namespace taut::urdf {

/// Hands Pinocchio the meshes that `MeshReader` reads, each file once. They have no tree of bounding volumes: hulls
/// take their place, or a page draws them.
class MeshLoader : public coal::MeshLoader {
 public:
  /// `asker` begins the messages.
  MeshLoader(const io::ReadingRights& rights, std::string asker, std::size_t max_bytes)
      : reader_(rights, max_bytes), asker_(std::move(asker)) {}
  coal::BVHModelPtr_t load(const std::string& path, const coal::Vec3s& scale) override;

 private:
  io::MeshReader reader_;
  std::string asker_;
  std::map<std::string, io::Triangles> files_;
  std::map<std::pair<std::string, std::array<double, 3>>, coal::BVHModelPtr_t> made_;
};

}  // namespace taut::urdf
