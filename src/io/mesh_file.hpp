#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <vector>

#include "reading_rights.hpp"

namespace taut::io {

/// Triangles as a file has them, vertices of the same place put together.
struct Triangles {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<Eigen::Vector3i> faces;
};

/// Reads the mesh files of one model. STL and OBJ are read here; other formats (Collada, PLY, …) by Assimp in a process
/// of its own, spawned for the first such file and ended with the reader: its parsers recurse and allocate as the file
/// tells them to. All of them get bytes, and every file is opened by `ReadingRights::read`, also what a mesh refers to
/// (the buffers of a glTF; materials are not read: nobody looks at them).
class MeshReader {
 public:
  MeshReader(const ReadingRights& rights, std::size_t max_bytes);
  ~MeshReader();
  /// Throws as `ReadingRights::read` does, and std::invalid_argument naming the file for what is no mesh.
  Triangles read(const std::string& path, const std::string& asker);

 private:
  const ReadingRights& rights_;
  Allowance allowance_;
  std::unique_ptr<class MeshProcess> process_;
};

/// The two formats, from the content of a file. Throw std::invalid_argument without the path.
Triangles read_stl(const std::string& content);
Triangles read_obj(const std::string& content);

}  // namespace taut::io
