// The part of CollisionDetector that looks at one pair: closed forms, GJK and EPA with their answers checked, height
// fields.
#include <coal/collision.h>
#include <coal/collision_func_matrix.h>

#include <algorithm>
#include <cmath>

#include "taut/collision/detector.hpp"
#include "taut/collision/distance.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

const coal::CollisionFunctionMatrix& coal_functions() {
  static const coal::CollisionFunctionMatrix functions;
  return functions;
}

coal::Transform3s to_coal(const Pose& pose) { return {pose.rotation, pose.translation}; }

}  // namespace

void CollisionDetector::collide(const Pair& pair, double margin, GjkGuess& guess, GjkPast* past) {
  switch (pair.method) {
    case Pair::Method::half_space:
      half_space_patch(shapes_[pair.leading], poses_[pair.leading], shapes_[pair.other], poses_[pair.other], margin,
                       patch_);
      break;
    case Pair::Method::convex:
      collide_convex(pair, margin, guess, past);
      break;
    case Pair::Method::height_field:
      height_field_patch(shapes_[pair.leading], poses_[pair.leading], shapes_[pair.other], poses_[pair.other], margin,
                         patch_);
      break;
  }
}

// Coal has closed forms for these; `gjk_` is left alone then.
bool CollisionDetector::closed_form(const Shape& first, const Shape& second) {
  using Kind = Shape::Kind;
  if (first.kind == Kind::capsule) return second.kind == Kind::capsule;
  return first.kind == Kind::sphere && (second.kind == Kind::sphere || second.kind == Kind::capsule ||
                                        second.kind == Kind::cylinder || second.kind == Kind::box);
}

CollisionDetector::Witness CollisionDetector::run_closed_form(const Pair& pair, double margin) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  request_.num_max_contacts = 1;
  request_.security_margin = margin;
  request_.distance_upper_bound = margin;
  result_.clear();
  const auto function =
      coal_functions().collision_matrix[first.geometry->getNodeType()][second.geometry->getNodeType()];
  function(first.geometry, to_coal(poses_[pair.leading]), second.geometry, to_coal(poses_[pair.other]), &solver_,
           request_, result_);
  if (!result_.isCollision()) return {};
  const coal::Contact& contact = result_.getContact(0);
  return {.found = true, .normal = -contact.normal, .point = contact.pos, .distance = contact.penetration_depth};
}

CollisionDetector::Witness CollisionDetector::run_gjk(Gjk& gjk, const Pair& pair, const Vector3d& shift, double margin,
                                                      GjkGuess& guess) {
  const Pose& pose = poses_[pair.leading];
  Pose shifted = poses_[pair.other];
  shifted.translation += shift;
  const Gjk::Status status =
      gjk.run(shapes_[pair.leading], pose, shapes_[pair.other], shifted, guess.ray, guess.support, margin);
  guess.support = gjk.hint();
  // Of length one: momentum adds vectors, and one as short as a gap counts for nothing beside the first support point
  // (docs/experiments/gjk.md). A ray of zero length (overlap) is no direction to start from.
  if (gjk.ray().squaredNorm() > 1e-20 && gjk.ray().allFinite()) guess.ray = gjk.ray().normalized();
  if (status == Gjk::Status::beyond) return {};
  const auto found = gjk.witness();
  if (!found) return {};
  if (status == Gjk::Status::overlapping) guess.ray = found->normal;
  return {.found = found->distance <= margin,
          .normal = pose.rotation * found->normal,
          .point = pose * (0.5 * (found->point_1 + found->point_2)),
          .distance = found->distance};
}

// The first question to a pair, from where the options say.
CollisionDetector::Witness CollisionDetector::run_from_start(const Pair& pair, double margin, GjkGuess& guess,
                                                             GjkPast* past) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  const Pose& oM1 = poses_[pair.leading];
  const Pose& oM2 = poses_[pair.other];
  const Pose relative{oM1.rotation.transpose() * oM2.rotation,
                      oM1.rotation.transpose() * (oM2.translation - oM1.translation)};
  guess.ray = start_direction(narrow_phase_.start, first, second, relative, guess, past);
  if (narrow_phase_.start == GjkStart::none) guess.support.setZero();
  const Witness witness = run_gjk(gjk_, pair, Vector3d::Zero(), margin, guess);
  if (past) {
    past->relative = relative;
    const auto estimate = witness.found ? std::nullopt : gjk_.witness();
    const Vector3d half = 0.5 * witness.distance * witness.normal;
    const Vector3d point_1 = estimate ? oM1 * estimate->point_1 : Vector3d(witness.point + half);
    const Vector3d point_2 = estimate ? oM1 * estimate->point_2 : Vector3d(witness.point - half);
    past->point_1 = oM1.rotation.transpose() * (point_1 - oM1.translation);
    past->point_2 = oM2.rotation.transpose() * (point_2 - oM2.translation);
  }
  return witness;
}

// From a little apart along a direction the nearest features are those of the contact, and GJK sees them clearly. For
// the right direction asking again gives it back: a fixed point, and a direction that separates most. Overlapping
// shapes can have several; EPA's answer and the line of centres are the places to start from.
void CollisionDetector::ask_from_apart(const Pair& pair, double margin, double& best, Witness& witness) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  const double apart = 1e-2 * std::min(first.radius, second.radius);
  const Vector3d centers = balls_[pair.leading].center - balls_[pair.other].center;
  for (const Vector3d& start : {Vector3d(witness.normal), centers}) {
    Vector3d away = start.normalized();
    if (!away.allFinite()) continue;
    double reached = separation(first, poses_[pair.leading], second, poses_[pair.other], away);
    for (int attempt = 0; attempt < 10; ++attempt) {
      GjkGuess fresh;
      fresh.ray = poses_[pair.leading].rotation.transpose() * away;
      const Vector3d shift = -(apart + std::max(0.0, -reached)) * away;
      const Witness other = run_gjk(vanilla_, pair, shift, margin + 4.0 * shift.norm(), fresh);
      if (!other.found || !other.normal.allFinite()) break;
      away = other.normal.normalized();
      const double s = separation(first, poses_[pair.leading], second, poses_[pair.other], away);
      if (s > best) {
        best = s;
        witness.normal = away;
        witness.point = other.point - 0.5 * shift;
      }
      if (s - reached < 1e-10) break;
      reached = s;
    }
  }
}

void CollisionDetector::collide_convex(const Pair& pair, double margin, GjkGuess& guess, GjkPast* past) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  const Pose& first_pose = poses_[pair.leading];
  const Pose& second_pose = poses_[pair.other];
  if (closed_form(first, second)) {
    const Witness witness = run_closed_form(pair, margin);
    if (witness.found && witness.normal.allFinite()) {
      convex_patch(first, first_pose, second, second_pose, witness.normal, witness.point, witness.distance, margin,
                   patch_);
    }
    return;
  }
  const auto measured = [&](const Vector3d& n) {
    return n.allFinite() ? separation(first, first_pose, second, second_pose, n.normalized()) : -HUGE_VAL;
  };
  Witness witness = run_from_start(pair, margin, guess, past);
  const auto ask_the_ray = [&] {  // what GJK says separates them
    witness.normal = first_pose.rotation * guess.ray;
    witness.point = 0.5 * (balls_[pair.leading].center + balls_[pair.other].center);
  };
  if (!witness.found) ask_the_ray();
  double best = measured(witness.normal);
  if (!witness.found && best > margin) return;
  if (!witness.found && narrow_phase_.variant != GjkVariant::vanilla) {
    // With momentum GJK stops at a direction that it does not tell. From its point the vanilla one is there at once.
    witness = run_gjk(vanilla_, pair, Vector3d::Zero(), margin, guess);
    if (!witness.found) ask_the_ray();
    best = measured(witness.normal);
    if (!witness.found && best > margin) return;
  }

  // The answer must be consistent: the normal separates the shapes by the distance it comes with, or, without a
  // contact, by more than the margin. GJK and EPA fail that once in a hundred times when polyhedra just touch
  // (docs/decisions/collision.md), and EPA is slow to converge on curved shapes.
  const double claimed = witness.found ? witness.distance : margin;
  if (!(best >= claimed - 1e-6)) best = best_face_normal(first, first_pose, second, second_pose, best, witness.normal);
  const bool curved = first.kind < Shape::Kind::box;  // the curved kinds come first, and so does their shape
  if (deep(first, second, best)) {
    const Distance at = taut::distance(first, {first_pose.rotation, first_pose.translation}, second,
                                       {second_pose.rotation, second_pose.translation}, vanilla_);
    if (at.distance > best - 1e-9) {
      best = at.distance;
      witness.normal = at.normal;
      witness.point = 0.5 * (at.point_1 + at.point_2);
    }
  } else if (!(best >= claimed - 1e-6) || (curved && best < 0.0)) {
    ask_from_apart(pair, margin, best, witness);
  }
  if (!witness.normal.allFinite() || !(best <= margin)) return;
  // On round surfaces GJK's normal is good to the root of its tolerance: derivatives want it to rounding.
  if (curved) {
    const Vector3d n = witness.normal.normalized(), half = 0.5 * best * n;
    Distance at{.distance = best, .normal = n, .point_1 = witness.point + half, .point_2 = witness.point - half};
    if (refine(first, {first_pose.rotation, first_pose.translation}, second,
               {second_pose.rotation, second_pose.translation}, at)) {
      witness.normal = at.normal;
      witness.point = 0.5 * (at.point_1 + at.point_2);
      best = at.distance;
    }
  }
  convex_patch(first, first_pose, second, second_pose, witness.normal.normalized(), witness.point, best, margin,
               patch_);
}

}  // namespace taut
