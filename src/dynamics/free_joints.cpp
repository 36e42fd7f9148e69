#include "taut/dynamics/free_joints.hpp"

#include <Eigen/Geometry>

namespace taut {

using Eigen::Vector2d;
using Eigen::Vector3d;

FreeJoints::FreeJoints(const pinocchio::Model& model) {
  for (int joint = 1; joint < model.njoints; ++joint) {
    const std::string kind = model.joints[joint].shortname();
    const bool planar = kind == "JointModelPlanar";
    if (planar || kind == "JointModelFreeFlyer") joints_.push_back({model.idx_qs[joint], model.idx_vs[joint], planar});
  }
}

void FreeJoints::hold_axes(const ConstVectorRef& v, double dt, VectorRef v_free) const {
  for (const Joint& joint : joints_) {
    if (joint.planar) {
      const double w = v[joint.v + 2];
      v_free[joint.v] -= dt * w * v[joint.v + 1];
      v_free[joint.v + 1] += dt * w * v[joint.v];
    } else {
      const Vector3d linear = v.segment<3>(joint.v), angular = v.segment<3>(joint.v + 3);
      v_free.segment<3>(joint.v) += dt * angular.cross(linear);
    }
  }
}

void FreeJoints::advance(const ConstVectorRef& q, double dt, VectorRef q_next, VectorRef v) const {
  for (const Joint& joint : joints_) {
    if (joint.planar) {
      const double c = q[joint.q + 2], s = q[joint.q + 3];
      const Vector2d world(c * v[joint.v] - s * v[joint.v + 1], s * v[joint.v] + c * v[joint.v + 1]);
      q_next.segment<2>(joint.q) = q.segment<2>(joint.q) + dt * world;
    } else {
      const Eigen::Quaterniond turn(q.segment<4>(joint.q + 3).data());
      const Vector3d world = turn * Vector3d(v.segment<3>(joint.v));
      q_next.segment<3>(joint.q) = q.segment<3>(joint.q) + dt * world;
    }
  }
  turn(q, q_next, v);
}

void FreeJoints::turn(const ConstVectorRef& q, const ConstVectorRef& q_to, VectorRef v) const {
  for (const Joint& joint : joints_) {
    if (joint.planar) {
      const double c = q[joint.q + 2], s = q[joint.q + 3], c_to = q_to[joint.q + 2], s_to = q_to[joint.q + 3];
      const Vector2d world(c * v[joint.v] - s * v[joint.v + 1], s * v[joint.v] + c * v[joint.v + 1]);
      v[joint.v] = c_to * world.x() + s_to * world.y();
      v[joint.v + 1] = -s_to * world.x() + c_to * world.y();
    } else {
      const Eigen::Quaterniond from(q.segment<4>(joint.q + 3).data()), to(q_to.segment<4>(joint.q + 3).data());
      const Vector3d world = from * Vector3d(v.segment<3>(joint.v));
      v.segment<3>(joint.v) = to.conjugate() * world;
    }
  }
}

}  // namespace taut
