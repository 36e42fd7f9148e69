#include "taut/simulation/impulse_memory.hpp"

namespace taut {

namespace {

constexpr Eigen::Index kKinds = 4;  // of joint rows

Eigen::Index place_of(const JointRow& row, Eigen::Index size) {
  return static_cast<Eigen::Index>(row.kind) * (size / kKinds) + row.dof;
}

}  // namespace

ImpulseMemory::ImpulseMemory(int nv, int closure_rows, int actuators) {
  contacts.reserve(64);
  joints.setZero(kKinds * nv);
  closures.setZero(closure_rows);
  drives.setZero(actuators);
}

void ImpulseMemory::clear() {
  contacts.clear();
  joints.setZero();
  closures.setZero();
  drives.setZero();
}

void ImpulseMemory::recall(const Record& record, std::span<const JointRow> rows, VectorRef lambda) const {
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
  for (const int joint : record.joint_rows) {
    lambda[row++] = joints[place_of(rows[static_cast<std::size_t>(joint)], joints.size())];
  }
  lambda.segment(row, closures.size()) = closures;
  row += closures.size();
  for (const int actuator : record.driven) lambda[row++] = drives[actuator];
}

void ImpulseMemory::remember(const Record& record, std::span<const JointRow> rows) {
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
  for (const int joint : record.joint_rows) {
    joints[place_of(rows[static_cast<std::size_t>(joint)], joints.size())] = lambda[row++];
  }
  closures = lambda.segment(row, closures.size());
  row += closures.size();
  for (const int actuator : record.driven) drives[actuator] = lambda[row++];
}

}  // namespace taut
