#include "taut/collision/gjk.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace taut {

namespace {

using Eigen::Vector3d;

coal::Transform3s to_coal(const Pose& pose) { return {pose.rotation, pose.translation}; }

coal::GJKVariant to_coal(GjkVariant variant) {
  switch (variant) {
    case GjkVariant::polyak:
      return coal::PolyakAcceleration;
    case GjkVariant::nesterov:
      return coal::NesterovAcceleration;
    case GjkVariant::vanilla:
      break;
  }
  return coal::DefaultGJK;
}

template <typename Value, std::size_t n>
Value find_name(const std::array<std::pair<std::string_view, Value>, n>& names, std::string_view name,
                const char* what) {
  std::string known;
  for (const auto& [text, value] : names) {
    if (text == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw std::invalid_argument(std::string(what) + " '" + std::string(name) + "' is not one of " + known);
}

template <typename Value, std::size_t n>
const char* name_in(const std::array<std::pair<std::string_view, Value>, n>& names, Value value) {
  for (const auto& [text, one] : names) {
    if (one == value) return text.data();
  }
  return "?";
}

constexpr std::array<std::pair<std::string_view, GjkVariant>, 3> kVariants{{
    {"vanilla", GjkVariant::vanilla},
    {"polyak", GjkVariant::polyak},
    {"nesterov", GjkVariant::nesterov},
}};
constexpr std::array<std::pair<std::string_view, GjkStart>, 5> kStarts{{
    {"none", GjkStart::none},
    {"boxes", GjkStart::boxes},
    {"previous", GjkStart::previous},
    {"turned", GjkStart::turned},
    {"transported", GjkStart::transported},
}};
constexpr std::array<std::pair<std::string_view, GjkCriterion>, 2> kCriteria{{
    {"lower_bound", GjkCriterion::lower_bound},
    {"duality_gap", GjkCriterion::duality_gap},
}};

GjkOptions checked(const GjkOptions& options) {
  validate(options);
  return options;
}

}  // namespace

GjkVariant gjk_variant(std::string_view name) { return find_name(kVariants, name, "GJK variant"); }
GjkStart gjk_start(std::string_view name) { return find_name(kStarts, name, "GJK start"); }
GjkCriterion gjk_criterion(std::string_view name) { return find_name(kCriteria, name, "GJK criterion"); }
const char* name_of(GjkVariant variant) { return name_in(kVariants, variant); }
const char* name_of(GjkStart start) { return name_in(kStarts, start); }

void validate(const GjkOptions& options) {
  const auto require = [](bool fine, const std::string& what) {
    if (!fine) throw std::invalid_argument("GJK: " + what);
  };
  require(options.tolerance > 0.0 && std::isfinite(options.tolerance),
          "tolerance is " + std::to_string(options.tolerance) + ", it must be positive and finite");
  require(options.max_iterations > 0,
          "max_iterations is " + std::to_string(options.max_iterations) + ", it must be positive");
  require(options.max_epa_iterations > 0,
          "max_epa_iterations is " + std::to_string(options.max_epa_iterations) + ", it must be positive");
  require(!options.normalize || options.variant == GjkVariant::nesterov,
          std::string("normalize is for the variant nesterov, not for ") + name_of(options.variant));
}

Gjk::Gjk(GjkOptions options)
    : options_(checked(options)),
      gjk_(static_cast<std::size_t>(options_.max_iterations), options_.tolerance),
      epa_(static_cast<std::size_t>(options_.max_epa_iterations), options_.tolerance) {
  gjk_.gjk_variant = to_coal(options_.variant);
  if (options_.criterion == GjkCriterion::duality_gap) {
    gjk_.convergence_criterion = coal::DualityGap;
    gjk_.convergence_criterion_type = coal::Absolute;
  }
}

Gjk::Status Gjk::run(const Shape& first, const Pose& first_pose, const Shape& second, const Pose& second_pose,
                     const Vector3d& start, const Eigen::Vector2i& hint, double beyond) {
  using Coal = coal::details::GJK;
  minkowski_.set(static_cast<const coal::ShapeBase*>(first.geometry),
                 static_cast<const coal::ShapeBase*>(second.geometry), to_coal(first_pose), to_coal(second_pose));
  if (options_.normalize) minkowski_.normalize_support_direction = *options_.normalize;
  gjk_.setDistanceEarlyBreak(beyond);
  start_ = start;
  switch (gjk_.evaluate(minkowski_, start, hint)) {
    case Coal::NoCollisionEarlyStopped:
      distance_ = gjk_.distance;
      return status_ = Status::beyond;
    case Coal::Collision:
      distance_ = 0.0;
      return status_ = Status::overlapping;
    case Coal::NoCollision:
    case Coal::CollisionWithPenetrationInformation:
      distance_ = gjk_.distance;
      return status_ = Status::separated;
    default:  // Coal leaves the distance at zero when it runs out of iterations
      distance_ = gjk_.ray.norm() - minkowski_.swept_sphere_radius.sum();
      return status_ = Status::iteration_limit;
  }
}

std::optional<Gjk::Witness> Gjk::witness() {
  Witness found;
  Vector3d normal;  // Coal's points from the first to the second
  if (status_ == Status::overlapping) {
    epa_.reset(static_cast<std::size_t>(options_.max_epa_iterations), options_.tolerance);
    epa_.evaluate(gjk_, -start_);
    if (epa_.status == coal::details::EPA::FallBack || epa_.status == coal::details::EPA::DidNotRun) return {};
    epa_.getWitnessPointsAndNormal(minkowski_, found.point_1, found.point_2, normal);
    found.distance = std::min(0.0, -epa_.depth);
  } else {
    gjk_.getWitnessPointsAndNormal(minkowski_, found.point_1, found.point_2, normal);
    found.distance = distance_;
  }
  found.normal = -normal;
  return found;
}

Vector3d start_direction(GjkStart start, const Shape& first, const Shape& second, const Pose& relative,
                         const GjkGuess& guess, const GjkPast* past) {
  constexpr double none = 1e-10;  // m: shorter, a vector is no direction
  if (start == GjkStart::none) return Vector3d::UnitX();
  if (start == GjkStart::boxes || guess.ray.isZero(0.0)) {
    const Vector3d centers = first.center - relative * second.center;
    return centers.norm() > none ? centers : Vector3d(Vector3d::UnitX());
  }
  if (start == GjkStart::turned && past) {
    return relative.rotation * (past->relative.rotation.transpose() * guess.ray);
  }
  if (start == GjkStart::transported && past) {
    const Vector3d carried = past->point_1 - relative * past->point_2;
    // Points of overlapping shapes lie the other way round.
    if (carried.norm() > none) return carried.dot(guess.ray) < 0.0 ? Vector3d(-carried) : carried;
  }
  return guess.ray;
}

}  // namespace taut
