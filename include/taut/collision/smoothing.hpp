#pragma once

#include <cstdint>

#include "taut/collision/shape.hpp"

namespace taut {

/// Standard normal numbers, the same on every machine for a seed.
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : state_(seed) {}
  double operator()();

 private:
  double uniform();  // in (0, 1)
  std::uint64_t state_;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

/// Whether a shape has vertices, edges or faces: places where its own curvature says nothing of its form.
bool has_corners(const Shape& shape);

/// The curvature (d support / d d at unit d) of a mesh or a box whose support is blurred by Gumbel's distribution
/// [DCD, eqs. (27), (28)]: the covariance of its vertices under soft-max weights exp(v·d / ε), over ε. The vertices are
/// the active ones, as if d were that of a face or an edge within 1e-6 rad, and what is at most `depth` edges away from
/// them. ε is `temperature` times the shape's radius. `vertex` is where the search starts, and what it found.
Eigen::Matrix3d gumbel_curvature(const Shape& shape, const Eigen::Vector3d& d, int depth, double temperature,
                                 int& vertex);

/// The same for any shape, by `samples` normal directions z [DCD, eq. (26)]: the mean of support(d + ε z) zᵀ / ε. Taken
/// in opposite couples, whose difference keeps the estimate and loses most of its noise; symmetric, as a curvature is.
Eigen::Matrix3d gaussian_curvature(const Shape& shape, const Eigen::Vector3d& d, int samples, double temperature,
                                   NormalNumbers& normal, int& vertex);

}  // namespace taut
