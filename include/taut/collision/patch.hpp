#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>

#include "taut/collision/shape.hpp"

namespace taut {

/// Where a shape stands.
struct Pose {
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const { return rotation * x + translation; }
};

/// What places a point of a patch: all that its derivatives need besides the shapes. One shape, the reference, gives
/// the normal by a face; the other, the incident one, meets it with a vertex, an edge or a face.
struct PatchOrigin {
  enum class Kind : std::uint8_t {
    witness,   ///< of the distance: no face gives the normal
    vertex,    ///< a point of the incident shape: a corner, a rim, the end of an axis, a round surface
    crossing,  ///< an edge of the incident shape, where it passes over a side of the face
    corner     ///< a corner of the face, over a face of the incident shape
  };
  Kind kind;
  Eigen::Vector3d edge;  ///< crossing: along the incident edge; corner: the incident normal; else not set
  Eigen::Vector3d side;  ///< crossing: into the face, square to the side it passes; else not set

  PatchOrigin() {}  // of many that are made few are looked at
  explicit PatchOrigin(Kind kind_) : kind(kind_) {}
  PatchOrigin(Kind kind_, const Eigen::Vector3d& edge_, const Eigen::Vector3d& side_)
      : kind(kind_), edge(edge_), side(side_) {}
};

/// The points where two shapes touch, each with its gap.
struct Patch {
  struct Point {
    Eigen::Vector3d position;  ///< half-way between the surfaces
    Eigen::Vector3d normal;    ///< to the first shape; the patch's own, except on a height field
    double gap;
    PatchOrigin origin;
  };
  static constexpr int capacity = 48;

  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();  ///< to the first shape
  bool second_is_reference = true;
  std::array<Point, capacity> points;
  int count = 0;

  void add(const Eigen::Vector3d& position, double gap, const PatchOrigin& origin) {
    if (count < capacity) points[count++] = {position, normal, gap, origin};
  }
};

/// Contact of a shape (first) with a half-space (second): every vertex, end or rim point closer than `margin`.
void half_space_patch(const Shape& shape, const Pose& pose, const Shape& half_space, const Pose& half_space_pose,
                      double margin, Patch& patch);

/// Contact of a convex shape (first) with a height field (second): one point of every cell within `margin`, with the
/// normal of the face that separates them most; on level cells that of a half-space.
void height_field_patch(const Shape& shape, const Pose& pose, const Shape& field, const Pose& field_pose, double margin,
                        Patch& patch);

/// How far the unit vector n (to the first shape) separates two convex shapes: a lower bound of their signed distance,
/// which is its largest value over all n.
double separation(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                  const Eigen::Vector3d& n);

/// Replaces `normal` (to the first shape) by the face normal of a box, cylinder or cone that separates the shapes most,
/// if that is more than `best`; returns the separation of what it leaves.
double best_face_normal(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                        double best, Eigen::Vector3d& normal);

/// Contact of two convex shapes from one witness (normal to the first shape, point half-way, distance) of GJK or EPA.
///
/// The signed distance of two convex sets is the largest separation over all directions. So a face normal that
/// separates at least as much as the witness normal is the better one: GJK's is noise when shapes touch, and Coal's
/// patches carry one depth for all points. Where the contact lies on a face, the other shape's nearest feature is
/// clipped by that face and each point gets its own gap; elsewhere (edge on edge, round on round) the witness stays.
/// Swapping the shapes turns the normal and changes nothing else.
void convex_patch(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                  const Eigen::Vector3d& normal, const Eigen::Vector3d& point, double distance, double margin,
                  Patch& patch);

/// The order in which collision runs two shapes, the same for (a, b) and (b, a): by kind, then by size. Twins lead
/// neither way.
bool leads(const Shape& a, const Shape& b);

/// Keeps at most four points: the deepest, then those that span the largest area.
void reduce_to_four(Patch& patch);

}  // namespace taut
