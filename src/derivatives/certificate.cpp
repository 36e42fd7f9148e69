#include "taut/derivatives/certificate.hpp"

#include <algorithm>
#include <cmath>

namespace taut {

namespace {

// A gap that is open closes at once, a penetration by a share: whoever touches without either stands at a kink of his
// bias. In velocity units, as other switches.
double distance_to_kink(const Simulator& simulator, const ImpulseResponse& response, int block) {
  const Record& record = simulator.record();
  const auto& stabilization = simulator.options().stabilization;
  const auto contacts = static_cast<int>(record.contacts.size()), joints = static_cast<int>(record.joint_rows.size());
  if (response.mode(block) == Mode::open || block >= contacts + joints) return HUGE_VAL;
  double left = HUGE_VAL, share = 1.0;
  int row = 0;
  if (block < contacts) {
    row = 3 * block + 2;
    left = record.contacts[static_cast<std::size_t>(block)].gap + stabilization.penetration;
    share = stabilization.correction;
  } else {
    const JointRow& joint_row =
        simulator.joint_rows()[static_cast<std::size_t>(record.joint_rows[static_cast<std::size_t>(block - contacts)])];
    if (joint_row.kind == JointRow::Kind::dry_friction) return HUGE_VAL;
    row = record.joint_start + block - contacts;
    left = limit_gap(simulator.scene().model, joint_row, record.q_look);
    share = stabilization.limit_correction;
  }
  return record.rows.compliance()[row] > 0.0 || share == 1.0 ? HUGE_VAL : std::abs(left) / simulator.options().dt;
}

// Impulses that no condition sees must move nothing: against what they would do alone.
bool moves(const Simulator& simulator, const Eigen::Ref<const Eigen::VectorXd>& impulses) {
  if (impulses.norm() < 1e-6) return false;  // a projection: what it does not see is rounding here
  const Rows& rows = simulator.record().rows;
  Eigen::VectorXd torque = Eigen::VectorXd::Zero(simulator.scene().model.nv);
  simulator.dynamics().apply_transpose(rows, impulses, torque);
  double alone = 0.0;
  for (const Rows::Arm& arm : rows.arms()) {
    const Block& block = rows.blocks()[static_cast<std::size_t>(arm.block)];
    alone = std::max(alone, (rows.jacobian(arm).transpose() * impulses.segment(block.start, block.size)).norm());
  }
  return torque.norm() > 1e-6 * alone;  // loops open by a little repeat each other but for that
}

}  // namespace

void certify(const Simulator& simulator, const ImpulseResponse& response, Certificate& certificate) {
  const Record& record = simulator.record();
  certificate.modes.clear();
  certificate.distance.clear();
  certificate.solved = record.report.status == Status::converged;
  certificate.scaled_restitution = record.restitution_scale < 1.0;
  certificate.loops_put_back = record.put_back;
  certificate.nearest = HUGE_VAL;
  certificate.unique = true;
  certificate.unknowns = certificate.rank = 0;
  certificate.conditioning = 1.0;
  if (record.rows.rows() == 0) return;
  certificate.unknowns = response.unknowns();
  certificate.rank = response.rank();
  certificate.conditioning = response.conditioning();
  for (std::size_t i = 0; i < record.rows.blocks().size(); ++i) {
    const int block = static_cast<int>(i);
    certificate.modes.push_back(response.mode(block));
    certificate.distance.push_back(
        std::min(response.distance_to_switch(block), distance_to_kink(simulator, response, block)));
    certificate.nearest = std::min(certificate.nearest, certificate.distance.back());
  }
  const auto& kernel = response.kernel();
  for (Eigen::Index c = 0; c < kernel.cols() && certificate.unique; ++c) {
    certificate.unique = !moves(simulator, kernel.col(c));
  }
}

}  // namespace taut
