#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "taut/simulation/record.hpp"
#include "taut/solvers/newton.hpp"

namespace taut::python {

/// Steps as they are made, in columns, until there are `capacity` of them or the oldest has waited for `seconds`: then
/// the columns go to `sink`, a Python callable. What a recording is written from.
class Tape {
 public:
  Tape(int capacity, double seconds, nanobind::callable sink);

  /// Adds a step. True if the columns are due: call `hand_over` then, holding the GIL.
  bool note(const Record& record);
  /// Gives the columns to the sink as a dict of arrays, and starts anew. Nothing to give: nothing happens.
  void hand_over();

 private:
  using Clock = std::chrono::steady_clock;

  /// One row per step (q, v: where it ended), per contact, or per restart: a step that starts elsewhere than the last
  /// one ended.
  struct Columns {
    std::vector<double> q, v, residuals, model_residuals;
    std::vector<std::int8_t> status;
    std::vector<std::int32_t> iterations, contacts;
    std::vector<double> points, normals, impulses, gaps, mu;
    std::vector<std::int32_t> pairs;
    std::vector<std::int8_t> slots, modes;
    std::vector<double> restart_q, restart_v;
    std::vector<std::int64_t> restarts;
  };

  void note_start(const Record& record);
  void note_contacts(const Record& record);

  int capacity_;
  Clock::duration patience_;
  nanobind::callable sink_;
  Columns columns_;
  NewtonWorkspace modes_;
  Eigen::VectorXd last_q_, last_v_;  ///< where the last step ended
  std::int64_t steps_ = 0;
  Clock::time_point oldest_;
};

/// The tape a simulator writes to, or null.
Tape* tape_of(nanobind::handle simulator);

}  // namespace taut::python
