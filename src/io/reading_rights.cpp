#include "reading_rights.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "open_file.hpp"
#include "taut/io/errors.hpp"

namespace taut::io {

namespace fs = std::filesystem;

namespace {

// Symbolic links followed as far as the path is there.
fs::path real_of(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return {};
  return real.has_filename() || real == real.root_path() ? real : real.parent_path();
}

bool is_root(const fs::path& folder) { return folder == folder.root_path(); }

// Where nobody, or anybody, could have put the mark of a package.
bool is_common(const fs::path& folder) {
  const char* home = std::getenv("HOME");
  if (is_root(folder) || (home && *home && real_of(home) == folder)) return true;
  std::error_code error;
  return (fs::status(folder, error).permissions() & fs::perms::others_write) != fs::perms::none;
}

bool holds(const fs::path& folder, const char* name) {
  std::error_code error;
  return fs::exists(folder / name, error);
}

bool is_package(const fs::path& folder) { return holds(folder, "package.xml") && !is_common(folder); }

// What is written, cloned or unpacked as one.
bool is_checkout(const fs::path& folder) {
  static constexpr const char* kMarks[] = {"package.xml", ".git",      ".hg",          "pyproject.toml",
                                           "setup.py",    "setup.cfg", "model.config", "CMakeLists.txt"};
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](const char* mark) { return holds(folder, mark); }) &&
         !is_common(folder);
}

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Descriptions that were unpacked without the marks of their checkout still have its usual folders.
const std::set<std::string> kModelFolders{"urdf",   "urdfs", "xml",   "xmls",   "mjcf", "mjcfs",
                                          "robots", "robot", "xacro", "scenes", "sdf",  "models"};
const std::set<std::string> kPartFolders{"meshes", "mesh",     "assets",    "asset",      "stl", "obj",
                                         "dae",    "textures", "materials", "heightmaps", "srdf"};

}  // namespace

ReadingRights::ReadingRights(const std::string& model_file, const LoadOptions& options) : trust_(options.trust) {
  std::error_code error;
  fs::path own = fs::absolute(model_file, error).parent_path();
  own = real_of(own);
  for (fs::path folder = own; !is_root(folder); folder = folder.parent_path()) above_.push_back(folder);
  for (const std::string& folder : options.package_dirs) package_dirs_.push_back(fs::absolute(folder, error));

  if (!is_root(own)) {
    roots_.push_back(own);
    if (const fs::path parent = own.parent_path(); !is_root(parent)) {
      if (std::any_of(above_.begin() + 1, above_.end(), is_checkout)) {
        roots_.push_back(parent);
      } else if (kModelFolders.contains(own.filename().string())) {
        for (const std::string& part : kPartFolders) {
          // A link there that leads away is not the part of a description that is meant.
          if (real_of(parent / part) == parent / part) roots_.push_back(parent / part);
        }
      }
    }
  }
  const auto package = std::find_if(above_.begin(), above_.end(), is_package);
  if (package != above_.end()) roots_.push_back(*package);
  for (const auto* named : {&options.package_dirs, &options.allow}) {
    for (const std::string& folder : *named) {
      if (fs::path real = real_of(folder); !real.empty()) roots_.push_back(std::move(real));
    }
  }
}

bool ReadingRights::inside(const fs::path& real) const {
  return trust_ || (!real.empty() && std::any_of(roots_.begin(), roots_.end(),
                                                 [&](const fs::path& root) { return is_below(real, root); }));
}

bool ReadingRights::admits(const fs::path& path) const { return inside(real_of(path)); }

void ReadingRights::refuse(const fs::path& path, const fs::path& real, const std::string& asker) const {
  const fs::path where = real.empty() ? path : real;
  std::string message = asker + ": '" + path.string() + "'";
  if (where != path) message += ", which is '" + where.string() + "',";
  throw std::invalid_argument(message + " is outside of the folders that the file may read; if it is meant to, say " +
                              "allow=['" + where.parent_path().string() + "'], or trust=True");
}

void ReadingRights::require(const fs::path& path, const std::string& asker) const {
  if (!admits(path)) refuse(path, real_of(path), asker);
}

std::string ReadingRights::read(const fs::path& path, const std::string& asker, Allowance& allowance) const {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) throw FileNotFound(path.string(), asker);
  require(path, asker);  // before it is opened: opening a device may do something
  const OpenFile file(path, asker);
  if (const fs::path real = file.real_path(); !inside(real)) refuse(path, real, asker);
  return file.read(allowance);
}

fs::path ReadingRights::package(const std::string& name) {
  if (name.empty() || name == "." || name == "..") return {};
  const auto admit = [&](const fs::path& found) {
    roots_.push_back(found);
    return found;
  };
  for (const fs::path& folder : package_dirs_) {
    if (const fs::path found = real_of(folder / name); is_package(found)) return admit(found);
  }
  for (const fs::path& folder : above_) {  // a link there may have come with the file
    if (const fs::path found = folder / name; real_of(found) == found && is_package(found)) return admit(found);
  }
  return {};
}

std::string read_file(const std::string& path, Allowance& allowance) { return OpenFile(path, "").read(allowance); }

}  // namespace taut::io

namespace taut {

bool may_read(const std::string& file, const std::string& path, const LoadOptions& options) {
  return io::ReadingRights(file, options).admits(path);
}

}  // namespace taut
