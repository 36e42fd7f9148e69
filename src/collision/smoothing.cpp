#include "taut/collision/smoothing.hpp"

#include <algorithm>
#include <cmath>

#include "taut/collision/mesh.hpp"

namespace taut {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// The covariance of points under weights that are added one by one.
struct WeightedSpread {
  double weight = 0.0;
  Vector3d first = Vector3d::Zero();
  Matrix3d second = Matrix3d::Zero();

  void add(const Vector3d& x, double w) {
    weight += w;
    first += w * x;
    second += w * x * x.transpose();
  }
  Matrix3d covariance() const {
    const Vector3d mean = first / weight;
    return second / weight - mean * mean.transpose();
  }
};

Vector3d support_from(const Shape& shape, const Vector3d& d, int& vertex) {
  if (shape.kind != Shape::Kind::convex) return support(shape, d);
  vertex = farthest_vertex(shape, d, vertex);
  return (*shape.vertices)[vertex];
}

}  // namespace

// SplitMix64 [Steele, Lea and Flood 2014].
double NormalNumbers::uniform() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (static_cast<double>(z >> 11) + 0.5) * 0x1.0p-53;
}

// Box and Muller: the standard library's normal distribution differs from one library to the next.
double NormalNumbers::operator()() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(uniform())), angle = 2.0 * M_PI * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

bool has_corners(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::sphere:
    case Shape::Kind::ellipsoid:
    case Shape::Kind::half_space:
      return false;
    default:
      return true;
  }
}

Matrix3d gumbel_curvature(const Shape& shape, const Vector3d& d, int depth, double temperature, int& vertex) {
  const double epsilon = temperature * shape.radius;
  WeightedSpread spread;
  if (shape.kind == Shape::Kind::box) {
    const Vector3d top = support(shape, d);
    for (int i = 0; i < 8; ++i) {
      const Vector3d v(i & 1 ? shape.size.x() : -shape.size.x(), i & 2 ? shape.size.y() : -shape.size.y(),
                       i & 4 ? shape.size.z() : -shape.size.z());
      spread.add(v - top, std::exp((v - top).dot(d) / epsilon));
    }
  } else {
    const auto& vertices = *shape.vertices;
    vertex = farthest_vertex(shape, d, vertex);
    const Vector3d top = vertices[vertex];
    VertexSet active = vertices_near_top(shape, d, vertex, 2e-6 * shape.radius);
    add_neighbors(shape, depth, active);
    for (const int i : active) {
      const Vector3d x = vertices[i] - top;
      spread.add(x, std::exp(x.dot(d) / epsilon));
    }
  }
  return spread.covariance() / epsilon;
}

Matrix3d gaussian_curvature(const Shape& shape, const Vector3d& d, int samples, double temperature,
                            NormalNumbers& normal, int& vertex) {
  Matrix3d sum = Matrix3d::Zero();
  int ahead = vertex, behind = vertex;
  for (int i = 0; i < samples; ++i) {
    const Vector3d z(normal(), normal(), normal());
    const Vector3d plus = support_from(shape, d + temperature * z, ahead);
    const Vector3d minus = support_from(shape, d - temperature * z, behind);
    sum += (plus - minus) * z.transpose();
  }
  sum *= 0.5 / (temperature * samples);
  return 0.5 * (sum + sum.transpose());
}

}  // namespace taut
