#pragma once

#include <filesystem>
#include <string>

#include "allowance.hpp"

namespace taut::io {

/// A regular file, opened. What is checked of it (where it really lies, what it is, its size) is checked of the file
/// that is open, so that nobody can exchange it between the check and the reading.
class OpenFile {
 public:
  /// `asker`, if not empty, begins the messages. Throws FileNotFound, PermissionDenied, and std::invalid_argument for a
  /// folder, a pipe, a device and the like.
  OpenFile(const std::filesystem::path& path, const std::string& asker);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// Where it lies, symbolic links followed; empty if its name is gone or belongs to another file by now.
  std::filesystem::path real_path() const;
  /// All of it. Throws std::invalid_argument, before anything is read, if it is larger than what may still be read.
  std::string read(Allowance& allowance) const;

 private:
  std::string name() const;
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path path_;
  std::string asker_;
  int descriptor_ = -1;
};

}  // namespace taut::io
