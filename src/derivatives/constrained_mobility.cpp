#include "taut/derivatives/constrained_mobility.hpp"

#include "taut/problem/block_at.hpp"

namespace taut {

namespace {

using Eigen::MatrixXd;

// Columns ← those of L⁻¹ applied from the right: column k less L(k, i) times the ones before it.
void forward_columns(const MatrixView& L, Eigen::Ref<MatrixXd> X) {
  for (Eigen::Index k = 0; k < L.rows(); ++k) {
    for (Eigen::Index i = 0; i < k; ++i) {
      if (L(k, i) != 0.0) X.col(k) -= L(k, i) * X.col(i);
    }
    X.col(k) *= 1.0 / L(k, k);
  }
}

}  // namespace

void ConstrainedMobility::update(const Dynamics& dynamics, const Rows& rows, const ImpulseResponse& response,
                                 const MatrixXd& conditions) {
  dynamics.half_inverse(T_);
  const Eigen::Index nv = T_.rows();
  T_transposed_ = T_.transpose();
  F_.setZero(nv, nv);
  add_product(view(T_transposed_), view(T_), view(F_));
  const int c = response.first(), s = response.second(), slides = static_cast<int>(response.slides().size());
  push_.resize(nv, c + s);
  see_.resize(nv, c + s);
  if (c + s == 0) return;

  // Rows of H as columns: what they do in `push_`, what they look at in `see_`.
  push_.setZero();
  see_.rightCols(s).setZero();
  const auto blocks = rows.blocks();
  const auto arms = rows.arms();
  const auto scatter = [&](int block, auto&& put) {
    for (int a = rows.first_arm(block); a < rows.first_arm(block + 1); ++a) {
      const auto dofs = dynamics.chain(arms[a].joint);
      const double* half = rows.half(a);
      for (int k = 0; k < arms[a].depth; ++k, half += blocks[block].size) put(dofs[k], half);
    }
  };
  for (int k = 0; k < c; ++k) {
    const int row = response.closed()[k], block = block_at(blocks, row);
    scatter(block, [&](int dof, const double* half) { push_(dof, k) += half[row - blocks[block].start]; });
  }
  for (int i = 0; i < slides; ++i) {
    const ImpulseResponse::Slide& slide = response.slides()[i];
    scatter(slide.block, [&](int dof, const double* half) {
      const Eigen::Map<const Eigen::Vector3d> h(half);
      for (int k = 0; k < 2; ++k) {
        push_(dof, c + 2 * i + k) += slide.column(k).dot(h);
        see_(dof, c + 2 * i + k) += slide.condition(k).dot(h);
      }
    });
  }
  for (int k = 2 * slides; k < s; ++k) {
    const int row = response.turned()[k - 2 * slides], block = block_at(blocks, row);
    scatter(block, [&](int dof, const double* half) { push_(dof, c + k) += half[row - blocks[block].start]; });
    see_.col(c + k).noalias() = T_.triangularView<Eigen::Upper>() * conditions.col(row);
  }

  forward_columns(response.L(), push_.leftCols(c));
  see_.leftCols(c) = push_.leftCols(c);
  if (s > 0) {
    // E = H₂ (I − Qᵀ Q), and S⁻¹ on the side that looks.
    const auto Q = push_.leftCols(c);
    W_ = see_.rightCols(s);
    for (MatrixXd* side : {&push_, &see_}) {
      work_.noalias() = Q.transpose() * side->rightCols(s);
      side->rightCols(s).noalias() -= Q * work_;
    }
    S_inverse_.setIdentity(s, s);
    for (int k = 0; k < s; ++k) response.solve_second(S_inverse_.col(k));
    work_ = see_.rightCols(s);
    see_.rightCols(s).noalias() = work_.lazyProduct(S_inverse_.transpose());
    Y_.noalias() = Q.transpose() * W_;  // what the second group sees of the first's answer
  }
  work_.setZero(nv, c + s);
  add_product(view(T_transposed_), view(push_), view(work_));
  push_.swap(work_);
  // Closed rows look at what they push.
  work_.leftCols(c) = -push_.leftCols(c);
  see_ = -see_;
  work_.rightCols(s).noalias() = T_transposed_ * see_.rightCols(s);
  add_product_transposed(view(push_), view(work_), view(F_));
  dynamics.half(T_inverse_);
  work_.setZero();
  add_product(view(T_inverse_), view(see_), view(work_));
  see_ = -work_;
}

void ConstrainedMobility::subtract_rows(const ImpulseResponse& response, const MatrixXd& drows_transposed,
                                        MatrixXd& dv) {
  if (push_.cols() == 0) return;
  const int c = response.first(), s = response.second(), slides = static_cast<int>(response.slides().size());
  const Eigen::Index nv = dv.rows();
  W_.resize(nv, c + s);
  for (int k = 0; k < c; ++k) W_.col(k) = drows_transposed.col(response.closed()[k]);
  forward_columns(response.L(), W_.leftCols(c));
  if (s > 0) {
    for (int i = 0; i < slides; ++i) {
      const ImpulseResponse::Slide& slide = response.slides()[i];
      for (int k = 0; k < 2; ++k) {
        W_.col(c + 2 * i + k).noalias() = drows_transposed.middleCols<3>(slide.start) * slide.condition(k);
      }
    }
    for (int k = 2 * slides; k < s; ++k) W_.col(c + k) = drows_transposed.col(response.turned()[k - 2 * slides]);
    W_.rightCols(s).noalias() -= W_.leftCols(c) * Y_;
    work_ = W_.rightCols(s);
    W_.rightCols(s).noalias() = work_.lazyProduct(S_inverse_.transpose());
  }
  W_ = -W_;
  add_product_transposed(view(push_), view(W_), view(dv));
}

}  // namespace taut
