#pragma once

#include <span>
#include <vector>

#include "taut/collision/gjk.hpp"

namespace taut {

/// What one problem cost.
struct TimedDistance {
  double distance;     ///< as `Gjk::distance`
  double nanoseconds;  ///< of a call: mean of the 90 % lowest of the repetitions, as [GJK] reports them
  int iterations;
  bool touching;   ///< overlapping, or closer than the criterion can tell
  bool converged;  ///< not stopped by a limit
};

/// How often a call is repeated to time it.
struct Repetitions {
  int samples = 10;  ///< readings of the clock
  int calls = 10;    ///< between two of them
};

/// Runs GJK on two shapes with the second at each of `poses` in the first's frame. `start` takes what it remembers from
/// the pose before; `fresh`, if not empty, has a nonzero where there is none. A remembered guess is that of GJK, or of
/// EPA where shapes overlap, whose time does not count; with `unit` it is scaled to length one, as the detector keeps
/// it. `beyond` as in `Gjk::run`. Throws std::invalid_argument if sizes differ or repetitions are not positive.
std::vector<TimedDistance> time_gjk(const Shape& first, const Shape& second, std::span<const Pose> poses,
                                    const GjkOptions& options, GjkStart start, double beyond,
                                    std::span<const std::uint8_t> fresh = {}, Repetitions repetitions = {},
                                    bool unit = false);

/// The same for `frank_wolfe`, called `samples` times each.
std::vector<TimedDistance> time_frank_wolfe(const Shape& first, const Shape& second, std::span<const Pose> poses,
                                            double tolerance, int max_iterations, int samples);

}  // namespace taut
