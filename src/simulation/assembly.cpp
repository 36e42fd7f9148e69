#include "taut/simulation/assembly.hpp"

#include <pinocchio/algorithm/joint-configuration.hpp>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "taut/dynamics/kinematics.hpp"
#include "taut/math/interruption.hpp"

namespace taut {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

int closure_rows(const Scene& scene) {
  int rows = static_cast<int>(scene.couplings.size());
  for (const Loop& loop : scene.loops) rows += rows_of(loop.kind).size();
  return rows;
}

// Of one scene, asked for many configurations.
class Closure {
 public:
  explicit Closure(const Scene& scene) : scene_(scene), oM_(scene.model) {}

  void look(const ConstVectorRef& q) {
    q_ = q;
    oM_.update(scene_.model, q);
  }

  VectorXd error() const {
    VectorXd error(closure_rows(scene_));
    int row = 0;
    for (const Loop& loop : scene_.loops) {
      const LoopVector part = loop_error(loop, oM_[loop.joint_1], oM_[loop.joint_2]);
      error.segment(row, part.size()) = part;
      row += static_cast<int>(part.size());
    }
    for (const Coupling& coupling : scene_.couplings) error[row++] = coupling_error(coupling, scene_.model, q_);
    return error;
  }

  MatrixXd jacobian() const {
    const auto& model = scene_.model;
    MatrixXd J = MatrixXd::Zero(closure_rows(scene_), model.nv);
    int row = 0;
    for (const Loop& loop : scene_.loops) {
      const LoopMatrix W = loop_wrenches(loop, oM_[loop.joint_1], oM_[loop.joint_2]);
      for (const auto& [joint, sign] : {std::pair(loop.joint_2, 1.0), std::pair(loop.joint_1, -1.0)}) {
        for (const auto ancestor : model.supports[static_cast<std::size_t>(joint)]) {
          if (ancestor == 0) continue;
          J.block(row, model.idx_vs[ancestor], W.rows(), model.nvs[ancestor]) +=
              sign * W * oM_.columns(static_cast<int>(ancestor));
        }
      }
      row += static_cast<int>(W.rows());
    }
    for (const Coupling& coupling : scene_.couplings) {
      J(row, model.idx_vs[coupling.joint_1]) = 1.0;
      if (coupling.joint_2 != 0) J(row, model.idx_vs[coupling.joint_2]) = coupling_slope(coupling, model, q_);
      ++row;
    }
    return J;
  }

  LoopGap gap(const Loop& loop) const { return loop_gap(loop, oM_[loop.joint_1], oM_[loop.joint_2]); }

 private:
  const Scene& scene_;
  Kinematics oM_;
  VectorXd q_;
};

// Coordinates whose rate is a velocity go back into their limits; ball joints, bases and what is fixed are left alone.
void clamp(const pinocchio::Model& model, const std::vector<int>& fixed, VectorXd& q) {
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (model.nqs[joint] != model.nvs[joint] || std::find(fixed.begin(), fixed.end(), joint) != fixed.end()) continue;
    for (int k = model.idx_qs[joint]; k < model.idx_qs[joint] + model.nqs[joint]; ++k) {
      q[k] = std::clamp(q[k], model.lowerPositionLimit[k], model.upperPositionLimit[k]);
    }
  }
}

[[noreturn]] void cannot_close(const Scene& scene, Closure& closure, const VectorXd& q) {
  closure.look(q);
  std::string worst = "?";
  double most = -1.0;
  char text[160];
  for (const Loop& loop : scene.loops) {
    const LoopGap gap = closure.gap(loop);
    if (gap.linear + gap.angular <= most) continue;
    most = gap.linear + gap.angular;
    std::snprintf(text, sizeof text, "loop '%s' (%s) stays open by %.3g m and %.3g rad", loop.name.c_str(),
                  to_string(loop.kind), gap.linear, gap.angular);
    worst = text;
  }
  for (const Coupling& coupling : scene.couplings) {
    const double error = std::abs(coupling_error(coupling, scene.model, q));
    if (error <= most) continue;
    most = error;
    std::snprintf(text, sizeof text, "coupling '%s' stays open by %.3g", coupling.name.c_str(), error);
    worst = text;
  }
  throw std::invalid_argument("assemble: " + worst + "; the closures contradict each other or are out of reach");
}

}  // namespace

std::vector<LoopGap> loop_gaps(const Scene& scene, const ConstVectorRef& q) {
  Closure closure(scene);
  closure.look(q);
  std::vector<LoopGap> gaps;
  for (const Loop& loop : scene.loops) gaps.push_back(closure.gap(loop));
  return gaps;
}

VectorXd closure_error(const Scene& scene, const ConstVectorRef& q) {
  Closure closure(scene);
  closure.look(q);
  return closure.error();
}

MatrixXd closure_jacobian(const Scene& scene, const ConstVectorRef& q) {
  Closure closure(scene);
  closure.look(q);
  return closure.jacobian();
}

LoopGap limit_excess(const Scene& scene, const ConstVectorRef& q) {
  const auto& model = scene.model;
  LoopGap worst;
  if (!q.allFinite()) return {std::nan(""), std::nan("")};
  Kinematics oM(model);
  oM.update(model, q);
  for (const JointRow& row : joint_rows(model, scene.ball_limits)) {
    if (row.kind == JointRow::Kind::dry_friction) continue;
    // What moves without turning slides; a helix turns.
    const bool turns = row.kind == JointRow::Kind::ball_limit ||
                       !oM.columns(row.joint).col(row.dof - model.idx_vs[row.joint]).tail<3>().isZero(1e-12);
    double& excess = turns ? worst.angular : worst.linear;
    excess = std::max(excess, -limit_gap(model, row, q));
  }
  return worst;
}

VectorXd assemble(const Scene& scene, const ConstVectorRef& start, const AssemblyOptions& options) {
  const auto& model = scene.model;
  if (start.size() != model.nq) {
    throw std::invalid_argument("assemble: q has " + std::to_string(start.size()) + " entries, expected " +
                                std::to_string(model.nq));
  }
  if (!start.allFinite()) throw std::invalid_argument("assemble: q is not finite");
  VectorXd free = VectorXd::Ones(model.nv);
  for (const int joint : options.fixed) {
    if (joint < 1 || joint >= model.njoints) {
      throw std::invalid_argument("assemble: joint " + std::to_string(joint) + " does not exist");
    }
    free.segment(model.idx_vs[joint], model.nvs[joint]).setZero();
  }

  Closure closure(scene);
  VectorXd q = start;
  pinocchio::normalize(model, VectorXd::Map(q.data(), q.size()));
  clamp(model, options.fixed, q);
  closure.look(q);
  VectorXd error = closure.error();
  double damping = 1e-6;
  for (int i = 0; i < options.max_iterations && error.size() > 0; ++i) {
    may_interrupt(model.nv);
    if (error.lpNorm<Eigen::Infinity>() <= options.tolerance) break;
    closure.look(q);
    const MatrixXd J = closure.jacobian() * free.asDiagonal();
    MatrixXd JJ = J * J.transpose();
    JJ.diagonal().array() += damping * (1e-3 + JJ.diagonal().maxCoeff());
    // The shortest step; half a metre or half a turn at a time.
    VectorXd step = -J.transpose() * JJ.ldlt().solve(error);
    step *= std::min(1.0, 0.5 / std::max(1e-12, step.lpNorm<Eigen::Infinity>()));
    VectorXd trial(model.nq);
    pinocchio::integrate(model, ConstVectorRef(q), ConstVectorRef(step), VectorRef(trial));
    clamp(model, options.fixed, trial);
    closure.look(trial);
    const VectorXd at_trial = closure.error();
    if (at_trial.norm() < error.norm()) {
      q = trial;
      error = at_trial;
      damping = std::max(1e-12, 0.1 * damping);
    } else if ((damping *= 10.0) > 1e6) {
      break;
    }
  }
  closure.look(q);
  const bool closed = std::all_of(scene.loops.begin(), scene.loops.end(), [&](const Loop& loop) {
    const LoopGap gap = closure.gap(loop);
    return std::max(gap.linear, gap.angular) <= 10.0 * options.tolerance;  // a hinge turned over is not closed
  });
  if (!closed || !(error.size() == 0 || error.lpNorm<Eigen::Infinity>() <= options.tolerance)) {
    cannot_close(scene, closure, q);
  }
  return q;
}

}  // namespace taut
