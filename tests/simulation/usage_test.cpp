// One call at a time, and a step that is ended from without.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "scenes.hpp"
#include "taut/derivatives/step_derivatives.hpp"
#include "taut/math/interruption.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::testing {
namespace {

std::shared_ptr<const Scene> cubes() { return std::make_shared<const Scene>(stack({1.0, 100.0, 1.0, 10.0})); }

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(Usage, ASimulatorThatStepsInAnotherThreadIsRefused) {
  const auto scene = cubes();
  Simulator simulator(scene);
  StepDerivatives derivatives(simulator);
  const VectorXd v = VectorXd::Zero(scene->model.nv);
  simulator.step(scene->q0, v);
  const State state = simulator.state();
  std::atomic<bool> begun{false}, go_on{false};
  std::thread other([&] {
    simulator.rollout(scene->q0, v, Eigen::MatrixXd(), 2, [&](int, const Record&) {
      begun = true;
      while (!go_on) std::this_thread::yield();
      simulator.state();  // between steps, by the thread that makes them
    });
  });
  while (!begun) std::this_thread::yield();
  const char* expected = "this simulator is stepping in another thread; use one simulator a thread";
  EXPECT_EQ(refusal([&] { simulator.step(scene->q0, v); }), expected);
  EXPECT_EQ(refusal([&] { simulator.restore(state); }), expected);
  EXPECT_EQ(refusal([&] { simulator.reset(); }), expected);
  EXPECT_EQ(refusal([&] { simulator.state(); }), expected);
  EXPECT_EQ(refusal([&] { derivatives.jacobian(simulator); }), expected);
  EXPECT_EQ(refusal([&] { derivatives.vjp(simulator, v, v); }), expected);
  go_on = true;
  other.join();
  EXPECT_EQ(refusal([&] { simulator.step(scene->q0, v); }), "none");
}

TEST(Usage, AStepWithinARolloutIsRefused) {
  const auto scene = cubes();
  Simulator simulator(scene);
  const VectorXd v = VectorXd::Zero(scene->model.nv);
  std::string found;
  simulator.rollout(scene->q0, v, Eigen::MatrixXd(), 1,
                    [&](int, const Record&) { found = refusal([&] { simulator.step(scene->q0, v); }); });
  EXPECT_NE(found.find("from within"), std::string::npos) << found;
}

struct Ended {};

// Ends what it is asked about when it was asked `count` times, however fast that is.
class Countdown final : public Interruptible {
 public:
  explicit Countdown(int count) : Interruptible(0.0), count_(count) {}
  void ask() override {
    if (--count_ < 0) throw Ended{};
  }

 private:
  int count_;
};

// Wherever a step ends, the next one is the one that would have been.
TEST(Interruption, AStepThatIsEndedLeavesNoTrace) {
  const auto scene = cubes();
  for (const char* solver : {"auto", "admm", "pgs", "newton", "proximal", "nbgs", "lcp_staggered"}) {
    const SimulatorOptions options{.dt = 1e-2, .solver = solver, .narrow_phase = {.start = GjkStart::transported}};
    Simulator simulator(scene, options), twin(scene, options);
    VectorXd q = scene->q0, v = VectorXd::Zero(scene->model.nv);
    v[6] = 0.5;
    int ended = 0;
    for (int k = 0; k < 60; ++k) {
      const State before = simulator.state();
      try {
        Countdown countdown(k < 30 ? k : 7 * k);
        simulator.step(q, v);
      } catch (const Ended&) {
        ++ended;
        const State after = simulator.state();
        EXPECT_EQ(after.q, before.q);
        EXPECT_EQ(after.v, before.v);
        EXPECT_EQ(simulator.record().problem().size(), 0);
        EXPECT_FALSE(simulator.has_stepped());
        simulator.step(q, v);
      }
      const Record &found = simulator.record(), &expected = twin.step(q, v);
      ASSERT_EQ(found.q_next, expected.q_next) << solver << ", step " << k;
      ASSERT_EQ(found.v_next, expected.v_next);
      ASSERT_EQ(found.report.iterations, expected.report.iterations);
      q = found.q_next;
      v = found.v_next;
    }
    EXPECT_GT(ended, 0) << solver;
  }
}

TEST(Interruption, NobodyAskedCostsNothing) {
  for (int k = 0; k < 10; ++k) may_interrupt(1'000'000);  // no one listens
  Countdown countdown(0);
  EXPECT_THROW(for (int k = 0; k < 3; ++k) may_interrupt(1'000'000), Ended);
}

}  // namespace
}  // namespace taut::testing
