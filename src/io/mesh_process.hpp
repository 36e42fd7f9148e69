#pragma once

#include <string>

#include "mesh_file.hpp"

namespace taut::io {

/// The program `taut_mesh_reader`, spawned (never forked: this process may have threads), which reads one mesh after
/// another with Assimp. It limits its own memory and processor time; a file that brings it down or keeps it for longer
/// than `kSeconds` is an error, and the next file gets a new one.
class MeshProcess {
 public:
  static constexpr double kSeconds = 20.0;

  MeshProcess() = default;
  ~MeshProcess() { end(); }
  MeshProcess(const MeshProcess&) = delete;
  MeshProcess& operator=(const MeshProcess&) = delete;

  Triangles read(const std::string& path);

 private:
  void begin();
  void end();

  int pid_ = 0;
  int to_ = -1, from_ = -1;  // pipes
};

}  // namespace taut::io
