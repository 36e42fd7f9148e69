#include "taut/derivatives/batch.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "taut/derivatives/rollout_adjoint.hpp"

namespace taut {

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
  std::mutex mutex;
  std::exception_ptr failure;
  int failed = count;
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
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (index < failed) failed = index, failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (int k = 1; k < threads; ++k) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace taut
