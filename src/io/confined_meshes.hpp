#pragma once

#include <coal/mesh_loader/loader.h>

#include <map>
#include <string>
#include <tuple>

#include "reading_rights.hpp"

namespace taut::io {

/// Coal's loader of meshes, confined: each file that it opens for a mesh, the mesh itself and what that refers to (the
/// buffers of a glTF), passes through `ReadingRights`. Materials are not read: nobody looks at them. A file that is
/// used twice is read once.
class ConfinedMeshes : public coal::MeshLoader {
 public:
  explicit ConfinedMeshes(const ReadingRights& rights, std::string asker) : rights_(rights), asker_(std::move(asker)) {}

  /// Throws as `ReadingRights::read` does, and std::invalid_argument naming the file for what is no mesh.
  coal::BVHModelPtr_t load(const std::string& file, const coal::Vec3s& scale) override;

 private:
  using Key = std::tuple<std::string, double, double, double>;
  const ReadingRights& rights_;
  std::string asker_;
  std::map<Key, coal::BVHModelPtr_t> read_;
};

}  // namespace taut::io
