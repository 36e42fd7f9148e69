#include "taut/derivatives/integration.hpp"

#include <pinocchio/spatial.hpp>

#include <string>
#include <type_traits>

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

namespace {

// Calls f with the size of a joint's block, known to the compiler.
template <typename F>
void with_size(int size, F&& f) {
  if (size == 6) return f(std::integral_constant<int, 6>());
  f(std::integral_constant<int, 3>());
}

}  // namespace

void IntegrationDerivatives::apply(Eigen::Ref<Eigen::MatrixXd> dq, Eigen::Ref<Eigen::MatrixXd> dv) const {
  // The blocks first: what just adds would overwrite what they read.
  int next = 0;
  const auto add = [&](int to) {
    if (to > next) dq.middleRows(next, to - next) += ahead_ * dv.middleRows(next, to - next);
  };
  for (const Turn& turn : turns_) {
    add(turn.dof);
    with_size(turn.size, [&](auto size) {
      constexpr int s = size;
      for (Eigen::Index c = 0; c < dq.cols(); ++c) {
        auto q = dq.col(c).template segment<s>(turn.dof);
        auto v = dv.col(c).template segment<s>(turn.dof);
        const Eigen::Matrix<double, s, 1> q_old = q, v_old = v;
        q.noalias() = turn.A.template topLeftCorner<s, s>() * q_old;
        q.noalias() += turn.B.template topLeftCorner<s, s>() * v_old;
        v.noalias() = turn.C.template topLeftCorner<s, s>() * v_old;
      }
    });
    next = turn.dof + turn.size;
  }
  add(static_cast<int>(dq.rows()));
}

void IntegrationDerivatives::begin(Eigen::MatrixXd& dq, Eigen::MatrixXd& dv) const {
  dq = ahead_ * dv;
  for (const Turn& turn : turns_) {
    with_size(turn.size, [&](auto size) {
      constexpr int s = size;
      for (Eigen::Index c = 0; c < dq.cols(); ++c) {
        auto v = dv.col(c).template segment<s>(turn.dof);
        const Eigen::Matrix<double, s, 1> v_old = v;
        dq.col(c).template segment<s>(turn.dof).noalias() = turn.B.template topLeftCorner<s, s>() * v_old;
        v.noalias() = turn.C.template topLeftCorner<s, s>() * v_old;
      }
    });
  }
}

void IntegrationDerivatives::precede(Eigen::Ref<Eigen::MatrixXd> of_q, Eigen::Ref<Eigen::MatrixXd> of_v) const {
  int next = 0;
  const auto add = [&](int to) {
    if (to > next) of_v.middleCols(next, to - next) += ahead_ * of_q.middleCols(next, to - next);
  };
  for (const Turn& turn : turns_) {
    add(turn.dof);
    const int s = turn.size;
    auto q = of_q.middleCols(turn.dof, s);
    auto v = of_v.middleCols(turn.dof, s);
    v = (v * turn.C.topLeftCorner(s, s) + q * turn.B.topLeftCorner(s, s)).eval();
    q = (q * turn.A.topLeftCorner(s, s)).eval();
    next = turn.dof + s;
  }
  add(static_cast<int>(of_q.cols()));
}

void IntegrationDerivatives::apply_transpose(VectorRef q_bar, VectorRef v_bar) const {
  int next = 0;
  const auto add = [&](int to) {
    if (to > next) v_bar.segment(next, to - next) += ahead_ * q_bar.segment(next, to - next);
  };
  for (const Turn& turn : turns_) {
    add(turn.dof);
    with_size(turn.size, [&](auto size) {
      constexpr int s = size;
      auto q = q_bar.template segment<s>(turn.dof);
      auto v = v_bar.template segment<s>(turn.dof);
      const Eigen::Matrix<double, s, 1> q_old = q, v_old = v;
      v.noalias() = turn.C.template topLeftCorner<s, s>().transpose() * v_old;
      v.noalias() += turn.B.template topLeftCorner<s, s>().transpose() * q_old;
      q.noalias() = turn.A.template topLeftCorner<s, s>().transpose() * q_old;
    });
    next = turn.dof + turn.size;
  }
  add(static_cast<int>(q_bar.size()));
}

}  // namespace taut
