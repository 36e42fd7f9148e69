#include "taut/derivatives/certificate.hpp"

#include <algorithm>
#include <cmath>

namespace taut {

namespace {

// A gap that is open closes at once, a penetration by a share and never faster than allowed: whoever stands where one
// becomes the other stands at a kink of his bias. In velocity units, as other switches.
double distance_to_kink(const RowConditions& conditions, const Block& block) {
  return conditions.kink.segment(block.start, block.size).minCoeff();
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

CertificateSummary worst_of(std::span<const CertificateSummary> steps) {
  CertificateSummary worst;
  for (const CertificateSummary& step : steps) {
    worst.nearest = std::min(worst.nearest, step.nearest);
    worst.conditioning = std::min(worst.conditioning, step.conditioning);
    worst.residual = std::max(worst.residual, step.residual);
    if (step.unknowns - step.rank >= worst.unknowns - worst.rank) {
      worst.unknowns = step.unknowns, worst.rank = step.rank;
    }
    worst.unique = worst.unique && step.unique;
    worst.solved = worst.solved && step.solved;
    worst.loops_put_back = worst.loops_put_back || step.loops_put_back;
    worst.scaled_restitution = worst.scaled_restitution || step.scaled_restitution;
  }
  return worst;
}

bool solves_exact_law(const Simulator& simulator) {
  const SolveReport& report = simulator.record().report;
  return report.status != Status::not_finite && report.residuals.worst() <= simulator.options().solving.tolerance;
}

void certify(const Simulator& simulator, const ImpulseResponse& response, const RowConditions& conditions,
             Certificate& certificate) {
  const Record& record = simulator.record();
  static_cast<CertificateSummary&>(certificate) = {.residual = record.report.residuals.worst(),
                                                   .solved = solves_exact_law(simulator),
                                                   .loops_put_back = record.put_back,
                                                   .scaled_restitution = record.restitution_scale < 1.0};
  certificate.modes.clear();
  certificate.distance.clear();
  if (record.rows.rows() == 0) return;
  certificate.unknowns = response.unknowns();
  certificate.rank = response.rank();
  certificate.conditioning = response.conditioning();
  const auto blocks = record.rows.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const int block = static_cast<int>(i);
    const Mode mode = response.mode(block);
    double distance = response.distance_to_switch(block);
    if (mode != Mode::open) distance = std::min(distance, distance_to_kink(conditions, blocks[i]));
    certificate.modes.push_back(mode);
    certificate.distance.push_back(distance);
    certificate.nearest = std::min(certificate.nearest, distance);
  }
  const auto& kernel = response.kernel();
  for (Eigen::Index c = 0; c < kernel.cols() && certificate.unique; ++c) {
    certificate.unique = !moves(simulator, kernel.col(c));
  }
}

}  // namespace taut
