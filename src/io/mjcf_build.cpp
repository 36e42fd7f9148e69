#include <Eigen/Geometry>
#include <limits>

#include "mjcf_spec.hpp"
#include "taut/math/interruption.hpp"

namespace taut::mjcf {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

pinocchio::JointModel joint_model(const Joint& joint) {
  const auto along = [&](int axis) { return joint.axis.isApprox(Vector3d::Unit(axis), 1e-14); };
  switch (joint.kind) {
    case Joint::Kind::free:
      return pinocchio::JointModelFreeFlyer();
    case Joint::Kind::ball:
      return pinocchio::JointModelSpherical();
    case Joint::Kind::hinge:
      if (along(0)) return pinocchio::JointModelRX();
      if (along(1)) return pinocchio::JointModelRY();
      if (along(2)) return pinocchio::JointModelRZ();
      return pinocchio::JointModelRevoluteUnaligned(joint.axis);
    case Joint::Kind::slide:
      if (along(0)) return pinocchio::JointModelPX();
      if (along(1)) return pinocchio::JointModelPY();
      if (along(2)) return pinocchio::JointModelPZ();
      return pinocchio::JointModelPrismaticUnaligned(joint.axis);
  }
  throw std::logic_error("mjcf: unknown kind of joint");
}

// In MuJoCo the body is drawn at q = ref; in Pinocchio the placement is that of q = 0.
SE3 back_from_reference(const Joint& joint) {
  if (joint.kind == Joint::Kind::hinge) {
    return {Eigen::AngleAxisd(-joint.reference, joint.axis).toRotationMatrix(), Vector3d::Zero()};
  }
  if (joint.kind == Joint::Kind::slide) return {Matrix3d::Identity(), -joint.reference * joint.axis};
  return SE3::Identity();
}

void set_dofs(const Joint& joint, pinocchio::Model& model) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const int v = model.idx_vs[joint.index], nv = model.nvs[joint.index], q = model.idx_qs[joint.index];
  model.armature.segment(v, nv).setConstant(joint.armature);
  model.damping.segment(v, nv).setConstant(joint.damping);
  model.upperDryFrictionLimit.segment(v, nv).setConstant(joint.dry_friction);
  model.lowerDryFrictionLimit.segment(v, nv).setConstant(-joint.dry_friction);
  model.upperVelocityLimit.segment(v, nv).setConstant(infinity);
  model.lowerVelocityLimit.segment(v, nv).setConstant(-infinity);
  model.upperEffortLimit.segment(v, nv).setConstant(joint.effort ? joint.effort->second : infinity);
  model.lowerEffortLimit.segment(v, nv).setConstant(joint.effort ? joint.effort->first : -infinity);
  const int nq = model.nqs[joint.index];
  const bool limited = joint.range && joint.kind != Joint::Kind::ball;  // a ball's range is an angle, not a coordinate
  model.lowerPositionLimit.segment(q, nq).setConstant(limited ? joint.range->first : -infinity);
  model.upperPositionLimit.segment(q, nq).setConstant(limited ? joint.range->second : infinity);
}

// Each joint turns or slides the body about its anchor, after the ones before it:
//   oM_body = oM_parent · placement · Π_i T(anchor_i) J_i(q_i − ref_i) T(−anchor_i)
void add_joints(Body& body, const Body& parent, pinocchio::Model& model) {
  body.joint_index = parent.joint_index;
  body.in_joint = parent.in_joint * body.placement;
  int frame = static_cast<int>(parent.frame_index);
  for (Joint& joint : body.joints) {
    const SE3 anchor(Matrix3d::Identity(), joint.anchor);
    const bool free = joint.kind == Joint::Kind::free;  // its q is the pose in the world, so it starts at the origin
    const SE3 placement = free ? SE3::Identity() : SE3(body.in_joint * anchor * back_from_reference(joint));
    if (model.nv + (free ? 6 : joint.kind == Joint::Kind::ball ? 3 : 1) > limits::kDofs) {
      throw std::invalid_argument(body.where + ": the model has more than " + std::to_string(limits::kDofs) +
                                  " degrees of freedom");
    }
    joint.index = model.addJoint(body.joint_index, joint_model(joint), placement, joint.name);
    frame = static_cast<int>(model.addJointFrame(joint.index, frame));
    set_dofs(joint, model);
    body.joint_index = joint.index;
    body.in_joint = free ? SE3::Identity() : anchor.inverse();
  }
  if (body.inertia.mass() > 0.0 || !body.inertia.inertia().matrix().isZero(0.0)) {
    model.appendBodyToJoint(body.joint_index, body.inertia, body.in_joint);
  }
  body.frame_index = model.addBodyFrame(body.name, body.joint_index, body.in_joint, frame);
}

// As in MuJoCo a body that moves has mass and inertia, its own or that of what is welded to it.
void check_masses(const Spec& spec, const pinocchio::Model& model) {
  for (const Body& body : spec.bodies) {
    if (body.joints.empty()) continue;
    const Inertia& inertia = model.inertias[body.joint_index];
    if (!(inertia.mass() > 1e-15) || !(inertia.inertia().matrix().trace() > 1e-15)) {
      throw std::invalid_argument(body.where + ": body '" + body.name + "' moves and has the mass " +
                                  std::to_string(inertia.mass()) + " and the inertia trace " +
                                  std::to_string(inertia.inertia().matrix().trace()) + ", both must be positive");
    }
  }
}

}  // namespace

void build_model(Spec& spec, Scene& scene) {
  pinocchio::Model& model = scene.model;
  model.name = spec.root.own().text("model", "MuJoCo Model");
  model.gravity.linear() = spec.option.gravity;
  for (std::size_t i = 1; i < spec.bodies.size(); ++i) {
    may_interrupt(static_cast<int>(i));
    add_joints(spec.bodies[i], spec.bodies[static_cast<std::size_t>(spec.bodies[i].parent)], model);
  }
  check_masses(spec, model);
  scene.fit_arrays();

  for (const Body& body : spec.bodies) {
    for (const Joint& joint : body.joints) {
      const int v = model.idx_vs[joint.index], q = model.idx_qs[joint.index];
      scene.stiffness.segment(v, model.nvs[joint.index]).setConstant(joint.stiffness);
      scene.spring_reference.segment(v, model.nvs[joint.index]).setConstant(joint.spring_reference);
      if (joint.kind == Joint::Kind::free) {
        scene.q0.segment<3>(q) = body.placement.translation();
        scene.q0.segment<4>(q + 3) = Eigen::Quaterniond(body.placement.rotation()).normalized().coeffs();
      } else if (joint.kind != Joint::Kind::ball) {
        scene.q0[q] = joint.reference;
      } else if (joint.range && joint.range->second < EIGEN_PI) {  // no rotation is larger than pi
        scene.ball_limits.push_back({static_cast<int>(joint.index), joint.range->second});
      }
    }
  }
}

void build_geometry(Spec& spec, Scene& scene) {
  const std::set<std::string> paired = paired_geoms(spec);
  // Touches nothing, and is no shape of ours.
  const auto left_out = [&](const Geom& geom) {
    return geom.contype == 0 && geom.conaffinity == 0 && !paired.contains(geom.name);
  };
  int shapes = 0;
  for (const Body& body : spec.bodies) {
    for (const Geom& geom : body.geoms) {
      if (!left_out(geom) && ++shapes > limits::kShapes) {
        throw std::invalid_argument(geom.where + ": the model has more than " + std::to_string(limits::kShapes) +
                                    " shapes that collide");
      }
    }
  }
  int meshes = 0;
  for (const Body& body : spec.bodies) {
    for (const Geom& geom : body.geoms) {
      may_interrupt(100);
      if (left_out(geom)) continue;
      const auto shape = make_shape(geom, spec.assets);
      if (!shape) continue;
      shape->computeLocalAABB();
      if (geom.kind == Geom::Kind::mesh) {
        ++meshes;
        if (spec.assets.meshes.at(geom.asset).is_plate) {
          scene.warn("mjcf: the mesh '" + geom.asset + "' is flat and collides as a thin plate");
        }
      }
      scene.geometry.addGeometryObject(pinocchio::GeometryObject(geom.name, body.joint_index, body.frame_index,
                                                                 body.in_joint * geom.placement, shape));
      scene.surfaces.push_back(geom.surface);
    }
  }
  if (meshes > 0) scene.warn("mjcf: " + std::to_string(meshes) + " meshes are replaced by their convex hulls");
  scene.fit_arrays();
}

}  // namespace taut::mjcf
