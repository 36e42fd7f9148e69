#pragma once

#include <Eigen/Core>
#include <vector>

namespace taut {

/// The pyramid that stands for Coulomb's cone in the LCP model, in the component order (t1, t2, n):
///
///   K̃_μ = { x_t ∈ μ x_n P },   P the regular polygon with vertices d_k = (cos 2πk/s, sin 2πk/s)
///
/// P is inscribed in the unit disk. Hence K̃_μ ⊂ K_μ: friction is right along the vertices, too weak by up to cos(π/s)
/// between them, never too strong, and the cone comes back as s grows. For s = 4 it is |x_1| + |x_2| ≤ μ x_n. The box
/// max(|x_1|, |x_2|) ≤ μ x_n of [CB, Sec. III-A] is that one turned by 45° and √2 larger: it leaves
/// Coulomb's cone and brakes up to √2 times too hard.
class Pyramid {
 public:
  explicit Pyramid(int sides);  ///< throws std::invalid_argument below 3

  int sides() const { return static_cast<int>(vertices_.size()); }
  const Eigen::Vector2d& vertex(int k) const { return vertices_[static_cast<std::size_t>(k)]; }

  /// max_{p ∈ P} p · x: what |x| is to the disk.
  double support(const Eigen::Vector2d& x) const;

  /// Nearest point of `radius` P.
  Eigen::Vector2d project_onto_polygon(const Eigen::Vector2d& x, double radius) const;

  /// Nearest point of K̃_μ.
  Eigen::Vector3d project_onto_cone(const Eigen::Vector3d& x, double mu) const;

 private:
  /// The facet nearest to x: the one of the sector x lies in.
  const Eigen::Vector2d& facet_of(const Eigen::Vector2d& x) const;

  std::vector<Eigen::Vector2d> vertices_, facets_;  ///< facets_[k] is the outward normal of the edge after vertex k
  double apothem_, half_edge_;
};

}  // namespace taut
