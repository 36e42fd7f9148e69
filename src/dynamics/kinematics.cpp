#include "taut/dynamics/kinematics.hpp"

#include <numeric>

namespace taut {

namespace {

std::vector<int> all_joints(const pinocchio::Model& model) {
  std::vector<int> joints(static_cast<std::size_t>(model.njoints - 1));
  std::iota(joints.begin(), joints.end(), 1);
  return joints;
}

}  // namespace

Kinematics::Kinematics(const pinocchio::Model& model) : Kinematics(model, all_joints(model)) {}

Kinematics::Kinematics(const pinocchio::Model& model, std::span<const int> joints) {
  const auto count = static_cast<std::size_t>(model.njoints);
  std::vector<bool> needed(count, false);
  for (const int joint : joints) {
    for (const auto ancestor : model.supports[static_cast<std::size_t>(joint)]) needed[ancestor] = true;
  }
  place_.assign(count, -1);
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (!needed[static_cast<std::size_t>(joint)]) continue;
    place_[static_cast<std::size_t>(joint)] = static_cast<int>(joints_.size());
    joints_.push_back(joint);
    data_.push_back(model.joints[static_cast<std::size_t>(joint)].createData());
  }
  placements_.assign(count, pinocchio::SE3::Identity());
  velocities_.assign(count, pinocchio::Motion::Zero());
}

void Kinematics::update(const pinocchio::Model& model, const ConstVectorRef& q) {
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const auto joint = static_cast<std::size_t>(joints_[k]);
    model.joints[joint].calc(data_[k], q);
    placements_[joint] = placements_[model.parents[joint]] * model.jointPlacements[joint] * data_[k].M();
  }
}

void Kinematics::update(const pinocchio::Model& model, const ConstVectorRef& q, const ConstVectorRef& v) {
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const auto joint = static_cast<std::size_t>(joints_[k]);
    model.joints[joint].calc(data_[k], q, v);
    const pinocchio::SE3 below = model.jointPlacements[joint] * pinocchio::SE3(data_[k].M());
    placements_[joint] = placements_[model.parents[joint]] * below;
    velocities_[joint] = pinocchio::Motion(data_[k].v()) + below.actInv(velocities_[model.parents[joint]]);
  }
}

pinocchio::Data::Matrix6x Kinematics::columns(int joint) const {
  const auto& data = data_[static_cast<std::size_t>(place_[static_cast<std::size_t>(joint)])];
  return placements_[static_cast<std::size_t>(joint)].toActionMatrix() * data.S().matrix();
}

}  // namespace taut
