#pragma once

#include <pinocchio/geometry.hpp>
#include <pinocchio/multibody.hpp>

#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "taut/collision/detector.hpp"
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

/// A chain of `n` bars hinged to each other and, at its first, to the world, every bar free and every hinge a closure.
/// Closed, its last bar hangs on the world too, so that all out-of-plane rows of one hinge are redundant.
inline Scene hinged_chain(int n, bool closed, bool floor) {
  Scene scene;
  if (floor) add_floor(scene, -0.12);
  const double length = 0.2;
  for (int k = 0; k < n; ++k) {
    // A regular polygon with n + 1 sides, the missing one on the world.
    const double turn = 2.0 * M_PI / (n + 1), radius = 0.5 * length / std::sin(0.5 * turn), angle = turn * (k + 1);
    const Vector3d center(radius * std::cos(0.5 * turn) * std::cos(angle), 0.0,
                          radius * std::cos(0.5 * turn) * std::sin(angle) + 0.3);
    const auto joint =
        add_box(scene, "bar" + std::to_string(k), 0.5, {0.03, 0.03, length}, at(center, Vector3d::UnitY(), -angle));
    Loop hinge{.name = "hinge" + std::to_string(k), .kind = Loop::Kind::hinge};
    const SE3 axis(Eigen::AngleAxisd(-0.5 * M_PI, Vector3d::UnitX()).toRotationMatrix(), Vector3d::Zero());
    hinge.joint_1 = k == 0 ? 0 : static_cast<int>(joint) - 1;
    hinge.joint_2 = static_cast<int>(joint);
    const SE3 end = at(center, Vector3d::UnitY(), -angle) * at(0.0, 0.0, -0.5 * length) * axis;
    const auto placed = [&](int body) {
      if (body == 0) return end;
      const auto q = scene.q0.segment<7>(7 * (body - 1));
      return SE3(Eigen::Quaterniond(Eigen::Vector4d(q.tail<4>())), Vector3d(q.head<3>())).actInv(end);
    };
    hinge.placement_1 = placed(hinge.joint_1);
    hinge.placement_2 = placed(hinge.joint_2);
    add_loop(scene, hinge);
    if (closed && k == n - 1) {
      const SE3 tip = at(center, Vector3d::UnitY(), -angle) * at(0.0, 0.0, 0.5 * length) * axis;
      Loop last{.name = "last", .kind = Loop::Kind::hinge, .joint_2 = static_cast<int>(joint)};
      last.placement_1 = tip;
      last.placement_2 = at(center, Vector3d::UnitY(), -angle).actInv(tip);
      add_loop(scene, last);
    }
  }
  std::erase_if(scene.geometry.collisionPairs, [&](const auto& pair) {  // bars pass through each other
    return scene.geometry.geometryObjects[pair.first].parentJoint != 0;
  });
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

/// A bounded shape with its support function h(d) = max d·x written down a second time.
struct Solid {
  std::string name;
  std::shared_ptr<coal::CollisionGeometry> geometry;
  std::function<double(const Vector3d&)> height;
};

inline Solid mesh_solid(const std::string& name, const std::shared_ptr<coal::ConvexBase>& mesh) {
  return {name, mesh, [points = mesh->points](const Vector3d& d) {
            double best = -HUGE_VAL;
            for (const Vector3d& x : *points) best = std::max(best, d.dot(x));
            return best;
          }};
}

inline Solid box_solid(const Vector3d& sides) {
  return {"box", box(sides.x(), sides.y(), sides.z()),
          [sides](const Vector3d& d) { return 0.5 * sides.dot(d.cwiseAbs()); }};
}

/// One of each kind; `scale` makes a second set that is not made of twins.
inline std::vector<Solid> solids(double scale = 1.0) {
  const double r = 0.07 * scale, h = 0.06 * scale;
  const Vector3d radii = scale * Vector3d(0.05, 0.08, 0.11);
  return {
      {"sphere", std::make_shared<coal::Sphere>(r), [=](const Vector3d& d) { return r * d.norm(); }},
      box_solid(scale * Vector3d(0.1, 0.14, 0.2)),
      {"capsule", std::make_shared<coal::Capsule>(r, 2.0 * h),
       [=](const Vector3d& d) { return r * d.norm() + h * std::abs(d.z()); }},
      {"cylinder", std::make_shared<coal::Cylinder>(r, 2.0 * h),
       [=](const Vector3d& d) { return r * d.head<2>().norm() + h * std::abs(d.z()); }},
      {"ellipsoid", std::make_shared<coal::Ellipsoid>(radii),
       [=](const Vector3d& d) { return radii.cwiseProduct(d).norm(); }},
      {"cone", std::make_shared<coal::Cone>(r, 2.0 * h),
       [=](const Vector3d& d) { return std::max(h * d.z(), r * d.head<2>().norm() - h * d.z()); }},
      mesh_solid("mesh", prism(5, r, h)),
  };
}

/// How far n (to the first) separates two solids: a lower bound of their signed distance, its value for the best n.
inline double separation(const Solid& first, const SE3& oM1, const Solid& second, const SE3& oM2, const Vector3d& n) {
  return n.dot(oM1.translation() - oM2.translation()) - first.height(oM1.rotation().transpose() * -n) -
         second.height(oM2.rotation().transpose() * n);
}

/// Two shapes on bodies 1 and 2 (or one of them on the world), in either order, and a detector for them.
struct Couple {
  Couple(std::shared_ptr<coal::CollisionGeometry> first, std::shared_ptr<coal::CollisionGeometry> second,
         pinocchio::JointIndex second_body = 2, bool swapped = false)
      : geometry(make(first, second, second_body, swapped)), detector(geometry), memory(detector.memory()) {}

  static pinocchio::GeometryModel make(const std::shared_ptr<coal::CollisionGeometry>& first,
                                       const std::shared_ptr<coal::CollisionGeometry>& second,
                                       pinocchio::JointIndex second_body, bool swapped) {
    pinocchio::GeometryModel model;
    const pinocchio::GeometryObject a("first", 1, SE3::Identity(), first);
    const pinocchio::GeometryObject b("second", second_body, SE3::Identity(), second);
    model.addGeometryObject(swapped ? b : a);
    model.addGeometryObject(swapped ? a : b);
    model.addCollisionPair({0, 1});
    return model;
  }

  /// Contacts of body 1 at oM1 and, unless the second shape is the world's, body 2 at oM2.
  const std::vector<Contact>& detect(const SE3& oM1, const SE3& oM2, double margin, const Motion& v1 = Motion::Zero(),
                                     double dt = 1e-3) {
    const std::vector<SE3> oMi{SE3::Identity(), oM1, oM2};
    const std::vector<Motion> velocity{Motion::Zero(), v1, Motion::Zero()};
    for (auto& object : geometry.geometryObjects) {
      if (object.parentJoint == 0) object.placement = oM2;
    }
    detector.detect(geometry, oMi, velocity, dt, margin, memory, contacts);
    return contacts;
  }

  /// The same with nothing remembered.
  const std::vector<Contact>& detect_afresh(const SE3& oM1, const SE3& oM2, double margin) {
    memory = detector.memory();
    return detect(oM1, oM2, margin);
  }

  double deepest() const {
    double gap = HUGE_VAL;
    for (const Contact& contact : contacts) gap = std::min(gap, contact.gap);
    return gap;
  }

  pinocchio::GeometryModel geometry;
  CollisionDetector detector;
  CollisionMemory memory;
  std::vector<Contact> contacts;
};

}  // namespace taut::testing
