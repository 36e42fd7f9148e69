#include "taut/dynamics/dynamics.hpp"

#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "tree_model.hpp"

namespace taut {

Dynamics::Dynamics(const pinocchio::Model& model) : forest_(model) {
  const auto trees = forest_.trees();
  inverse_sqrt_D_.resize(model.nv);
  whole_ = trees.size() == 1 && !is_free_body(model, trees[0]);
  if (whole_) {
    parts_.push_back({0, {}, pinocchio::Data(model)});
    source_.push_back(0);
    return;
  }
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (is_free_body(model, trees[t])) {
      source_.push_back(-1 - static_cast<int>(bodies_.size()));
      bodies_.emplace_back(trees[t].first_joint, trees[t].first_q, trees[t].first_dof);
    } else {
      source_.push_back(static_cast<int>(parts_.size()));
      pinocchio::Model part = model_of_tree(model, trees[t]);
      pinocchio::Data data(part);
      parts_.push_back({static_cast<int>(t), std::move(part), std::move(data)});
    }
  }
  placements_.assign(static_cast<std::size_t>(model.njoints), pinocchio::SE3::Identity());
  velocities_.assign(static_cast<std::size_t>(model.njoints), pinocchio::Motion::Zero());
  columns_.setZero(6, model.nv);
  nonlinear_effects_.setZero(model.nv);
}

void Dynamics::update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v,
                      const Instant& when) {
  if (whole_) {
    pinocchio::crba(model, parts_[0].data, q, pinocchio::Convention::WORLD);
    pinocchio::nonLinearEffects(model, parts_[0].data, q, v);
    return;
  }
  for (Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    refresh(part.model, model, tree);
    const ConstVectorRef q_part = q.segment(tree.first_q, tree.nq), v_part = v.segment(tree.first_dof, tree.nv);
    pinocchio::crba(part.model, part.data, q_part, pinocchio::Convention::WORLD);
    pinocchio::nonLinearEffects(part.model, part.data, q_part, v_part);
    publish(part);
  }
  for (FreeBody& body : bodies_) {
    const auto joint = static_cast<std::size_t>(body.joint());
    const int dof = body.first_dof();
    body.update(model, q.data() + body.first_q(), v.data() + dof, when, placements_[joint], columns_.middleCols<6>(dof),
                nonlinear_effects_.segment<6>(dof));
    velocities_[joint] = pinocchio::Motion(v.segment<6>(dof));
  }
}

void Dynamics::update_nonlinear_effects(const pinocchio::Model& model, const ConstVectorRef& q,
                                        const ConstVectorRef& v) {
  for (Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    const ConstVectorRef q_part = q.segment(tree.first_q, tree.nq), v_part = v.segment(tree.first_dof, tree.nv);
    pinocchio::nonLinearEffects(model_of(part, model), part.data, q_part, v_part);
    if (!whole_) nonlinear_effects_.segment(tree.first_dof, tree.nv) = part.data.nle;
  }
}

void Dynamics::publish(const Part& part) {
  const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
  for (int k = 0; k < tree.joints; ++k) {
    const auto from = static_cast<std::size_t>(k + 1), to = static_cast<std::size_t>(tree.first_joint + k);
    placements_[to] = part.data.oMi[from];
    velocities_[to] = part.data.v[from];
  }
  columns_.middleCols(tree.first_dof, tree.nv) = part.data.J;
  nonlinear_effects_.segment(tree.first_dof, tree.nv) = part.data.nle;
}

void Dynamics::factorize(const pinocchio::Model& model, const ConstVectorRef& implicit) {
  for (Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    part.data.M.diagonal() += implicit.segment(tree.first_dof, tree.nv);
    pinocchio::cholesky::decompose(model_of(part, model), part.data);
    inverse_sqrt_D_.segment(tree.first_dof, tree.nv) = part.data.D.array().sqrt().inverse();
  }
  for (FreeBody& body : bodies_) {
    body.factorize(implicit.data() + body.first_dof(), inverse_sqrt_D_.data() + body.first_dof());
  }
}

void Dynamics::solve(const pinocchio::Model& model, VectorRef x) const {
  for (const Part& part : parts_) {
    const Forest::Tree& tree = forest_.trees()[static_cast<std::size_t>(part.tree)];
    VectorRef x_part = x.segment(tree.first_dof, tree.nv);
    pinocchio::cholesky::solve(model_of(part, model), part.data, x_part);
  }
  for (const FreeBody& body : bodies_) body.solve(x.data() + body.first_dof());
}

template <typename Visit>
void Dynamics::for_each_column(Visit&& visit) const {
  for (std::size_t t = 0; t < source_.size(); ++t) {
    const Forest::Tree& tree = forest_.trees()[t];
    const double* U = source_[t] < 0 ? bodies_[static_cast<std::size_t>(-1 - source_[t])].U().data()
                                     : parts_[static_cast<std::size_t>(source_[t])].data.U.data();
    int dof = tree.first_dof;
    for (int joint = tree.first_joint; joint < tree.first_joint + tree.joints; ++joint) {
      const auto dofs = chain(joint);
      for (; dof <= dofs.back() && !dofs.empty(); ++dof) {
        const auto depth = dofs.size() - static_cast<std::size_t>(dofs.back() - dof);
        visit(dof, dofs.first(depth), U + static_cast<std::ptrdiff_t>(dof - tree.first_dof) * tree.nv, tree.first_dof);
      }
    }
  }
}

// Column j of U⁻¹ is e_j less U(k, j) times the columns of the ancestors k.
void Dynamics::half_inverse(Eigen::MatrixXd& T) const {
  const auto nv = inverse_sqrt_D_.size();
  T.setZero(nv, nv);
  for_each_column([&](int dof, std::span<const int> dofs, const double* U, int first) {
    double* column = T.col(dof).data();
    column[dof] = 1.0;
    for (std::size_t k = 0; k + 1 < dofs.size(); ++k) {
      const double share = U[dofs[k] - first];
      const double* above = T.col(dofs[k]).data();
      for (std::size_t i = 0; i <= k; ++i) column[dofs[i]] -= share * above[dofs[i]];
    }
  });
  T.array().colwise() *= inverse_sqrt_D_.array();
}

void Dynamics::half(Eigen::MatrixXd& T_inverse) const {
  const auto nv = inverse_sqrt_D_.size();
  T_inverse.setZero(nv, nv);
  for_each_column([&](int dof, std::span<const int> dofs, const double* U, int first) {
    const double scale = 1.0 / inverse_sqrt_D_[dof];
    for (std::size_t k = 0; k + 1 < dofs.size(); ++k) T_inverse(dofs[k], dof) = scale * U[dofs[k] - first];
    T_inverse(dof, dof) = scale;
  });
}

void Dynamics::add_external_forces(std::span<const pinocchio::Force> forces, VectorRef torque) const {
  for (std::size_t joint = 1; joint < forces.size(); ++joint) {
    if (forces[joint].toVector().isZero(0.0)) continue;
    const pinocchio::Force world = placements()[joint].act(forces[joint]);
    for (const int dof : chain(static_cast<int>(joint))) torque[dof] += columns().col(dof).dot(world.toVector());
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
