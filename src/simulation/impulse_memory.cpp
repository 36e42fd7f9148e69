#include "taut/simulation/impulse_memory.hpp"

namespace taut {

void ImpulseMemory::clear() {
  contacts.clear();
  joints.setZero();
  closures.setZero();
  drives.setZero();
}

void ImpulseMemory::recall(const Record& record, VectorRef lambda) const {
  lambda.setZero();
  auto old = contacts.begin();
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    const Contact& contact = record.contacts[i];
    while (old != contacts.end() && old->order < contact.order) ++old;
    for (auto it = old; it != contacts.end() && it->order == contact.order; ++it) {
      if (it->slot != contact.slot) continue;
      lambda.segment<3>(3 * static_cast<Eigen::Index>(i)).noalias() = contact.frame.transpose() * it->world;
      break;
    }
  }
  Eigen::Index row = record.joint_start;
  for (const int joint : record.joint_rows) lambda[row++] = joints[joint];
  lambda.segment(row, closures.size()) = closures;
  row += closures.size();
  for (const int actuator : record.driven) lambda[row++] = drives[actuator];
}

void ImpulseMemory::remember(const Record& record) {
  const auto& lambda = record.impulse;
  contacts.clear();
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    const Contact& contact = record.contacts[i];
    contacts.push_back(
        {contact.order, contact.slot, contact.frame * lambda.segment<3>(3 * static_cast<Eigen::Index>(i))});
  }
  joints.setZero();
  drives.setZero();
  Eigen::Index row = record.joint_start;
  for (const int joint : record.joint_rows) joints[joint] = lambda[row++];
  closures = lambda.segment(row, closures.size());
  row += closures.size();
  for (const int actuator : record.driven) drives[actuator] = lambda[row++];
}

}  // namespace taut
