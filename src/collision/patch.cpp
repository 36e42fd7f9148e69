#include "taut/collision/patch.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace taut {

namespace {

using Eigen::Vector3d;

using Kind = PatchOrigin::Kind;

// The part of a shape that faces a direction: a face (with its outward normal), an edge or a point, in the world.
struct Facing {
  static constexpr int capacity = 24;
  std::array<Vector3d, capacity> points;
  std::array<PatchOrigin, capacity> origins;
  std::array<bool, capacity> cut;  // the line from a point to the next one is not an edge of the shape but a cut
  int count = 0;
  bool flat = false;
  Vector3d normal = Vector3d::Zero();

  void add(const Vector3d& x) { add(x, PatchOrigin(Kind::vertex), false); }
  void add(const Vector3d& x, const PatchOrigin& origin, bool then_cut) {
    if (count == capacity) return;
    points[count] = x;
    origins[count] = origin;
    cut[count++] = then_cut;
  }
};

constexpr double cos_45 = 0.70710678118654752;

// A cap as an octagon with a vertex toward `local`, the direction in which the disk may tilt.
void add_disk(Facing& feature, const Pose& pose, double radius, double z, const Vector3d& local) {
  const double length = local.head<2>().norm();
  const Eigen::Vector2d u = length > 1e-9 ? Eigen::Vector2d(local.head<2>() / length) : Eigen::Vector2d(1.0, 0.0);
  const Eigen::Vector2d w(-u.y(), u.x());
  const double order = z > 0.0 ? 1.0 : -1.0;  // counter-clockwise seen from outside
  for (int k = 0; k < 8; ++k) {
    const double angle = order * k * M_PI / 4.0;
    const Eigen::Vector2d p = radius * (std::cos(angle) * u + std::sin(angle) * w);
    feature.add(pose * Vector3d(p.x(), p.y(), z));
  }
  feature.flat = true;
  feature.normal = order * pose.rotation.col(2);
}

void add_box_face(Facing& feature, const Shape& box, const Pose& pose, const Vector3d& d) {
  int axis;
  d.cwiseAbs().maxCoeff(&axis);
  const double sign = d[axis] < 0.0 ? -1.0 : 1.0;
  const int j = (axis + 1) % 3, k = (axis + 2) % 3;
  Vector3d x;
  x[axis] = sign * box.size[axis];
  for (int corner = 0; corner < 4; ++corner) {
    const int c = sign > 0.0 ? corner : 3 - corner;
    x[j] = (c == 0 || c == 3) ? -box.size[j] : box.size[j];
    x[k] = c < 2 ? -box.size[k] : box.size[k];
    feature.add(pose * x);
  }
  feature.flat = true;
  feature.normal = sign * pose.rotation.col(axis);
}

double cross(const Eigen::Vector2d& a, const Eigen::Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }

// The vertices of a mesh within a thousandth of its radius of the farthest one, as a convex polygon seen along d.
void add_mesh_face(Facing& feature, const Shape& mesh, const Pose& pose, const Vector3d& d) {
  const double limit = d.dot(support(mesh, d)) - 1e-3 * mesh.radius;
  const Vector3d u = d.unitOrthogonal();
  const Vector3d w = d.cross(u);
  std::array<Vector3d, Facing::capacity> found;
  int count = 0, seen = 0;
  for (const Vector3d& v : *mesh.vertices) {
    if (d.dot(v) < limit) continue;
    if (count < Facing::capacity) found[count++] = v;
    ++seen;
  }
  if (seen > Facing::capacity) {  // a fine mesh: its extreme vertices in evenly spread directions stand for the face
    count = 0;
    for (int k = 0; k < Facing::capacity; ++k) {
      const double angle = 2.0 * M_PI * k / Facing::capacity;
      const Vector3d direction = std::cos(angle) * u + std::sin(angle) * w;
      const Vector3d* best = nullptr;
      for (const Vector3d& v : *mesh.vertices) {
        if (d.dot(v) >= limit && (!best || direction.dot(v) > direction.dot(*best))) best = &v;
      }
      if (count == 0 || (found[count - 1] != *best && found[0] != *best)) found[count++] = *best;
    }
  }
  const auto flat = [&](const Vector3d& x) { return Eigen::Vector2d(u.dot(x), w.dot(x)); };
  std::sort(found.begin(), found.begin() + count, [&](const Vector3d& a, const Vector3d& b) {
    const Eigen::Vector2d p = flat(a), q = flat(b);
    return p.x() < q.x() || (p.x() == q.x() && p.y() < q.y());
  });
  // Monotone chain, counter-clockwise about d.
  std::array<Vector3d, 2 * Facing::capacity> hull;
  int size = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const int base = size;
    for (int i = 0; i < count; ++i) {
      const Vector3d& x = found[pass == 0 ? i : count - 1 - i];
      while (size >= base + 2 &&
             cross(flat(hull[size - 1]) - flat(hull[size - 2]), flat(x) - flat(hull[size - 2])) <= 0.0) {
        --size;
      }
      hull[size++] = x;
    }
    --size;  // the last point of one chain is the first of the other
  }
  if (count == 1) size = 1, hull[0] = found[0];
  for (int i = 0; i < size; ++i) feature.add(pose * hull[i]);
  if (size < 3) return;
  Vector3d normal = Vector3d::Zero();  // Newell
  for (int i = 0; i < size; ++i) normal += hull[i].cross(hull[(i + 1) % size]);
  feature.flat = true;
  feature.normal = pose.rotation * normal.normalized();
}

Facing facing(const Shape& shape, const Pose& pose, const Vector3d& direction) {
  Facing feature;
  const Vector3d d = pose.rotation.transpose() * direction;
  const double r = shape.size.x(), h = shape.size.z();
  switch (shape.kind) {
    case Shape::Kind::capsule:
      for (const double z : {-h, h}) feature.add(pose * Vector3d(0.0, 0.0, z) + r * direction);
      break;
    case Shape::Kind::cylinder:
      if (std::abs(d.z()) > cos_45) {
        add_disk(feature, pose, r, d.z() > 0.0 ? h : -h, d);
      } else {
        const Eigen::Vector2d rim = r * d.head<2>().normalized();
        for (const double z : {-h, h}) feature.add(pose * Vector3d(rim.x(), rim.y(), z));
      }
      break;
    case Shape::Kind::cone: {
      const Eigen::Vector2d side = Eigen::Vector2d(2.0 * h, r).normalized();  // (radial, axial) normal of the side
      if (-d.z() > side.x() * d.head<2>().norm() + side.y() * d.z()) {
        add_disk(feature, pose, r, -h, d);
      } else {
        const double radial = d.head<2>().norm();
        const Eigen::Vector2d u = radial > 1e-9 ? Eigen::Vector2d(d.head<2>() / radial) : Eigen::Vector2d(1.0, 0.0);
        feature.add(pose * Vector3d(0.0, 0.0, h));
        feature.add(pose * Vector3d(r * u.x(), r * u.y(), -h));
      }
      break;
    }
    case Shape::Kind::box:
      add_box_face(feature, shape, pose, d);
      break;
    case Shape::Kind::convex:
      add_mesh_face(feature, shape, pose, d);
      break;
    default:
      feature.add(pose * support(shape, d));
  }
  return feature;
}

}  // namespace

double separation(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                  const Vector3d& n) {
  return n.dot(first_pose.translation - second_pose.translation) -
         support_height(first, first_pose.rotation.transpose() * -n) -
         support_height(second, second_pose.rotation.transpose() * n);
}

namespace {

double area(const Facing& face) {
  Vector3d twice = Vector3d::Zero();
  for (int i = 0; i < face.count; ++i) twice += face.points[i].cross(face.points[(i + 1) % face.count]);
  return 0.5 * std::abs(face.normal.dot(twice));
}

// Clips a polygon, a segment or a point by the side planes of a face [Sutherland and Hodgman 1974].
void clip(Facing& incident, const Facing& face) {
  for (int e = 0; e < face.count && incident.count > 0; ++e) {
    const Vector3d edge = face.points[(e + 1) % face.count] - face.points[e];
    const Vector3d inward = face.normal.cross(edge).normalized();
    const double level = inward.dot(face.points[e]) - 1e-9;  // what lies on the edge stays
    Facing kept;
    const int sides = incident.count == 2 ? 1 : incident.count;  // a segment is not a closed loop
    for (int i = 0; i < incident.count; ++i) {
      const Vector3d& a = incident.points[i];
      const bool cut = incident.cut[i];
      const double height_a = inward.dot(a) - level;
      if (height_a >= 0.0) kept.add(a, incident.origins[i], cut);
      if (i >= sides || incident.count == 1) continue;
      const Vector3d& b = incident.points[(i + 1) % incident.count];
      const double height_b = inward.dot(b) - level;
      if ((height_a > 0.0 && height_b < 0.0) || (height_a < 0.0 && height_b > 0.0)) {
        // Two sides meet in a corner of the face.
        const PatchOrigin origin =
            cut ? PatchOrigin(Kind::corner, incident.normal, inward) : PatchOrigin(Kind::crossing, b - a, inward);
        kept.add(a + height_a / (height_a - height_b) * (b - a), origin, height_a > 0.0 || cut);
      }
    }
    kept.flat = incident.flat, kept.normal = incident.normal;
    incident = kept;
  }
}

// Outward normals of all flat faces of a simple shape.
template <typename Try>
void for_each_face_normal(const Shape& shape, const Pose& pose, Try&& attempt) {
  if (shape.kind == Shape::Kind::box) {
    for (int axis = 0; axis < 3; ++axis) {
      attempt(Vector3d(pose.rotation.col(axis)));
      attempt(Vector3d(-pose.rotation.col(axis)));
    }
  } else if (shape.kind == Shape::Kind::cylinder || shape.kind == Shape::Kind::cone) {
    attempt(Vector3d(-pose.rotation.col(2)));
    if (shape.kind == Shape::Kind::cylinder) attempt(Vector3d(pose.rotation.col(2)));
  }
}

}  // namespace

double best_face_normal(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                        double best, Vector3d& normal) {
  const auto attempt = [&](const Vector3d& n) {
    const double s = separation(first, first_pose, second, second_pose, n);
    if (s > best) best = s, normal = n;
  };
  for_each_face_normal(second, second_pose, attempt);
  for_each_face_normal(first, first_pose, [&](const Vector3d& outward) { attempt(-outward); });
  return best;
}

void convex_patch(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                  const Vector3d& normal, const Vector3d& point, double distance, double margin, Patch& patch) {
  patch.count = 0;
  patch.normal = normal;
  Facing face_1 = facing(first, first_pose, -normal);
  Facing face_2 = facing(second, second_pose, normal);

  // The best direction. Ties go to a face: within 1e-9 m the witness cannot tell.
  const double witness = separation(first, first_pose, second, second_pose, normal);
  double best = best_face_normal(first, first_pose, second, second_pose, witness - 1e-9, patch.normal);
  for (const Vector3d& n : {face_2.normal, Vector3d(-face_1.normal)}) {  // of a mesh: the facing one
    const double s = n.isZero() ? -HUGE_VAL : separation(first, first_pose, second, second_pose, n);
    if (s > best) best = s, patch.normal = n;
  }
  if (patch.normal != normal) {
    face_1 = facing(first, first_pose, -patch.normal);
    face_2 = facing(second, second_pose, patch.normal);
  }

  // The reference is a face square to the normal, the larger one if both are: 1e-6 covers rounding, not a tilt.
  const bool square_1 = face_1.flat && -face_1.normal.dot(patch.normal) > 1.0 - 1e-12;
  const bool square_2 = face_2.flat && face_2.normal.dot(patch.normal) > 1.0 - 1e-12;
  if (square_1 || square_2) {
    patch.second_is_reference = !square_1 || (square_2 && area(face_2) >= area(face_1));
    const Facing& face = patch.second_is_reference ? face_2 : face_1;
    Facing& incident = patch.second_is_reference ? face_1 : face_2;
    clip(incident, face);
    const double side = patch.second_is_reference ? 1.0 : -1.0;
    for (int i = 0; i < incident.count; ++i) {
      const double gap = side * patch.normal.dot(incident.points[i] - face.points[0]);
      if (gap <= margin) {
        patch.add(incident.points[i] - 0.5 * side * gap * patch.normal, gap, incident.origins[i]);
      }
    }
  }
  // The deepest point must be there, also where a polygon stands for a disk.
  const double deepest = patch.normal == normal ? distance : best;
  double lowest = HUGE_VAL;
  for (int i = 0; i < patch.count; ++i) lowest = std::min(lowest, patch.points[i].gap);
  if (deepest <= margin && (patch.count == 0 || deepest < lowest - 1e-7))
    patch.add(point, deepest, PatchOrigin(Kind::witness));
}

bool leads(const Shape& a, const Shape& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.radius < b.radius;
}

void reduce_to_four(Patch& patch) {
  if (patch.count <= 4) return;
  const auto& points = patch.points;
  // A point that hovers is worth less than one that touches: 0.1 mm of gap weighs as much as 10 cm of reach. On a sole
  // that is not quite flat the points must be those it stands on.
  constexpr double weight = 1000.0;
  double lowest = HUGE_VAL;
  for (int i = 0; i < patch.count; ++i) lowest = std::min(lowest, points[i].gap);
  const auto farthest = [&](auto&& measure) {
    int best = 0;
    double value = -HUGE_VAL;
    for (int i = 0; i < patch.count; ++i) {
      const double m = measure(points[i]) - weight * (points[i].gap - lowest);
      if (m > value + 1e-12) value = m, best = i;
    }
    return best;
  };
  const int a = farthest([](const Patch::Point&) { return 0.0; });
  const int b = farthest([&](const Patch::Point& p) { return (p.position - points[a].position).norm(); });
  const Vector3d line = points[b].position - points[a].position;
  const Vector3d side = patch.normal.cross(line).normalized();
  // The two that reach farthest on either side of the line a b.
  const int c = farthest([&](const Patch::Point& p) { return side.dot(p.position - points[a].position); });
  const int d = farthest([&](const Patch::Point& p) { return -side.dot(p.position - points[a].position); });
  std::array<int, 4> chosen{a, b, c, d};
  std::sort(chosen.begin(), chosen.end());  // their order in the patch: identity prefers it
  const auto end = std::unique(chosen.begin(), chosen.end());
  int count = 0;
  for (auto it = chosen.begin(); it != end; ++it) patch.points[count++] = points[*it];
  patch.count = count;
}

}  // namespace taut
