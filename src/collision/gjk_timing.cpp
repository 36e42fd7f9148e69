#include "taut/collision/gjk_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "taut/collision/frank_wolfe.hpp"

#include "taut/math/interruption.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

void require_positive(int value, const char* what) {
  if (value <= 0) {
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + ", it must be positive");
  }
}

// The mean of the 90 % lowest samples, per call.
template <typename Call>
double nanoseconds(const Call& call, Repetitions repetitions, std::vector<double>& samples) {
  using Clock = std::chrono::steady_clock;
  samples.clear();
  for (int i = 0; i < repetitions.samples; ++i) {
    may_interrupt(10 * repetitions.calls);
    const auto begin = Clock::now();
    for (int k = 0; k < repetitions.calls; ++k) call();
    samples.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / repetitions.calls);
  }
  std::sort(samples.begin(), samples.end());
  const auto kept = std::max<std::ptrdiff_t>(1, static_cast<std::ptrdiff_t>(0.9 * repetitions.samples));
  return std::accumulate(samples.begin(), samples.begin() + kept, 0.0) / static_cast<double>(kept);
}

}  // namespace

std::vector<TimedDistance> time_gjk(const Shape& first, const Shape& second, std::span<const Pose> poses,
                                    const GjkOptions& options, GjkStart start, double beyond,
                                    std::span<const std::uint8_t> fresh, Repetitions repetitions, bool unit) {
  require_positive(repetitions.samples, "samples");
  require_positive(repetitions.calls, "calls");
  if (!fresh.empty() && fresh.size() != poses.size()) {
    throw std::invalid_argument("fresh has " + std::to_string(fresh.size()) + " entries for " +
                                std::to_string(poses.size()) + " poses");
  }
  Gjk gjk(options);
  // The duality gap bounds |x − x*|²: a point this close to the origin may be the origin.
  const double nothing =
      options.criterion == GjkCriterion::duality_gap ? std::sqrt(options.tolerance) : options.tolerance;
  std::vector<TimedDistance> results;
  results.reserve(poses.size());
  std::vector<double> samples;
  GjkGuess guess;
  GjkPast past;
  for (std::size_t i = 0; i < poses.size(); ++i) {
    if (!fresh.empty() && fresh[i]) guess = {};
    if (start == GjkStart::none) guess.support.setZero();
    const Vector3d ray = start_direction(start, first, second, poses[i], guess, &past);
    const auto call = [&] { return gjk.run(first, Pose{}, second, poses[i], ray, guess.support, beyond); };
    const double spent = nanoseconds(call, repetitions, samples);
    const Gjk::Status status = call();
    results.push_back({.distance = gjk.distance(),
                       .nanoseconds = spent,
                       .iterations = gjk.iterations(),
                       .touching = status == Gjk::Status::overlapping ||
                                   (status == Gjk::Status::separated && gjk.distance() <= nothing),
                       .converged = status != Gjk::Status::iteration_limit});
    guess.support = gjk.hint();
    guess.ray = gjk.ray();
    const auto witness = gjk.witness();
    const bool overlapping = status == Gjk::Status::overlapping;
    // The separation vector; of overlapping shapes turned round, along which they are separated most.
    if (overlapping && witness) guess.ray = std::max(-witness->distance, 1e-6) * witness->normal;
    if (unit && !guess.ray.isZero(0.0)) guess.ray.normalize();
    if (!witness) continue;
    past.relative = poses[i];
    past.point_1 = witness->point_1;
    past.point_2 = poses[i].rotation.transpose() * (witness->point_2 - poses[i].translation);
  }
  return results;
}

std::vector<TimedDistance> time_frank_wolfe(const Shape& first, const Shape& second, std::span<const Pose> poses,
                                            double tolerance, int max_iterations, int samples) {
  require_positive(samples, "samples");
  std::vector<TimedDistance> results;
  results.reserve(poses.size());
  std::vector<double> readings;
  FrankWolfeReport report;
  for (const Pose& pose : poses) {
    const auto call = [&] { report = frank_wolfe(first, Pose{}, second, pose, tolerance, max_iterations); };
    const double spent = nanoseconds(call, {.samples = samples, .calls = 1}, readings);
    results.push_back({.distance = report.distance,
                       .nanoseconds = spent,
                       .iterations = report.iterations,
                       .touching = report.converged && report.distance == 0.0,
                       .converged = report.converged});
  }
  return results;
}

}  // namespace taut
