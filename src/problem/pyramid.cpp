#include "taut/problem/pyramid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace taut {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

Vector2d side(const Vector2d& d) { return {-d[1], d[0]}; }

// The direction of `numerator / denominator` turns. Whole quarters are exact, so that a pyramid of four sides does not
// leak 1e-16 of one axis into the other.
Vector2d turned(int numerator, int denominator) {
  const double angle = 0.5 * std::numbers::pi * (4 * numerator % denominator) / denominator;
  Vector2d direction(std::cos(angle), std::sin(angle));
  for (int quarters = 4 * numerator / denominator; quarters > 0; --quarters) direction = side(direction);
  return direction;
}

}  // namespace

Pyramid::Pyramid(int sides) {
  if (sides < 3) throw std::invalid_argument("Pyramid: " + std::to_string(sides) + " sides, fewer than 3");
  apothem_ = std::cos(std::numbers::pi / sides);
  half_edge_ = std::sin(std::numbers::pi / sides);
  for (int k = 0; k < sides; ++k) {
    vertices_.push_back(turned(k, sides));
    facets_.push_back(turned(2 * k + 1, 2 * sides));
  }
}

double Pyramid::support(const Vector2d& x) const {
  double most = 0.0;  // P holds the origin
  for (const Vector2d& d : vertices_) most = std::max(most, d.dot(x));
  return most;
}

const Vector2d& Pyramid::facet_of(const Vector2d& x) const {
  const Vector2d* nearest = &facets_.front();
  double most = nearest->dot(x);
  for (const Vector2d& normal : facets_) {
    const double height = normal.dot(x);
    if (height > most) {
      most = height;
      nearest = &normal;
    }
  }
  return *nearest;
}

// A reflection that maps the polygon to itself maps nearest points to nearest points; so the nearest point of x is in
// the sector of x, and only its edge can be the one.
Vector2d Pyramid::project_onto_polygon(const Vector2d& x, double radius) const {
  const Vector2d& normal = facet_of(x);
  if (normal.dot(x) <= apothem_ * radius) return x;
  const double reach = half_edge_ * radius, along = std::clamp(side(normal).dot(x), -reach, reach);
  return apothem_ * radius * normal + along * side(normal);
}

// As above with the facet {m · x_t = μ cos(π/s) x_n} in the place of the edge and the rays (μ d, 1) in that of its
// ends.
Vector3d Pyramid::project_onto_cone(const Vector3d& x, double mu) const {
  const Vector2d x_t = x.head<2>(), m = facet_of(x_t), t = side(m);
  const double slope = mu * apothem_, above = m.dot(x_t) - slope * x[2];
  if (above <= 0.0 && x[2] >= 0.0) return x;
  const double normal = x[2] + slope * above / (1.0 + slope * slope), along = t.dot(x_t);
  if (normal >= 0.0 && std::abs(along) <= mu * half_edge_ * normal) {
    const Vector2d on_facet = slope * normal * m + along * t;
    return {on_facet[0], on_facet[1], normal};
  }
  const Vector2d d = apothem_ * m + std::copysign(half_edge_, along) * t;
  const double height = std::max(0.0, x[2] + mu * d.dot(x_t)) / (1.0 + mu * mu);
  return {mu * height * d[0], mu * height * d[1], height};
}

}  // namespace taut
