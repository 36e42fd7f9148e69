#pragma once

#include <span>
#include <vector>

#include "taut/constraints/joint.hpp"
#include "taut/simulation/record.hpp"

namespace taut {

/// The impulses of a step by what they acted on: the warm start of the next one.
struct ImpulseMemory {
  struct OfContact {
    int order, slot;
    Eigen::Vector3d world;
  };
  std::vector<OfContact> contacts;  ///< sorted by `Contact::order`
  Eigen::VectorXd joints;           ///< by kind and degree of freedom: limits and dry friction come and go
  Eigen::VectorXd closures;         ///< rows of loops and couplings
  Eigen::VectorXd drives;           ///< one per actuator that may hold a loop's coordinate

  ImpulseMemory() = default;
  ImpulseMemory(int nv, int closure_rows, int actuators);

  void clear();
  /// Into the rows of a step, zero where nothing is remembered. `rows` are those that `Record::joint_rows` counts.
  void recall(const Record& record, std::span<const JointRow> rows, VectorRef lambda) const;
  void remember(const Record& record, std::span<const JointRow> rows);
};

}  // namespace taut
