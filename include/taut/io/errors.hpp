#pragma once

#include <stdexcept>
#include <string>

namespace taut {

/// A file that was asked for is not there, or cannot be opened. Python sees it as FileNotFoundError.
class FileNotFound : public std::runtime_error {
 public:
  explicit FileNotFound(const std::string& path) : std::runtime_error("no such file: '" + path + "'"), path_(path) {}
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace taut
