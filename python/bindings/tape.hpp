#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "taut/simulation/simulator.hpp"
#include "taut/solvers/newton.hpp"

namespace taut::python {

/// Memory that is about to be written is not cleared before.
template <typename T>
struct Uncleared : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = Uncleared<U>;
  };
  template <typename U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
  }
};

template <typename T>
using Column = std::vector<T, Uncleared<T>>;

/// Steps as they are made, in columns, until there are `capacity` of them or the oldest has waited for `seconds`: then
/// the columns go to `sink`, a Python callable. What a recording is written from.
///
/// A tape that keeps only the `latest` step looks at one when `seconds` have passed, and counts the others: what a page
/// is drawn from.
class Tape {
 public:
  using VectorRef = Eigen::Ref<const Eigen::VectorXd>;

  Tape(int capacity, double seconds, nanobind::callable sink, bool latest);

  using Clock = std::chrono::steady_clock;

  /// Adds a step, with the torques and controls it was given, which may be empty, and when it began and ended. True if
  /// the columns are due: call `hand_over` then, holding the GIL.
  bool note(const Record& record, const VectorRef& tau, const VectorRef& control, Clock::time_point begun,
            Clock::time_point now);
  /// Gives the columns to the sink as a dict of arrays, and starts anew. Nothing to give: nothing happens. If the sink
  /// throws, an interrupt included, it is given the same dict again next time: its "first", the number of steps before,
  /// says so.
  void hand_over();
  /// The same from any thread, holding the GIL; waits for the call that is stepping, if there is one. Throws
  /// std::runtime_error if that call is this thread's own, as in the handler of a signal: it would wait for itself.
  void flush();
  /// The same if the columns are due and nothing is stepping now; else nothing happens.
  void flush_if_due();
  /// For a tape that keeps the latest: hands over the last step of `simulator`, if it was only counted and nothing is
  /// stepping now. Else nothing happens.
  void catch_up(const Simulator& simulator);

  /// Around the steps of a call.
  void lock();
  void unlock();

  nanobind::callable& sink() { return sink_; }
  nanobind::list& waiting() { return waiting_; }

 private:
  /// One row per step (q, v: where it ended; tau, control: what it was given, if any was), per contact, or per restart:
  /// a step that starts elsewhere than the last one ended.
  struct Columns {
    Column<double> q, v, tau, control, residuals, model_residuals;
    Column<std::int8_t> status;
    Column<std::int32_t> iterations, contacts;
    Column<double> points, normals, impulses, gaps, mu;
    Column<std::int32_t> pairs;
    Column<std::int8_t> slots, modes;
    Column<double> restart_q, restart_v;
    Column<std::int64_t> restarts;
  };

  nanobind::dict take();
  void append(const Record& record, const VectorRef& tau, const VectorRef& control);
  void append_start(const Record& record);
  void append_contacts(const Record& record);

  int capacity_;
  Clock::duration patience_;
  nanobind::callable sink_;
  bool latest_;
  Columns columns_;
  nanobind::list waiting_;  ///< for the sink to take them
  NewtonWorkspace modes_;
  Eigen::VectorXd last_q_, last_v_;  ///< where the last step ended
  std::int64_t steps_ = 0;
  Clock::duration spent_{};     ///< on the steps since the last time
  std::size_t controls_ = 0;    ///< how many a step has, once one had any
  std::int64_t counted_ = 0;    ///< steps since the last time, if only the latest is kept
  Residuals worst_;             ///< of those
  Clock::time_point oldest_{};  ///< when the first step of the columns was made, or the last one was handed over
  std::mutex stepping_;         ///< held while a simulator that has this tape steps
  std::atomic<std::thread::id> stepper_{};  ///< who holds it
};

/// The tapes of a simulator for the length of a call: nobody else hands them over meanwhile.
class Tapes {
 public:
  explicit Tapes(nanobind::handle simulator);  ///< holding the GIL, here and at the end
  ~Tapes();
  Tapes(const Tapes&) = delete;
  Tapes& operator=(const Tapes&) = delete;

  void lock();  ///< not holding the GIL, before the first step
  /// True if one of them is due.
  bool note(const Record& record, const Tape::VectorRef& tau, const Tape::VectorRef& control);
  void hand_over();  ///< those that are due; holding the GIL

 private:
  nanobind::tuple kept_;
  std::vector<Tape*> tapes_, due_;
  Tape::Clock::time_point begun_;  ///< the present step
  bool locked_ = false;
};

}  // namespace taut::python
