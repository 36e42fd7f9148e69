#include "taut/dynamics/dynamics.hpp"

#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <cmath>

namespace taut {

Dynamics::Dynamics(const pinocchio::Model& model) : data_(model), joints_(model.njoints) {
  first_.push_back(0);
  for (int joint = 0; joint < joints_; ++joint) {
    for (const auto ancestor : model.supports[joint]) {
      for (int k = 0; k < model.nvs[ancestor]; ++k) dofs_.push_back(model.idx_vs[ancestor] + k);
    }
    first_.push_back(static_cast<int>(dofs_.size()));
  }
  common_.resize(static_cast<std::size_t>(joints_) * joints_);
  for (int a = 0; a < joints_; ++a) {
    for (int b = 0; b < joints_; ++b) {
      const auto chain_a = chain(a), chain_b = chain(b);
      std::size_t shared = 0;
      while (shared < chain_a.size() && shared < chain_b.size() && chain_a[shared] == chain_b[shared]) ++shared;
      common_[static_cast<std::size_t>(a) * joints_ + b] = static_cast<std::uint16_t>(shared);
    }
  }
  inverse_sqrt_D_.resize(model.nv);
}

void Dynamics::update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v) {
  pinocchio::crba(model, data_, q, pinocchio::Convention::WORLD);
  pinocchio::nonLinearEffects(model, data_, q, v);
}

void Dynamics::factorize(const pinocchio::Model& model, const ConstVectorRef& implicit) {
  data_.M.diagonal() += implicit;
  pinocchio::cholesky::decompose(model, data_);
  inverse_sqrt_D_ = data_.D.array().sqrt().inverse();
}

void Dynamics::solve(const pinocchio::Model& model, VectorRef x) const { pinocchio::cholesky::solve(model, data_, x); }

void Dynamics::add_external_forces(std::span<const pinocchio::Force> forces, VectorRef torque) const {
  for (std::size_t joint = 1; joint < forces.size(); ++joint) {
    if (forces[joint].toVector().isZero(0.0)) continue;
    const pinocchio::Force world = data_.oMi[joint].act(forces[joint]);
    for (const int dof : chain(static_cast<int>(joint))) torque[dof] += data_.J.col(dof).dot(world.toVector());
  }
}

namespace {

// half ← half U⁻ᵀ D^{-1/2} along one chain, its columns being degrees of freedom, root first.
template <int size>
void halve(double* half, std::span<const int> dofs, int rows, const Eigen::MatrixXd& U, const Eigen::VectorXd& scale) {
  using Columns = Eigen::Map<Eigen::Matrix<double, size, Eigen::Dynamic>>;
  Columns Y(half, rows, static_cast<Eigen::Index>(dofs.size()));
  for (int j = static_cast<int>(dofs.size()) - 1; j >= 0; --j) {
    const double* column = U.data() + static_cast<std::ptrdiff_t>(dofs[j]) * U.rows();
    for (int k = 0; k < j; ++k) Y.col(k) -= column[dofs[k]] * Y.col(j);
    Y.col(j) *= scale[dofs[j]];
  }
}

// G_ab += A Bᵀ over the first `depth` columns.
template <int rows_a, int rows_b>
void accumulate(const double* a, const double* b, int depth, double* g, std::ptrdiff_t stride) {
  Eigen::Matrix<double, rows_a, rows_b> sum = Eigen::Matrix<double, rows_a, rows_b>::Zero();
  for (int k = 0; k < depth; ++k, a += rows_a, b += rows_b) {
    for (int j = 0; j < rows_b; ++j) {
      for (int i = 0; i < rows_a; ++i) sum(i, j) += a[i] * b[j];
    }
  }
  for (int j = 0; j < rows_b; ++j) {
    for (int i = 0; i < rows_a; ++i) g[i + j * stride] += sum(i, j);
  }
}

void accumulate(const double* a, int rows_a, const double* b, int rows_b, int depth, double* g, std::ptrdiff_t stride) {
  if (rows_a == 3 && rows_b == 3) return accumulate<3, 3>(a, b, depth, g, stride);
  if (rows_a == 1 && rows_b == 3) return accumulate<1, 3>(a, b, depth, g, stride);
  if (rows_a == 3 && rows_b == 1) return accumulate<3, 1>(a, b, depth, g, stride);
  if (rows_a == 1 && rows_b == 1) return accumulate<1, 1>(a, b, depth, g, stride);
  Eigen::Map<const Eigen::MatrixXd> A(a, rows_a, depth), B(b, rows_b, depth);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(g, rows_a, rows_b, Eigen::OuterStride<>(stride)) +=
      A.lazyProduct(B.transpose());
}

}  // namespace

void Dynamics::delassus(Rows& rows, Eigen::Ref<Eigen::MatrixXd, 0, Eigen::OuterStride<>> G) const {
  for (const Rows::Arm& arm : rows.arms()) {
    Rows::Map half = rows.half(arm);
    half = rows.jacobian(arm);
    const int size = static_cast<int>(half.rows());
    if (size == 3) {
      halve<3>(half.data(), chain(arm.joint), size, data_.U, inverse_sqrt_D_);
    } else if (size == 1) {
      halve<1>(half.data(), chain(arm.joint), size, data_.U, inverse_sqrt_D_);
    } else {
      halve<Eigen::Dynamic>(half.data(), chain(arm.joint), size, data_.U, inverse_sqrt_D_);
    }
  }
  // Lower triangle by pairs of arms, then mirrored. An arm enters with the sign its J already carries.
  const auto blocks = rows.blocks();
  const auto arms = rows.arms();
  const std::ptrdiff_t stride = G.outerStride();
  G.topLeftCorner(rows.rows(), rows.rows()).setZero();
  for (int j = 0; j < static_cast<int>(blocks.size()); ++j) {
    for (int i = j; i < static_cast<int>(blocks.size()); ++i) {
      double* g = G.data() + blocks[i].start + blocks[j].start * stride;
      for (int b = rows.first_arm(j); b < rows.first_arm(j + 1); ++b) {
        for (int a = rows.first_arm(i); a < rows.first_arm(i + 1); ++a) {
          const int depth = common(arms[a].joint, arms[b].joint);
          if (depth > 0) accumulate(rows.half(a), blocks[i].size, rows.half(b), blocks[j].size, depth, g, stride);
        }
      }
    }
  }
  const int n = rows.rows();
  for (int j = 0; j < n; ++j) {
    for (int i = j + 1; i < n; ++i) G(j, i) = G(i, j);
  }
}

void Dynamics::apply(const Rows& rows, const ConstVectorRef& v, VectorRef out) const {
  out.setZero();
  for (const Rows::Arm& arm : rows.arms()) {
    const Block& block = rows.blocks()[arm.block];
    const auto dofs = chain(arm.joint);
    const auto J = rows.jacobian(arm);
    for (int k = 0; k < arm.depth; ++k) out.segment(block.start, block.size) += v[dofs[k]] * J.col(k);
  }
}

void Dynamics::apply_transpose(const Rows& rows, const ConstVectorRef& lambda, VectorRef torque) const {
  for (const Rows::Arm& arm : rows.arms()) {
    const Block& block = rows.blocks()[arm.block];
    const auto dofs = chain(arm.joint);
    const auto J = rows.jacobian(arm);
    for (int k = 0; k < arm.depth; ++k) torque[dofs[k]] += J.col(k).dot(lambda.segment(block.start, block.size));
  }
}

}  // namespace taut
