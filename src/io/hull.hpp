#pragma once

#include <coal/shape/convex.h>

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "taut/io/limits.hpp"

namespace taut::io {

/// What collides in place of a mesh.
struct Hull {
  std::shared_ptr<coal::Convex<coal::Triangle>> shape;
  bool plate = false;        ///< the points lie in a plane: the hull is as thick as `kPlate` of their extent
  std::size_t left_out = 0;  ///< corners taken away because Coal keeps at most 254 edges at one
};

constexpr double kPlate = 1e-4;  ///< thickness of what is flat, as a share of its extent

/// The convex hull of points, its triangles turned outward. Throws std::invalid_argument for points that are not
/// finite, farther than limits::kFarthest or on one line.
///
/// Quickhull on a grid of 2⁻³⁸ of the extent, on which every orientation is decided exactly: flat, doubled and nearly
/// flat input is no special case and cannot end in anything but a closed polyhedron. (Qhull, which rounds, has its
/// own way out of those: within Coal it ends the process.)
Hull convex_hull(const std::vector<Eigen::Vector3d>& points);

}  // namespace taut::io
