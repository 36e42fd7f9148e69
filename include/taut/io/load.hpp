#pragma once

#include <optional>
#include <string>
#include <vector>

#include "taut/io/limits.hpp"
#include "taut/simulation/scene.hpp"

namespace taut {

/// What holds the root link of a URDF.
enum class Root {
  automatic,  ///< what the SRDF's virtual joint says; else fixed if the link is called world, map, odom or the like, or
              ///< if it weighs nothing together with all that is welded to it; else free
  free,
  fixed
};

struct LoadOptions {
  std::optional<bool> floor = std::nullopt;    ///< true: a ground plane z = 0, unless the file has that very plane
  std::vector<std::string> package_dirs = {};  ///< searched for meshes, before the folders above the file
  std::optional<double> friction =
      std::nullopt;             ///< replaces every coefficient of the file; contacts without friction keep none
  Root root = Root::automatic;  ///< URDF only
  std::string srdf = {};        ///< URDF only; empty: looked for beside the file and in ../srdf
  /// Folders below which includes and meshes may lie, besides those of the file itself and of its package:
  /// docs/files.md.
  std::vector<std::string> allow = {};
  bool trust = false;                      ///< files may be read wherever the file asks for them
  bool strict = false;                     ///< what would stand in `Scene::warnings` is an error
  std::size_t max_bytes = limits::kBytes;  ///< of the meshes together; the other bounds follow from it (limits.hpp)
};

/// Reads a URDF (<robot>) or an MJCF (<mujoco>) file, told apart by the root element.
///
/// Throws FileNotFound and PermissionDenied naming the path, and std::invalid_argument naming file, element and value
/// for what is malformed or impossible (a moving body without mass, a negative friction) and for files that the file
/// may not read. What a file asks for and taut does not do stands in `Scene::warnings`.
Scene load(const std::string& path, const LoadOptions& options = {});

/// What `load` tells by the root element. Throws as it does, also for a root that is neither.
bool is_mjcf(const std::string& path, const LoadOptions& options = {});

/// Meshes become their convex hulls. Shapes of one joint and of neighbouring joints do not collide, nor do those that
/// an SRDF disables; pairs that overlap in q0 are dropped, with a warning.
///
/// q0 is the SRDF pose called standing, half_sitting or home, else its first one, else neutral. With a floor, a free
/// root without a pose is put down on it, and a pose that penetrates it by more than 0.1 mm is lifted out.
Scene load_urdf(const std::string& path, const LoadOptions& options = {});

/// Follows MuJoCo's compiler: default classes, frames, inertia from geoms, contact filters. A joint's q is MuJoCo's
/// qpos (quaternions x y z w instead of w x y z) and the joints come in its order; the velocity of a free joint is in
/// the body's frame, as everywhere in Pinocchio, while MuJoCo has its linear part in the world's. q0 is the first
/// keyframe, else the configuration drawn in the file.
Scene load_mjcf(const std::string& path, const LoadOptions& options = {});

/// True if `file`, which may come from a stranger, may have `path` read for it: if `load` would, were `file` a model.
bool may_read(const std::string& file, const std::string& path, const LoadOptions& options = {});

}  // namespace taut
