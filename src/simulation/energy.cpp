#include "taut/simulation/energy.hpp"

namespace taut {

double mechanical_energy(const Scene& scene, const ConstVectorRef& q, const ConstVectorRef& v, Kinematics& kinematics) {
  const auto& model = scene.model;
  kinematics.update(model, q, v);
  double energy = 0.5 * model.armature.dot(v.cwiseAbs2());
  for (int joint = 1; joint < model.njoints; ++joint) {
    const auto& inertia = model.inertias[static_cast<std::size_t>(joint)];
    energy += 0.5 * inertia.vtiv(kinematics.velocity(joint));
    energy -= inertia.mass() * model.gravity.linear().dot(kinematics[joint].act(inertia.lever()));
    // Springs act on joints of one coordinate, as in the step.
    const int dof = model.idx_vs[joint];
    if (model.nqs[joint] == 1 && model.nvs[joint] == 1 && scene.stiffness[dof] > 0.0) {
      const double stretch = q[model.idx_qs[joint]] - scene.spring_reference[dof];
      energy += 0.5 * scene.stiffness[dof] * stretch * stretch;
    }
  }
  return energy;
}

}  // namespace taut
