#pragma once

#include <pinocchio/geometry.hpp>
#include <pinocchio/multibody.hpp>

#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "taut/simulation/scene.hpp"

/// Scenes and shapes built in code, shared by the tests of everything that sees a robot.
namespace taut::testing {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using pinocchio::Inertia;
using pinocchio::Motion;
using pinocchio::SE3;

inline constexpr double kGravity = 9.81;

inline SE3 at(double x, double y, double z) { return {Matrix3d::Identity(), Vector3d(x, y, z)}; }

inline SE3 at(const Vector3d& x, const Vector3d& axis, double angle) {
  return {Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix(), x};
}

inline Vector3d random_vector(std::mt19937& rng, double size) {
  std::uniform_real_distribution<double> uniform(-size, size);
  return {uniform(rng), uniform(rng), uniform(rng)};
}

inline Vector3d random_direction(std::mt19937& rng) {
  std::normal_distribution<double> normal;
  return Vector3d(normal(rng), normal(rng), normal(rng)).normalized();
}

inline Matrix3d random_rotation(std::mt19937& rng) {
  std::normal_distribution<double> normal;
  return Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng)).normalized().toRotationMatrix();
}

inline std::shared_ptr<coal::ConvexBase> hull(const std::vector<Vector3d>& vertices) {
  auto points = std::make_shared<std::vector<coal::Vec3s>>(vertices.begin(), vertices.end());
  const auto count = static_cast<unsigned int>(points->size());
  return std::shared_ptr<coal::ConvexBase>(coal::ConvexBase::convexHull(points, count, true, "Qt"));
}

/// A regular prism along z, as a mesh; three sides make a wedge.
inline std::shared_ptr<coal::ConvexBase> prism(int sides, double radius, double half_height) {
  std::vector<Vector3d> vertices;
  for (int k = 0; k < sides; ++k) {
    const double angle = 2.0 * M_PI * k / sides;
    for (const double z : {-half_height, half_height}) {
      vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle), z);
    }
  }
  return hull(vertices);
}

inline std::shared_ptr<coal::CollisionGeometry> box(double x, double y, double z) {
  return std::make_shared<coal::Box>(x, y, z);
}

inline Inertia box_inertia(double mass, const Vector3d& sides) {
  return Inertia::FromBox(mass, sides.x(), sides.y(), sides.z());
}

/// A free box of the given mass and sides.
inline pinocchio::JointIndex add_box(Scene& scene, const std::string& name, double mass, const Vector3d& sides,
                                     const SE3& placement, double mu = 0.8) {
  const auto joint = add_free_body(scene, name, box_inertia(mass, sides), placement);
  add_shape(scene, joint, name, box(sides.x(), sides.y(), sides.z()), SE3::Identity(), {.friction = mu});
  return joint;
}

inline pinocchio::JointIndex add_ball(Scene& scene, const std::string& name, double mass, double radius,
                                      const SE3& placement, double mu = 0.8) {
  const auto joint = add_free_body(scene, name, Inertia::FromSphere(mass, radius), placement);
  add_shape(scene, joint, name, std::make_shared<coal::Sphere>(radius), SE3::Identity(), {.friction = mu});
  return joint;
}

/// A cube of side 0.1 m and 1 kg on the floor, touching it exactly.
inline Scene cube_on_plane(double mu, double height = 0.05) {
  Scene scene;
  add_floor(scene, 0.0, {.friction = mu});
  add_box(scene, "cube", 1.0, Vector3d::Constant(0.1), at(0.0, 0.0, height), mu);
  return scene;
}

/// Cubes of side 0.1 m one upon the other, the lowest on the floor.
inline Scene stack(const std::vector<double>& masses, double mu = 0.8) {
  Scene scene;
  add_floor(scene, 0.0, {.friction = mu});
  for (std::size_t i = 0; i < masses.size(); ++i) {
    add_box(scene, "cube" + std::to_string(i), masses[i], Vector3d::Constant(0.1),
            at(0.0, 0.0, 0.05 + 0.1 * static_cast<double>(i)), mu);
  }
  return scene;
}

/// A body with nothing around it.
inline Scene lonely_body(const Inertia& inertia, double gravity) {
  Scene scene;
  add_free_body(scene, "body", inertia, SE3::Identity());
  scene.model.gravity.linear() = Vector3d(0.0, 0.0, -gravity);
  return scene;
}

/// A mass on a vertical slide (z up) or, turned, a mass at the end of a rod: one degree of freedom.
inline Scene slider(double mass) {
  Scene scene;
  const auto joint = scene.model.addJoint(0, pinocchio::JointModelPZ(), SE3::Identity(), "slide");
  scene.model.appendBodyToJoint(joint, Inertia::FromSphere(mass, 0.1), SE3::Identity());
  scene.fit_arrays();
  return scene;
}

/// A point mass on a rod along x that turns about y: gravity pulls q up, by m g l cos q.
inline Scene pendulum(double mass, double length) {
  Scene scene;
  const auto joint = scene.model.addJoint(0, pinocchio::JointModelRY(), SE3::Identity(), "hinge");
  scene.model.appendBodyToJoint(joint, Inertia(mass, Vector3d(length, 0.0, 0.0), pinocchio::Symmetric3::Zero()),
                                SE3::Identity());
  scene.fit_arrays();
  return scene;
}

/// Four legs with two hinges each and round feet, standing on the floor. The pose to hold is q0.
inline Scene quadruped() {
  Scene scene;
  add_floor(scene, 0.0, {.friction = 0.8});
  auto& model = scene.model;
  const double hip_angle = 0.7, knee_angle = -1.4, thigh = 0.2, shin = 0.2, foot = 0.02;
  const Vector3d trunk(0.5, 0.3, 0.1);
  const double height = thigh * std::cos(hip_angle) + shin * std::cos(hip_angle + knee_angle) + foot;
  const auto base = add_free_body(scene, "base", box_inertia(8.0, trunk), at(0.0, 0.0, height));
  std::vector<pinocchio::JointIndex> shins;
  for (int leg = 0; leg < 4; ++leg) {
    const std::string name = "leg" + std::to_string(leg);
    const SE3 hip = at(leg & 1 ? 0.2 : -0.2, leg & 2 ? 0.15 : -0.15, 0.0);
    const auto upper = model.addJoint(base, pinocchio::JointModelRY(), hip, name + "_hip");
    const auto lower = model.addJoint(upper, pinocchio::JointModelRY(), at(0.0, 0.0, -thigh), name + "_knee");
    model.appendBodyToJoint(upper, box_inertia(0.8, {0.04, 0.04, thigh}), at(0.0, 0.0, -0.5 * thigh));
    model.appendBodyToJoint(lower, box_inertia(0.2, {0.03, 0.03, shin}), at(0.0, 0.0, -0.5 * shin));
    shins.push_back(lower);
  }
  scene.fit_arrays();
  for (int leg = 0; leg < 4; ++leg) {
    scene.q0[7 + 2 * leg] = hip_angle;
    scene.q0[8 + 2 * leg] = knee_angle;
    add_shape(scene, shins[static_cast<std::size_t>(leg)], "foot" + std::to_string(leg),
              std::make_shared<coal::Sphere>(foot), at(0.0, 0.0, -shin));
  }
  add_shape(scene, base, "trunk", box(trunk.x(), trunk.y(), trunk.z()), SE3::Identity());
  return scene;
}

/// A tree with every kind of joint that matters: floating base, hinges along and across the axes, slide, ball, wheel.
inline pinocchio::Model random_tree(std::mt19937& rng) {
  pinocchio::Model model;
  const auto place = [&] { return SE3(random_rotation(rng), random_vector(rng, 0.3)); };
  const auto add = [&](pinocchio::JointIndex parent, const pinocchio::JointModel& kind) {
    const auto joint = model.addJoint(parent, kind, place(), "joint" + std::to_string(model.njoints));
    model.appendBodyToJoint(joint, Inertia::FromBox(1.0 + 0.1 * model.njoints, 0.2, 0.3, 0.1), place());
    return joint;
  };
  const auto base = add(0, pinocchio::JointModelFreeFlyer());
  auto arm = add(base, pinocchio::JointModelRX());
  arm = add(arm, pinocchio::JointModelRevoluteUnaligned(random_direction(rng)));
  add(add(arm, pinocchio::JointModelPZ()), pinocchio::JointModelRZ());
  auto leg = add(base, pinocchio::JointModelSpherical());
  leg = add(leg, pinocchio::JointModelRY());
  add(leg, pinocchio::JointModelRUBX());
  add(add(0, pinocchio::JointModelPlanar()), pinocchio::JointModelRZ());  // a second tree
  return model;
}

}  // namespace taut::testing
