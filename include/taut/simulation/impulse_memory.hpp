#pragma once

#include <vector>

#include "taut/simulation/record.hpp"

namespace taut {

/// The impulses of a step by what they acted on: the warm start of the next one.
struct ImpulseMemory {
  struct OfContact {
    int order, slot;
    Eigen::Vector3d world;
  };
  std::vector<OfContact> contacts;  ///< sorted by `Contact::order`
  Eigen::VectorXd joints;           ///< one per candidate row
  Eigen::VectorXd closures;         ///< rows of loops and couplings
  Eigen::VectorXd drives;           ///< one per actuator that may hold a loop's coordinate

  void clear();
  /// Into the rows of a step, zero where nothing is remembered.
  void recall(const Record& record, VectorRef lambda) const;
  void remember(const Record& record);
};

}  // namespace taut
