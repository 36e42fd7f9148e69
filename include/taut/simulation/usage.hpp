#pragma once

#include <atomic>
#include <thread>

namespace taut {

/// Who uses a simulator: one call that changes it, or any number that read it. Others are refused, at once: whoever
/// waited would go on from a state that is not the one it was called for.
class Usage {
 public:
  Usage() = default;
  Usage(Usage&&) noexcept {}  ///< what is moved is in nobody's use
  Usage& operator=(Usage&&) noexcept { return *this; }

  /// Held by a call that changes. Throws std::runtime_error if anybody else is there.
  class Change {
   public:
    explicit Change(Usage& usage);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    Usage& usage_;
  };

  /// Held by a call that reads. Throws std::runtime_error while another call changes; the one that holds `Change` may
  /// look between its steps.
  class Look {
   public:
    explicit Look(Usage& usage);
    ~Look();
    Look(const Look&) = delete;
    Look& operator=(const Look&) = delete;

   private:
    Usage* usage_;  ///< null within a change of our own
  };

  /// Held by a change while nothing is whole: nobody may look.
  class Step {
   public:
    explicit Step(Usage& usage) : usage_(usage) { usage_.within_step_ = true; }
    ~Step() { usage_.within_step_ = false; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Usage& usage_;
  };

 private:
  bool is_mine() const { return changer_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  [[noreturn]] void refuse(int users) const;

  std::atomic<int> users_{0};  ///< how many look at it, or −1: one that changes it
  std::atomic<std::thread::id> changer_{};
  bool within_step_ = false;  ///< the changer's
};

}  // namespace taut
