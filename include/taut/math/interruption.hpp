#pragma once

#include <chrono>

namespace taut {

/// Whoever wants to be able to end long computations of its thread keeps one of these while they run: they call
/// `may_interrupt` now and then, which calls `ask` every `interval` seconds (0: at every call), and what `ask` throws
/// ends them. It should not be a std::exception: readers of files take those for something wrong with the file.
///
/// A computation that ends this way has changed nothing that counts: a simulator is where its last whole step left it,
/// a workspace is fit for the next problem, what was to be written is unspecified. Of several in one thread the last
/// one made is asked.
class Interruptible {
 public:
  explicit Interruptible(double interval = 0.05);
  virtual ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// Called by the thread that made it.
  virtual void ask() = 0;

 protected:
  /// Asks the one that this one stands before, if there is one.
  void ask_before();

 private:
  using Clock = std::chrono::steady_clock;
  friend void may_interrupt(int work);
  void look();

  Interruptible* const before_;
  const Clock::duration interval_;
  int left_;  ///< work until the clock is looked at
  Clock::time_point next_{};
};

/// For loops that may take long, at every round: `work` is what the round costs, in rows of a problem or passes over as
/// many numbers. Next to nothing as a rule, for the clock is looked at once in some hundred rows.
void may_interrupt(int work = 1);

}  // namespace taut
