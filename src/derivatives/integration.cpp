#include "taut/derivatives/integration.hpp"

#include <pinocchio/spatial.hpp>

#include <string>

namespace taut {

namespace {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

}  // namespace

IntegrationDerivatives::IntegrationDerivatives(const pinocchio::Model& model) {
  for (int joint = 1; joint < model.njoints; ++joint) {
    const std::string kind = model.joints[joint].shortname();
    const int dof = model.idx_vs[joint];
    if (kind == "JointModelFreeFlyer") turns_.push_back({Kind::floating, dof, 6, {}, {}, {}});
    if (kind == "JointModelPlanar") turns_.push_back({Kind::planar, dof, 3, {}, {}, {}});
    if (kind == "JointModelSpherical") turns_.push_back({Kind::ball, dof, 3, {}, {}, {}});
  }
}

void IntegrationDerivatives::update(const ConstVectorRef& v_plus, double ahead) {
  ahead_ = ahead;
  for (Turn& turn : turns_) {
    turn.A.setZero(), turn.B.setZero(), turn.C.setZero();
    if (turn.kind == Kind::planar) {
      // The base goes straight on while its axes turn by E.
      const double angle = ahead * v_plus[turn.dof + 2];
      Matrix2d back;  // Eᵀ
      back << std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle);
      const Vector2d v = v_plus.segment<2>(turn.dof), carried = back * v;
      turn.A.topLeftCorner<2, 2>() = turn.C.topLeftCorner<2, 2>() = back;
      turn.A.block<2, 1>(0, 2) = ahead * back * Vector2d(-v.y(), v.x());
      turn.C.block<2, 1>(0, 2) = ahead * Vector2d(carried.y(), -carried.x());
      turn.A(2, 2) = turn.C(2, 2) = 1.0;
      turn.B.topLeftCorner<2, 2>() = ahead * back;
      turn.B(2, 2) = ahead;
      continue;
    }
    const bool floating = turn.kind == Kind::floating;
    const Vector3d angle = ahead * v_plus.segment<3>(turn.dof + (floating ? 3 : 0));
    const Matrix3d back = pinocchio::exp3(angle).transpose();
    Matrix3d slope;
    pinocchio::Jexp3(angle, slope);
    if (!floating) {
      turn.A.topLeftCorner<3, 3>() = back;
      turn.B.topLeftCorner<3, 3>() = ahead * slope;
      turn.C.topLeftCorner<3, 3>().setIdentity();
      continue;
    }
    const Vector3d v = v_plus.segment<3>(turn.dof), carried = back * v;
    turn.A.topLeftCorner<3, 3>() = turn.A.bottomRightCorner<3, 3>() = back;
    turn.A.topRightCorner<3, 3>() = -ahead * back * pinocchio::skew(v);
    turn.B.topLeftCorner<3, 3>() = ahead * back;
    turn.B.bottomRightCorner<3, 3>() = ahead * slope;
    turn.C.topLeftCorner<3, 3>() = back;
    turn.C.topRightCorner<3, 3>() = ahead * pinocchio::skew(carried) * slope;
    turn.C.bottomRightCorner<3, 3>().setIdentity();
  }
}

void IntegrationDerivatives::apply(Eigen::Ref<Eigen::MatrixXd> dq, Eigen::Ref<Eigen::MatrixXd> dv) const {
  // The blocks first: what just adds would overwrite what they read.
  int next = 0;
  const auto add = [&](int to) {
    if (to > next) dq.middleRows(next, to - next) += ahead_ * dv.middleRows(next, to - next);
  };
  for (const Turn& turn : turns_) {
    add(turn.dof);
    const int s = turn.size;
    auto q = dq.middleRows(turn.dof, s);
    auto v = dv.middleRows(turn.dof, s);
    q = (turn.A.topLeftCorner(s, s) * q + turn.B.topLeftCorner(s, s) * v).eval();
    v = (turn.C.topLeftCorner(s, s) * v).eval();
    next = turn.dof + s;
  }
  add(static_cast<int>(dq.rows()));
}

void IntegrationDerivatives::apply_transpose(VectorRef q_bar, VectorRef v_bar) const {
  int next = 0;
  const auto add = [&](int to) {
    if (to > next) v_bar.segment(next, to - next) += ahead_ * q_bar.segment(next, to - next);
  };
  for (const Turn& turn : turns_) {
    add(turn.dof);
    const int s = turn.size;
    auto q = q_bar.segment(turn.dof, s);
    auto v = v_bar.segment(turn.dof, s);
    v = (turn.C.topLeftCorner(s, s).transpose() * v + turn.B.topLeftCorner(s, s).transpose() * q).eval();
    q = (turn.A.topLeftCorner(s, s).transpose() * q).eval();
    next = turn.dof + s;
  }
  add(static_cast<int>(q_bar.size()));
}

}  // namespace taut
