#include "taut/math/interruption.hpp"

namespace taut {

namespace {

// A row takes some ten nanoseconds in a robot's problem and some microseconds in one of thousands of rows.
constexpr int kWork = 500;

constinit thread_local Interruptible* current = nullptr;

}  // namespace

Interruptible::Interruptible(double interval)
    : before_(current),
      interval_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval))),
      left_(interval > 0.0 ? kWork : 0) {
  current = this;
}

Interruptible::~Interruptible() { current = before_; }

void Interruptible::ask_before() {
  if (before_ != nullptr) before_->ask();
}

void Interruptible::look() {
  left_ = interval_ > Clock::duration::zero() ? kWork : 0;
  const auto now = Clock::now();
  if (next_ == Clock::time_point{}) next_ = now + interval_;  // most computations have ended before they come here
  if (now < next_) return;
  ask();
  next_ = Clock::now() + interval_;
}

void may_interrupt(int work) {
  Interruptible* const asked = current;
  if (asked != nullptr && (asked->left_ -= work) <= 0) asked->look();
}

}  // namespace taut
