#pragma once

#include <functional>
#include <string>

#include "mesh_file.hpp"

namespace taut::io {

/// The program `taut_mesh_reader`, spawned (never forked: this process may have threads), which reads one mesh after
/// another with Assimp. It is given bytes and cannot open files: what a mesh refers to it asks for, and we open it.
/// It limits its own memory and processor time; a file that brings it down or keeps it for longer than `kSeconds` is an
/// error, and the next file gets a new one.
class MeshProcess {
 public:
  static constexpr double kSeconds = 20.0;

  /// The bytes of a file that a mesh refers to.
  using Opener = std::function<std::string(const std::string& path)>;

  MeshProcess() = default;
  ~MeshProcess() { end(); }
  MeshProcess(const MeshProcess&) = delete;
  MeshProcess& operator=(const MeshProcess&) = delete;

  /// The triangles of a mesh: the bytes of the file at `path`, which errors call `name`. Throws what `open` throws, and
  /// std::invalid_argument for what is no mesh.
  Triangles read(const std::string& name, const std::string& path, const std::string& bytes, const Opener& open);

 private:
  void begin();
  void end();

  int pid_ = 0;
  int to_ = -1, from_ = -1;  // pipes
};

}  // namespace taut::io
