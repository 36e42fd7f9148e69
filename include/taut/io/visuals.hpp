#pragma once

#include <pinocchio/multibody.hpp>

#include <string>

#include "taut/io/load.hpp"

namespace taut {

/// What an MJCF file shows, to be looked at beside the scene `load_mjcf` makes of it: the geoms of the groups MuJoCo
/// draws by default (0 to 2), whether they touch anything or not, meshes with their own triangles. `meshColor` is the
/// file's colour, zero where it gives none; textures are left out. `meshPath` is the name of the mesh.
///
/// Apart from loading, because triangles are large and only who looks needs them. Throws as `load` does.
pinocchio::GeometryModel mjcf_visuals(const std::string& path, const LoadOptions& options = {});

/// What a URDF file shows, its <visual> elements, in the joints of its own model, whose root is fixed.
struct UrdfVisuals {
  pinocchio::Model model;
  pinocchio::GeometryModel geometry;
};

/// Files are read as `load` reads those of shapes that collide, and what it throws is thrown.
UrdfVisuals urdf_visuals(const std::string& path, const LoadOptions& options = {});

}  // namespace taut
