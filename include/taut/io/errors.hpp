#pragma once

#include <stdexcept>
#include <string>

namespace taut {

/// A file that was asked for is not there. Python sees it as FileNotFoundError. `asker` is the place in a file that
/// asks for it, if one does.
class FileNotFound : public std::runtime_error {
 public:
  explicit FileNotFound(const std::string& path, const std::string& asker = "")
      : std::runtime_error((asker.empty() ? "" : asker + ": ") + "no such file: '" + path + "'"), path_(path) {}
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A file that the process may not open. Python sees it as PermissionError.
class PermissionDenied : public std::runtime_error {
 public:
  explicit PermissionDenied(const std::string& path, const std::string& asker = "")
      : std::runtime_error((asker.empty() ? "" : asker + ": ") + "no permission to read '" + path + "'"), path_(path) {}
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace taut
