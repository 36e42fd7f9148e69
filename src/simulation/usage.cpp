#include "taut/simulation/usage.hpp"

#include <stdexcept>

namespace taut {

void Usage::refuse(int users) const {
  throw std::runtime_error(
      users > 0 ? "this simulator is being read by another call; use one simulator a thread"
      : is_mine()
          ? "this simulator is stepping, and this call comes from within: from the handler of a signal, or from "
            "what is called after every step; stop the run first"
          : "this simulator is stepping in another thread; use one simulator a thread");
}

Usage::Change::Change(Usage& usage) : usage_(usage) {
  int users = 0;
  if (!usage.users_.compare_exchange_strong(users, -1, std::memory_order_acquire, std::memory_order_relaxed)) {
    usage.refuse(users);
  }
  usage.changer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

Usage::Change::~Change() {
  usage_.changer_.store({}, std::memory_order_relaxed);
  usage_.users_.store(0, std::memory_order_release);
}

Usage::Look::Look(Usage& usage) : usage_(&usage) {
  int users = usage.users_.load(std::memory_order_relaxed);
  do {
    if (users >= 0) continue;
    if (!usage.is_mine() || usage.within_step_) usage.refuse(users);
    usage_ = nullptr;
    return;
  } while (!usage.users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire, std::memory_order_relaxed));
}

Usage::Look::~Look() {
  if (usage_ != nullptr) usage_->users_.fetch_sub(1, std::memory_order_release);
}

}  // namespace taut
