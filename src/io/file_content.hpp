#pragma once

#include <cstddef>
#include <string>

namespace taut::io {

/// How much may still be read of a group of files.
class Allowance {
 public:
  /// `what` the files are called in errors.
  Allowance(std::size_t bytes, std::string what) : most_(bytes), left_(bytes), what_(std::move(what)) {}

  /// The content of a regular file. Throws FileNotFound, also for what is no file (a folder, a device, a pipe), and
  /// std::invalid_argument, before anything is read, if it is larger than what is left.
  std::string read(const std::string& path);
  /// Takes it off without reading.
  void take(const std::string& path, std::size_t bytes);

 private:
  std::size_t most_, left_;
  std::string what_;
};

}  // namespace taut::io
