#include <coal/hfield.h>
#include <coal/shape/convex.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "taut/collision/gjk.hpp"
#include "taut/collision/patch.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

// Half a cell: what lies under one of its two triangles, down to the field's bottom.
class Prism {
 public:
  Prism() {
    auto triangles = std::make_shared<std::vector<coal::Triangle>>();
    for (const auto& [a, b, c] : std::array<std::array<unsigned, 3>, 8>{
             {{0, 2, 1}, {3, 4, 5}, {0, 1, 3}, {3, 1, 4}, {1, 2, 5}, {1, 5, 4}, {0, 5, 2}, {5, 0, 3}}}) {
      triangles->emplace_back(a, b, c);
    }
    mesh_.set(corners_, 6, triangles, 8);
    shape_ = {.kind = Shape::Kind::convex, .geometry = &mesh_, .vertices = corners_.get()};
  }
  Prism(const Prism&) = delete;
  Prism& operator=(const Prism&) = delete;

  void stand(const std::array<Vector3d, 3>& top, double bottom) {
    for (std::size_t i = 0; i < 3; ++i) {
      (*corners_)[3 + i] = top[i];
      (*corners_)[i] = {top[i].x(), top[i].y(), bottom};
    }
  }

  // GJK alone: where the two overlap nobody asks how deep, the faces say it.
  bool within(double margin, const Shape& shape, const Pose& pose) {
    const auto& x = *corners_;
    const Vector3d line = pose * shape.center - (x[0] + x[1] + x[2] + x[3] + x[4] + x[5]) / 6.0;
    const Vector3d start = pose.rotation.transpose() * (line.squaredNorm() > 0.0 ? line : Vector3d(Vector3d::UnitZ()));
    const Gjk::Status status = gjk_.run(shape, pose, shape_, Pose{}, start, Eigen::Vector2i::Zero(), margin);
    if (status == Gjk::Status::overlapping) return true;
    if (status == Gjk::Status::beyond) return false;
    if (gjk_.distance() <= margin) return true;
    // At its limit it knows an upper bound; whether its direction separates them is sure.
    const Vector3d n = (pose.rotation * gjk_.ray()).normalized();
    return status == Gjk::Status::iteration_limit && !(separation(shape, pose, shape_, Pose{}, n) > margin);
  }

 private:
  std::shared_ptr<std::vector<Vector3d>> corners_ = std::make_shared<std::vector<Vector3d>>(6, Vector3d::Zero());
  coal::Convex<coal::Triangle> mesh_;
  Shape shape_;
  Gjk gjk_;
};

// The point of a triangle with normal n that is nearest to one in its plane.
Vector3d nearest_in(const std::array<Vector3d, 3>& triangle, const Vector3d& n, const Vector3d& x) {
  Vector3d best = x;
  double least = HUGE_VAL;
  bool inside = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const Vector3d &a = triangle[i], edge = triangle[(i + 1) % 3] - a;
    if (n.dot(edge.cross(x - a)) >= 0.0) continue;
    inside = false;
    const Vector3d y = a + std::clamp(edge.dot(x - a) / edge.squaredNorm(), 0.0, 1.0) * edge;
    if ((x - y).squaredNorm() < least) least = (x - y).squaredNorm(), best = y;
  }
  return inside ? x : best;
}

// What a cell says of a shape: the face of the field that separates them most, and the nearest point of it.
struct Touch {
  double gap = HUGE_VAL;
  Vector3d normal, point;  // in the field's frame; the point is on the field
};

// A shape (first, posed in the field's frame) against every cell it may touch; `found` is called with each touch.
template <typename Grid, typename Found>
void for_each_touch(const Shape& shape, const Pose& pose, const Grid& grid, double margin, Found&& found) {
  thread_local Prism prism;
  const auto &xs = grid.getXGrid(), &ys = grid.getYGrid();  // y falls with the rows
  const auto& heights = grid.getHeights();
  const double bottom = grid.getMinHeight();
  Vector3d low, high;
  for (int axis = 0; axis < 3; ++axis) {
    const Vector3d d = pose.rotation.row(axis).transpose();
    low[axis] = pose.translation[axis] - support_height(shape, -d);
    high[axis] = pose.translation[axis] + support_height(shape, d);
  }
  if (!low.allFinite() || !high.allFinite()) return;
  const Eigen::Index columns = heights.cols() - 1, rows = heights.rows() - 1;
  const double dx = (xs[columns] - xs[0]) / static_cast<double>(columns);
  const double dy = (ys[0] - ys[rows]) / static_cast<double>(rows);
  if (high.z() < bottom - margin) return;
  const auto cell = [](double x, Eigen::Index count) {
    return static_cast<Eigen::Index>(std::clamp(std::floor(x), -1.0, static_cast<double>(count)));
  };
  const Eigen::Index first_column = std::max<Eigen::Index>(0, cell((low.x() - margin - xs[0]) / dx, columns));
  const Eigen::Index last_column = std::min(columns - 1, cell((high.x() + margin - xs[0]) / dx, columns));
  const Eigen::Index first_row = std::max<Eigen::Index>(0, cell((ys[0] - high.y() - margin) / dy, rows));
  const Eigen::Index last_row = std::min(rows - 1, cell((ys[0] - low.y() + margin) / dy, rows));
  for (Eigen::Index j = first_row; j <= last_row; ++j) {
    for (Eigen::Index i = first_column; i <= last_column; ++i) {
      if (heights.template block<2, 2>(j, i).maxCoeff() < low.z() - margin) continue;
      const auto corner = [&](Eigen::Index a, Eigen::Index b) {
        return Vector3d(xs[i + b], ys[j + a], heights(j + a, i + b));
      };
      Touch best;
      for (const bool second : {false, true}) {
        const std::array<Vector3d, 3> top = second ? std::array<Vector3d, 3>{corner(1, 0), corner(1, 1), corner(0, 1)}
                                                   : std::array<Vector3d, 3>{corner(0, 0), corner(1, 0), corner(0, 1)};
        const Vector3d up = (top[1] - top[0]).cross(top[2] - top[0]).normalized();
        Touch at;
        const auto lowest = [&](const Vector3d& n) {
          return Vector3d(pose * support(shape, pose.rotation.transpose() * -n));
        };
        at.normal = up;
        at.point = lowest(up);
        at.gap = up.dot(at.point - top[0]);
        if (at.gap > margin) continue;
        prism.stand(top, bottom);
        if (!prism.within(margin, shape, pose)) continue;
        at.point = nearest_in(top, up, at.point - at.gap * up);
        // The field's own bottom and walls; sides between cells are none.
        const auto attempt = [&](const Vector3d& n, double gap) {
          if (gap <= at.gap) return false;
          at.gap = gap, at.normal = n, at.point = lowest(n) - gap * n;
          return true;
        };
        if (attempt(-Vector3d::UnitZ(), bottom - high.z())) {
          std::array<Vector3d, 3> base{top[0], top[2], top[1]};
          for (Vector3d& x : base) x.z() = bottom;
          at.point = nearest_in(base, at.normal, at.point);
        }
        const auto wall = [&](const Vector3d& n, double gap, const Vector3d& a, const Vector3d& b) {
          if (!attempt(n, gap)) return;
          const Vector3d along = b - a;
          const double t =
              std::clamp(along.head<2>().dot((at.point - a).head<2>()) / along.head<2>().squaredNorm(), 0.0, 1.0);
          const Vector3d brink = a + t * along;
          at.point = {brink.x(), brink.y(), std::clamp(at.point.z(), bottom, std::max(bottom, brink.z()))};
        };
        if (!second && i == 0) wall(-Vector3d::UnitX(), xs[0] - high.x(), top[0], top[1]);
        if (!second && j == 0) wall(Vector3d::UnitY(), low.y() - ys[0], top[0], top[2]);
        if (second && i == columns - 1) wall(Vector3d::UnitX(), low.x() - xs[columns], top[1], top[2]);
        if (second && j == rows - 1) wall(-Vector3d::UnitY(), ys[rows] - high.y(), top[0], top[1]);
        if (at.gap < best.gap) best = at;
      }
      if (best.gap <= margin) found(best);
    }
  }
}

}  // namespace

void height_field_patch(const Shape& shape, const Pose& pose, const Shape& field, const Pose& field_pose, double margin,
                        Patch& patch) {
  patch.count = 0;
  patch.second_is_reference = true;
  const Pose relative{field_pose.rotation.transpose() * pose.rotation,
                      field_pose.rotation.transpose() * (pose.translation - field_pose.translation)};
  const bool round = shape.kind <= Shape::Kind::capsule;
  Shape plane{.kind = Shape::Kind::half_space};
  bool level = true;  // all contacts lie in one plane
  const auto add = [&](const Touch& touch) {
    const Vector3d n = field_pose.rotation * touch.normal;
    const double offset = n.dot(field_pose * touch.point);
    if (patch.count == 0) plane.normal = n, plane.offset = offset;
    level = level && (n - plane.normal).norm() < 1e-6 && std::abs(offset - plane.offset) < 1e-7;
    patch.normal = n;  // a cell's: shapes do not lean on ridges
    // Of a round shape the nearest point is known; cells of one plane see the same.
    const Vector3d point = round ? Vector3d(pose * support(shape, pose.rotation.transpose() * -n) - 0.5 * touch.gap * n)
                                 : field_pose * Vector3d(touch.point + 0.5 * touch.gap * touch.normal);
    if (patch.count < Patch::capacity) {
      patch.add(point, touch.gap, PatchOrigin(PatchOrigin::Kind::vertex));
      return;
    }
    // More cells than fit: the deepest are kept.
    auto* most = std::max_element(patch.points.begin(), patch.points.end(),
                                  [](const Patch::Point& a, const Patch::Point& b) { return a.gap < b.gap; });
    if (touch.gap < most->gap) *most = {point, n, touch.gap, PatchOrigin(PatchOrigin::Kind::vertex)};
  };
  if (field.geometry->getNodeType() == coal::HF_AABB) {
    for_each_touch(shape, relative, static_cast<const coal::HeightField<coal::AABB>&>(*field.geometry), margin, add);
  } else {
    for_each_touch(shape, relative, static_cast<const coal::HeightField<coal::OBBRSS>&>(*field.geometry), margin, add);
  }
  // A shape that stands whole on level cells meets a half-space: its corners, not points inside its face.
  const Vector3d center = relative * shape.center;
  const auto& box = field.geometry->aabb_local;
  const double r = shape.radius;
  const bool inside =
      (center.head<2>() - box.min_.head<2>()).minCoeff() > r && (box.max_.head<2>() - center.head<2>()).minCoeff() > r;
  if (patch.count > 0 && level && inside && !round) half_space_patch(shape, pose, plane, Pose{}, margin, patch);
}

}  // namespace taut
