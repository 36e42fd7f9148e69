#pragma once

#include <coal/narrowphase/gjk.h>

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taut/collision/patch.hpp"
#include "taut/collision/shape.hpp"

namespace taut {

/// How the next support direction is chosen [GJK, Alg. 4 and 6]: along the current point, or with momentum.
enum class GjkVariant : std::uint8_t { vanilla, polyak, nesterov };

/// When it stops. `lower_bound` (Coal's default): |x| is within the tolerance of the best separating plane, in m and
/// relative to 1 + |x|. `duality_gap` [GJK, eq. (32)]: 2 x·(x − s) ≤ tolerance, in m²; |x − x*|² is below it.
enum class GjkCriterion : std::uint8_t { lower_bound, duality_gap };

struct GjkOptions {
  GjkVariant variant = GjkVariant::vanilla;
  /// Nesterov's directions scaled to one before they are added [GJK, eq. (33)]. Unset: as Coal does, for two shapes
  /// with flat faces; of curved shapes that overlap, normalized directions may circle around the origin until the
  /// limit. Coal has no such choice for Polyak's, which [GJK] finds not to need it.
  std::optional<bool> normalize{};
  GjkCriterion criterion = GjkCriterion::lower_bound;
  // Gaps enter the step as gap / dt: 1e-9 m is 1e-6 m/s at a millisecond, the solver's tolerance.
  double tolerance = 1e-9;
  int max_iterations = 256;
  int max_epa_iterations = 64;
};

/// Throws std::invalid_argument naming the value: tolerance or a limit that is not positive, normalization without
/// Nesterov's variant.
void validate(const GjkOptions& options);

/// Coal's GJK, and its EPA where shapes overlap, on two convex shapes: called themselves, not through Coal's wrapper,
/// which allocates at every call for the messages of assertions that are compiled out. One per thread.
class Gjk {
 public:
  enum class Status : std::uint8_t {
    separated,       ///< converged; `distance` is within the tolerance
    beyond,          ///< farther than asked for; `distance` is a lower bound
    overlapping,     ///< the shapes share a point; the depth is EPA's to find
    iteration_limit  ///< `distance` is an upper bound
  };

  explicit Gjk(GjkOptions options = {});  ///< throws as `validate` does

  /// Runs from `start`, an estimate of (point on the first) − (point on the second) in the first shape's frame; only
  /// its direction matters to the vanilla variant, and a zero is no estimate. `hint` holds vertices of meshes to search
  /// from. Stops as soon as the shapes are known to be farther apart than `beyond`: 0 asks only whether they touch.
  Status run(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
             const Eigen::Vector3d& start, const Eigen::Vector2i& hint = Eigen::Vector2i::Zero(),
             double beyond = std::numeric_limits<double>::max());

  // Of the last run.
  double distance() const { return distance_; }
  /// Of Coal: support points that were added to the simplex. The call that only finds momentum at its end, or the
  /// optimum reached, is not counted.
  int iterations() const { return static_cast<int>(gjk_.getNumIterations()); }
  const Eigen::Vector3d& ray() const { return gjk_.ray; }  ///< where it ended: first − second, first's frame
  const Eigen::Vector2i& hint() const { return gjk_.support_hint; }

  struct Witness {
    double distance;          ///< signed
    Eigen::Vector3d normal;   ///< to the first shape, in its frame
    Eigen::Vector3d point_1;  ///< on the first shape, in its frame
    Eigen::Vector3d point_2;  ///< on the second shape, in the first's frame
  };
  /// Normal and points of the last run; runs EPA if the shapes overlap. Empty if EPA failed. After `beyond` it is an
  /// estimate.
  std::optional<Witness> witness();

  const GjkOptions& options() const { return options_; }

 private:
  GjkOptions options_;
  coal::details::MinkowskiDiff minkowski_;
  coal::details::GJK gjk_;
  coal::details::EPA epa_;
  Eigen::Vector3d start_ = Eigen::Vector3d::UnitX();
  Status status_ = Status::separated;
  double distance_ = 0.0;
};

/// Where a run starts [GJK, Sec. IV-D].
enum class GjkStart : std::uint8_t {
  none,        ///< (1, 0, 0)
  boxes,       ///< the line between the centres of the bounding boxes
  previous,    ///< where the last run ended, in the first shape's frame; the boxes if there was none
  turned,      ///< the same, turned as the second shape turned since
  transported  ///< the difference of the nearest points of the last run, each carried along by its shape
};

/// What a pair of shapes keeps for its next run.
struct GjkGuess {
  Eigen::Vector3d ray = Eigen::Vector3d::Zero();  ///< in the first shape's frame; zero: none yet
  Eigen::Vector2i support = Eigen::Vector2i::Zero();
};

/// What `turned` and `transported` need besides.
struct GjkPast {
  Pose relative;  ///< of the second shape in the first's frame
  Eigen::Vector3d point_1 = Eigen::Vector3d::Zero(), point_2 = Eigen::Vector3d::Zero();  ///< each in its own frame
};

inline bool needs_past(GjkStart start) { return start == GjkStart::turned || start == GjkStart::transported; }

/// A start for two shapes with the second at `relative` in the first's frame; `past` may be null where it is not
/// needed.
Eigen::Vector3d start_direction(GjkStart start, const Shape& first, const Shape& second, const Pose& relative,
                                const GjkGuess& guess, const GjkPast* past);

/// By name, for users; both throw std::invalid_argument that lists the names.
GjkVariant gjk_variant(std::string_view name);
GjkStart gjk_start(std::string_view name);
GjkCriterion gjk_criterion(std::string_view name);
const char* name_of(GjkVariant variant);
const char* name_of(GjkStart start);

}  // namespace taut
