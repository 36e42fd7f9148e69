#include "floor.hpp"

#include <coal/narrowphase/support_functions.h>
#include <coal/shape/geometric_shapes.h>
#include <pinocchio/algorithm/kinematics.hpp>

#include <algorithm>
#include <limits>

namespace taut::io {

using Eigen::Vector3d;

void override_friction(Scene& scene, std::optional<double> mu) {
  if (!mu) return;
  if (!(*mu >= 0.0) || !std::isfinite(*mu)) {
    throw std::invalid_argument("load: friction is " + std::to_string(*mu) + ", it must be non-negative");
  }
  for (Surface& surface : scene.surfaces) surface.friction = *mu;
  for (auto& [_, coefficient] : scene.pair_friction) {
    if (coefficient > 0.0) coefficient = *mu;
  }
}

void add_floor_once(Scene& scene, std::optional<double> mu) {
  for (const auto& object : scene.geometry.geometryObjects) {
    const auto* plane = dynamic_cast<const coal::Halfspace*>(object.geometry.get());
    if (!plane || object.parentJoint != 0) continue;
    const Vector3d normal = object.placement.rotation() * plane->n;
    const double height = plane->d + normal.dot(object.placement.translation());
    if (normal.isApprox(Vector3d::UnitZ(), 1e-12) && std::abs(height) < 1e-12) return;
  }
  Surface surface;
  if (mu) surface.friction = *mu;
  add_floor(scene, 0.0, surface);
}

double lowest_point(const Scene& scene, const Eigen::VectorXd& q) {
  pinocchio::Data data(scene.model);
  pinocchio::forwardKinematics(scene.model, data, Eigen::Ref<const Eigen::VectorXd>(q));
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& object : scene.geometry.geometryObjects) {
    if (object.parentJoint == 0) continue;
    const pinocchio::SE3 oMg = data.oMi[object.parentJoint] * object.placement;
    const auto* shape = dynamic_cast<const coal::ShapeBase*>(object.geometry.get());
    if (shape) {
      int hint = 0;
      const Vector3d down = oMg.rotation().transpose() * -Vector3d::UnitZ();
      const Vector3d point =
          coal::details::getSupport<coal::details::SupportOptions::WithSweptSphere>(shape, down, hint);
      lowest = std::min(lowest, oMg.act(point).z());
    } else {  // a mesh that was left as it is: its box, which is below it or touches it
      const coal::AABB& box = object.geometry->aabb_local;
      const Vector3d center = oMg.act(Vector3d(box.center()));
      const Vector3d half = 0.5 * (box.max_ - box.min_);
      lowest = std::min(lowest, center.z() - oMg.rotation().row(2).cwiseAbs().dot(half));
    }
  }
  return lowest;
}

}  // namespace taut::io
