#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allowance.hpp"
#include "taut/io/load.hpp"

namespace taut::io {

/// Which files a model file may have read for it. Files come from strangers, and an include, a mesh or a height field
/// is a path that the stranger chose. Everything a model file refers to is opened by `read`, and by nothing else.
///
/// Admitted is what lies, all symbolic links followed, below
///   - the folder of the model file;
///   - the nearest folder above it that holds a package.xml;
///   - the folder above its own, where that lies in a checkout or package (a folder with .git, package.xml, ... at it
///   or
///     above it); elsewhere the folders there that descriptions keep their parts in (../meshes, ../assets, ...), if the
///     model's own folder is called urdf, xml, robots or the like;
///   - the package that a `package://` names, see `package`;
///   - `LoadOptions::package_dirs` and `LoadOptions::allow`.
/// The root of the file system, the user's home and folders everybody may write to are no package and no checkout,
/// whatever they hold.
class ReadingRights {
 public:
  explicit ReadingRights(const std::string& model_file, const LoadOptions& options = {});

  /// The bytes of the file at `path`. `asker` begins the messages: "robot.urdf: <mesh> (line 3): filename="..."".
  /// Throws FileNotFound and PermissionDenied, and std::invalid_argument for what is no regular file, has
  /// more bytes than the allowance, or lies where the model file may not read: the message names the folder to allow.
  std::string read(const std::filesystem::path& path, const std::string& asker, Allowance& allowance) const;

  /// True if `read` would not refuse it. It need not be there.
  bool admits(const std::filesystem::path& path) const;

  /// Throws as `read` does for what is not admitted.
  void require(const std::filesystem::path& path, const std::string& asker) const;

  /// The folder that `package://name` stands for, which is admitted from now on: of `package_dirs` and of the folders
  /// above the model file the first that holds a folder `name` with a package.xml. Empty if there is none.
  std::filesystem::path package(const std::string& name);

  /// The folders above the model file, its own first, without the root of the file system.
  const std::vector<std::filesystem::path>& above() const { return above_; }

 private:
  bool inside(const std::filesystem::path& real) const;
  [[noreturn]] void refuse(const std::filesystem::path& path, const std::filesystem::path& real,
                           const std::string& asker) const;

  std::vector<std::filesystem::path> roots_;  // real, absolute
  std::vector<std::filesystem::path> above_;  // of the model file, nearest first
  std::vector<std::filesystem::path> package_dirs_;
  bool trust_ = false;
};

/// The bytes of a file the caller named, wherever it is. Throws as `ReadingRights::read` does.
std::string read_file(const std::string& path, Allowance& allowance);

}  // namespace taut::io
