#include "taut/derivatives/batch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "taut/derivatives/rollout_adjoint.hpp"
#include "taut/math/interruption.hpp"

namespace taut {

namespace {

struct Interrupted {};

// Only the thread that called can be interrupted: it passes that on to the others.
class Caller final : public Interruptible {
 public:
  explicit Caller(std::atomic<bool>& interrupted) : interrupted_(interrupted) {}
  void ask() override {
    try {
      ask_before();
    } catch (...) {
      interrupted_ = true;
      throw;
    }
  }

 private:
  std::atomic<bool>& interrupted_;
};

class Follower final : public Interruptible {
 public:
  explicit Follower(const std::atomic<bool>& interrupted) : interrupted_(interrupted) {}
  void ask() override {
    if (interrupted_) throw Interrupted{};
  }

 private:
  const std::atomic<bool>& interrupted_;
};

}  // namespace

void for_each_state(const Simulator& simulator, const Eigen::Ref<const Eigen::MatrixXd>& q,
                    const Eigen::Ref<const Eigen::MatrixXd>& v, const Eigen::Ref<const Eigen::MatrixXd>& tau,
                    int threads, const std::function<void(int, const Simulator&, StepDerivatives&)>& visit) {
  const int count = static_cast<int>(q.cols());
  if (v.cols() != count || (tau.cols() != 0 && tau.cols() != count)) {
    throw std::invalid_argument("batch: there are " + std::to_string(count) + " states q, " + std::to_string(v.cols()) +
                                " v and " + std::to_string(tau.cols()) + " tau");
  }
  if (threads < 0) throw std::invalid_argument("batch: threads is " + std::to_string(threads));
  if (threads == 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  threads = std::min(threads, std::max(1, count));

  std::atomic<int> next{0};
  std::atomic<bool> interrupted{false};
  std::mutex mutex;
  std::condition_variable ended;
  std::exception_ptr failure;
  int failed = count, working = 0;
  const auto note_failure = [&](int index) {
    const std::lock_guard lock(mutex);
    if (index < failed) failed = index, failure = std::current_exception();
    next = count;
  };
  const auto work = [&] {
    // Made here: a constructor throws as steps do.
    int index = -1;
    try {
      Simulator twin = twin_of(simulator);
      StepDerivatives derivatives(twin);
      Eigen::VectorXd torque;
      while ((index = next++) < count) {
        twin.reset();
        if (tau.cols() > 0) torque = tau.col(index);
        twin.step(q.col(index), v.col(index), torque);
        visit(index, twin, derivatives);
      }
    } catch (const Interrupted&) {  // the thread that called says by what
    } catch (...) {
      note_failure(index);
    }
  };
  const auto work_aside = [&] {
    {
      Follower follower(interrupted);
      work();
    }
    const std::lock_guard lock(mutex);
    --working;
    ended.notify_one();
  };
  Caller caller(interrupted);
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads));
  while (static_cast<int>(others.size()) + 1 < threads) {
    std::unique_lock lock(mutex);
    ++working;
    try {
      others.emplace_back(work_aside);
    } catch (const std::system_error&) {  // the machine has no more: those that there are do the work
      --working;
      break;
    }
  }
  work();
  for (std::unique_lock lock(mutex); working > 0;) {
    constexpr std::chrono::milliseconds kPause(20);
    ended.wait_for(lock, kPause, [&] { return working == 0; });
    if (interrupted) continue;
    lock.unlock();
    try {
      caller.ask();
    } catch (...) {
      note_failure(-1);
    }
    lock.lock();
  }
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace taut
