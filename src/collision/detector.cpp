#include "taut/collision/detector.hpp"

#include <coal/collision.h>
#include <coal/collision_func_matrix.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace taut {

namespace {

using Eigen::Vector3d;

const coal::CollisionFunctionMatrix& coal_functions() {
  static const coal::CollisionFunctionMatrix functions;
  return functions;
}

// The same order for (a, b) and (b, a): by kind, then by size. Twins keep the order of the model.
bool leads(const Shape& a, const Shape& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.radius < b.radius;
}

coal::Transform3s to_coal(const Pose& pose) { return {pose.rotation, pose.translation}; }

}  // namespace

CollisionDetector::CollisionDetector(const pinocchio::GeometryModel& geometry) {
  const auto& objects = geometry.geometryObjects;
  shapes_.reserve(objects.size());
  for (const auto& object : objects) {
    if (!object.geometry) throw std::invalid_argument("shape '" + object.name + "' has no geometry");
    shapes_.push_back(make_shape(*object.geometry, object.name.c_str()));
  }
  poses_.resize(objects.size());
  balls_.resize(objects.size());

  pairs_.reserve(geometry.collisionPairs.size());
  for (const auto& collision_pair : geometry.collisionPairs) {
    int a = static_cast<int>(collision_pair.first), b = static_cast<int>(collision_pair.second);
    if (leads(shapes_[b], shapes_[a])) std::swap(a, b);
    Pair pair{.index = static_cast<int>(pairs_.size()),
              .leading = a,
              .other = b,
              .joint_1 = 0,
              .joint_2 = 0,
              .normal_to_leading = true,
              .method = {}};
    const Shape::Kind last = shapes_[b].kind;  // half-spaces and height fields come last in the order of kinds
    if (shapes_[a].kind >= Shape::Kind::half_space) {
      throw std::invalid_argument("shapes '" + objects[a].name + "' and '" + objects[b].name +
                                  "' cannot collide: one of them must be bounded and convex");
    }
    pair.method = last == Shape::Kind::half_space     ? Pair::Method::half_space
                  : last == Shape::Kind::height_field ? Pair::Method::height_field
                                                      : Pair::Method::convex;
    pair.joint_1 = static_cast<int>(objects[collision_pair.first].parentJoint);
    pair.joint_2 = static_cast<int>(objects[collision_pair.second].parentJoint);
    if (pair.joint_1 == 0) std::swap(pair.joint_1, pair.joint_2);
    pair.normal_to_leading = static_cast<int>(objects[a].parentJoint) == pair.joint_1;
    pairs_.push_back(pair);
  }
  touches_.reserve(64);

  std::size_t joints = 1;
  for (const auto& object : objects) joints = std::max(joints, object.parentJoint + 1);
  hulls_.resize(joints);
  body_balls_.resize(joints);
  std::vector<bool> begun(joints, false);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (shapes_[i].kind == Shape::Kind::half_space) continue;
    Hull& hull = hulls_[objects[i].parentJoint];
    const Vector3d center = objects[i].placement.act(shapes_[i].center);
    if (!begun[objects[i].parentJoint]) {
      hull = {center, shapes_[i].radius};
      begun[objects[i].parentJoint] = true;
      continue;
    }
    // The smallest ball around two: no larger than needed for a thigh and its caps.
    const double distance = (center - hull.center).norm();
    if (distance + shapes_[i].radius <= hull.radius) continue;
    if (distance + hull.radius <= shapes_[i].radius) {
      hull = {center, shapes_[i].radius};
      continue;
    }
    const double radius = 0.5 * (distance + hull.radius + shapes_[i].radius);
    hull.center += (radius - hull.radius) / distance * (center - hull.center);
    hull.radius = radius * (1.0 + 1e-12);
  }
  build_groups();

  request_.num_max_contacts = 1;
  request_.enable_contact = true;
  // Height fields go through Coal's wrapper.
  request_.gjk_initial_guess = coal::GJKInitialGuess::CachedGuess;
  request_.gjk_tolerance = tolerance;
  request_.epa_tolerance = tolerance;
  request_.gjk_max_iterations = gjk_iterations;
  request_.epa_max_iterations = epa_iterations;
  epa_.reset(epa_iterations, tolerance);
}

void CollisionDetector::build_groups() {
  const auto key = [&](const Pair& pair) {
    const bool plane = pair.method == Pair::Method::half_space;
    return std::array<int, 3>{std::min(pair.joint_1, pair.joint_2), std::max(pair.joint_1, pair.joint_2),
                              plane ? pair.other : -1};
  };
  std::stable_sort(pairs_.begin(), pairs_.end(), [&](const Pair& a, const Pair& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const int order = static_cast<int>(i);
    if (i == 0 || key(pairs_[i]) != key(pairs_[i - 1])) {
      const Pair& pair = pairs_[i];
      const bool plane = pair.method == Pair::Method::half_space;
      const int body = pair.normal_to_leading ? pair.joint_1 : pair.joint_2;  // of the leading, bounded shape
      groups_.push_back({plane ? body : pair.joint_1, pair.joint_2, plane ? pair.other : -1, order, order});
    }
    groups_.back().last = order + 1;
  }
}

bool CollisionDetector::culled(const Group& group, double margin) const {
  const Ball& a = body_balls_[static_cast<std::size_t>(group.joint_1)];
  if (group.half_space >= 0) {
    const Shape& plane = shapes_[static_cast<std::size_t>(group.half_space)];
    const Pose& pose = poses_[static_cast<std::size_t>(group.half_space)];
    const double travel = a.travel + balls_[static_cast<std::size_t>(group.half_space)].travel;
    const Vector3d n = pose.rotation * plane.normal;
    return n.dot(a.center - pose.translation) - plane.offset > a.radius + margin + travel;
  }
  const Ball& b = body_balls_[static_cast<std::size_t>(group.joint_2)];
  const double reach = a.radius + b.radius + margin + a.travel + b.travel;
  return (a.center - b.center).squaredNorm() > reach * reach;
}

CollisionMemory CollisionDetector::memory() const {
  CollisionMemory memory;
  memory.touches.reserve(64);
  memory.guesses.resize(pairs_.size());
  return memory;
}

void CollisionDetector::place(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                              std::span<const pinocchio::Motion> velocity, double dt) {
  for (std::size_t j = 0; j < hulls_.size(); ++j) {
    body_balls_[j] = {oMi[j].act(hulls_[j].center), hulls_[j].radius, 0.0};
    if (j == 0) continue;
    const auto& v = velocity[j];
    body_balls_[j].travel =
        dt * ((v.linear() + v.angular().cross(hulls_[j].center)).norm() + v.angular().norm() * hulls_[j].radius);
  }
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const auto& object = geometry.geometryObjects[i];
    const pinocchio::SE3& oMj = oMi[object.parentJoint];
    const pinocchio::SE3& jMg = object.placement;
    Pose& pose = poses_[i];
    pose.rotation.noalias() = oMj.rotation() * jMg.rotation();
    pose.translation.noalias() = oMj.rotation() * jMg.translation();
    pose.translation += oMj.translation();
    Ball& ball = balls_[i];
    ball.center = pose * shapes_[i].center;
    ball.radius = shapes_[i].radius;
    ball.travel = 0.0;
    if (object.parentJoint != 0) {
      const auto& v = velocity[object.parentJoint];
      const Vector3d center = jMg.rotation() * shapes_[i].center + jMg.translation();
      ball.travel = dt * ((v.linear() + v.angular().cross(center)).norm() + v.angular().norm() * ball.radius);
    }
  }
}

bool CollisionDetector::culled(const Pair& pair, const CollisionMemory::Guess& guess, double margin) const {
  const Ball& a = balls_[pair.leading];
  const Ball& b = balls_[pair.other];
  if (pair.method == Pair::Method::half_space) {
    const Vector3d n = poses_[pair.other].rotation * shapes_[pair.other].normal;
    return n.dot(a.center - poses_[pair.other].translation) - shapes_[pair.other].offset > a.radius + margin;
  }
  const double reach = a.radius + b.radius + margin;
  if ((a.center - b.center).squaredNorm() > reach * reach) return true;
  if (pair.method == Pair::Method::height_field) return false;

  // A direction that separated the shapes before most likely still does: any direction gives a lower bound.
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  constexpr std::size_t cheap = 64;  // vertices: beyond it GJK's hill climbing is cheaper than a scan
  if ((first.vertices && first.vertices->size() > cheap) || (second.vertices && second.vertices->size() > cheap)) {
    return false;
  }
  // Pairs with a closed form leave no direction behind; the line of centres is a good one for them.
  const Vector3d n = closed_form(first, second) ? Vector3d((a.center - b.center).normalized())
                                                : Vector3d((poses_[pair.leading].rotation * guess.ray).normalized());
  return separation(first, poses_[pair.leading], second, poses_[pair.other], n) > margin;
}

void CollisionDetector::detect(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                               std::span<const pinocchio::Motion> velocity, double dt, double margin,
                               CollisionMemory& memory, std::vector<Contact>& contacts) {
  place(geometry, oMi, velocity, dt);
  contacts.clear();
  touches_.clear();
  narrow_phase_calls_ = 0;
  auto before = memory.touches.begin();
  for (const Group& group : groups_) {
    if (culled(group, margin)) continue;
    for (int order = group.first; order < group.last; ++order) {
      const Pair& pair = pairs_[static_cast<std::size_t>(order)];
      CollisionMemory::Guess& guess = memory.guesses[static_cast<std::size_t>(order)];
      const double reach = margin + balls_[pair.leading].travel + balls_[pair.other].travel;
      if (culled(pair, guess, reach)) continue;
      ++narrow_phase_calls_;
      patch_.count = 0;
      collide(pair, reach, guess);
      if (patch_.count == 0) continue;
      reduce_to_four(patch_);
      while (before != memory.touches.end() && before->order < order) ++before;
      auto after = before;
      while (after != memory.touches.end() && after->order == order) ++after;
      emit(order, pair, {before, after}, touches_, contacts);
    }
  }
  std::swap(memory.touches, touches_);
}

void CollisionDetector::collide(const Pair& pair, double margin, CollisionMemory::Guess& guess) {
  switch (pair.method) {
    case Pair::Method::half_space:
      half_space_patch(shapes_[pair.leading], poses_[pair.leading], shapes_[pair.other], poses_[pair.other], margin,
                       patch_);
      break;
    case Pair::Method::convex:
      collide_convex(pair, margin, guess);
      break;
    case Pair::Method::height_field:
      collide_height_field(pair, margin);
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

// GJK and EPA themselves, not Coal's wrapper around them: that one allocates at every call, for the messages of
// assertions that are compiled out.
CollisionDetector::Witness CollisionDetector::run_gjk(const Pair& pair, const Vector3d& shift, double margin,
                                                      CollisionMemory::Guess& guess) {
  using Status = coal::details::GJK::Status;
  const Pose& pose = poses_[pair.leading];
  Pose shifted = poses_[pair.other];
  shifted.translation += shift;
  minkowski_.set(static_cast<const coal::ShapeBase*>(shapes_[pair.leading].geometry),
                 static_cast<const coal::ShapeBase*>(shapes_[pair.other].geometry), to_coal(pose), to_coal(shifted));
  gjk_.setDistanceEarlyBreak(margin);
  const Vector3d start = guess.ray;
  const Status status = gjk_.evaluate(minkowski_, start, guess.support);
  guess.support = gjk_.support_hint;
  // A ray of zero length (overlap) is no direction to start from.
  if (gjk_.ray.squaredNorm() > 1e-20 && gjk_.ray.allFinite()) guess.ray = gjk_.ray.normalized();

  Witness witness;
  Vector3d point_1, point_2, normal;
  if (status == Status::NoCollisionEarlyStopped || status == Status::DidNotRun) {
    return witness;
  } else if (status == Status::Collision) {
    epa_.reset(epa_iterations, tolerance);
    epa_.evaluate(gjk_, -start);
    if (epa_.status == coal::details::EPA::FallBack || epa_.status == coal::details::EPA::DidNotRun) return witness;
    epa_.getWitnessPointsAndNormal(minkowski_, point_1, point_2, normal);
    witness.distance = std::min(0.0, -epa_.depth);
    guess.ray = -epa_.normal;
  } else {
    gjk_.getWitnessPointsAndNormal(minkowski_, point_1, point_2, normal);
    witness.distance = gjk_.distance;
  }
  witness.found = witness.distance <= margin;
  witness.normal = -(pose.rotation * normal);
  witness.point = pose * (0.5 * (point_1 + point_2));
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
      CollisionMemory::Guess fresh;
      fresh.ray = poses_[pair.leading].rotation.transpose() * away;
      const Vector3d shift = -(apart + std::max(0.0, -reached)) * away;
      const Witness other = run_gjk(pair, shift, margin + 4.0 * shift.norm(), fresh);
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

void CollisionDetector::collide_convex(const Pair& pair, double margin, CollisionMemory::Guess& guess) {
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
  Witness witness = run_gjk(pair, Vector3d::Zero(), margin, guess);
  if (!witness.found) {
    witness.normal = first_pose.rotation * guess.ray;  // what GJK says separates them
    witness.point = 0.5 * (balls_[pair.leading].center + balls_[pair.other].center);
  }
  double best = measured(witness.normal);
  if (!witness.found && best > margin) return;

  // The answer must be consistent: the normal separates the shapes by the distance it comes with, or, without a
  // contact, by more than the margin. GJK and EPA fail that once in a hundred times when polyhedra just touch
  // (docs/decisions/collision.md), and EPA is slow to converge on curved shapes.
  const double claimed = witness.found ? witness.distance : margin;
  if (!(best >= claimed - 1e-6)) best = best_face_normal(first, first_pose, second, second_pose, best, witness.normal);
  const bool curved = first.kind < Shape::Kind::box;  // the curved kinds come first, and so does their shape
  if (!(best >= claimed - 1e-6) || (curved && best < 0.0)) {
    ask_from_apart(pair, margin, best, witness);
  }
  if (!witness.normal.allFinite() || !(best <= margin)) return;
  convex_patch(first, first_pose, second, second_pose, witness.normal.normalized(), witness.point, best, margin,
               patch_);
}

void CollisionDetector::collide_height_field(const Pair& pair, double margin) {
  request_.num_max_contacts = Patch::capacity;
  request_.security_margin = margin;
  request_.distance_upper_bound = margin;
  request_.cached_gjk_guess = Vector3d::UnitX();
  request_.cached_support_func_guess.setZero();
  result_.clear();
  coal::collide(shapes_[pair.leading].geometry, to_coal(poses_[pair.leading]), shapes_[pair.other].geometry,
                to_coal(poses_[pair.other]), request_, result_);
  const Shape& shape = shapes_[pair.leading];
  const Pose& pose = poses_[pair.leading];
  const bool round = shape.kind <= Shape::Kind::capsule;
  Shape plane{.kind = Shape::Kind::half_space};
  bool level = true;  // all contacts lie in one plane
  for (std::size_t i = 0; i < result_.numContacts(); ++i) {
    const coal::Contact& contact = result_.getContact(i);
    // Coal's depth is −|distance| here; the witness points know the sign.
    const double gap = contact.normal.dot(contact.nearest_points[1] - contact.nearest_points[0]);
    if (!(gap <= margin) || !contact.normal.allFinite()) continue;
    const Vector3d n = -contact.normal;
    const double offset = n.dot(contact.nearest_points[1]);
    if (patch_.count == 0) plane.normal = n, plane.offset = offset;
    level = level && (n - plane.normal).norm() < 1e-6 && std::abs(offset - plane.offset) < 1e-7;
    patch_.normal = n;
    // Coal's point may be anywhere on the cell; of a round shape the nearest one is known.
    const Vector3d point =
        round ? Vector3d(pose * support(shape, pose.rotation.transpose() * -n) - 0.5 * gap * n) : Vector3d(contact.pos);
    patch_.add(point, gap);
  }
  // A shape that stands whole on level cells meets a half-space: its corners, not points inside its face.
  const Pose& field = poses_[pair.other];
  const Vector3d center = field.rotation.transpose() * (balls_[pair.leading].center - field.translation);
  const auto& box = shapes_[pair.other].geometry->aabb_local;
  const double r = shape.radius;
  const bool inside =
      (center.head<2>() - box.min_.head<2>()).minCoeff() > r && (box.max_.head<2>() - center.head<2>()).minCoeff() > r;
  if (patch_.count > 0 && level && inside && !round) half_space_patch(shape, pose, plane, Pose{}, margin, patch_);
}

void CollisionDetector::emit(int order, const Pair& pair, std::span<const CollisionMemory::Touch> before,
                             std::vector<CollisionMemory::Touch>& now, std::vector<Contact>& contacts) const {
  const Pose& pose = poses_[pair.leading];
  std::array<bool, 4> taken{};
  std::array<int, 4> slot{-1, -1, -1, -1};
  std::array<Vector3d, 4> local;
  for (int i = 0; i < patch_.count; ++i) {
    local[i] = pose.rotation.transpose() * (patch_.points[i].position - pose.translation);
  }
  // Nearest first: the closest (old, new) couple is the same contact, then the next closest.
  for (int round = 0; round < patch_.count; ++round) {
    double nearest = HUGE_VAL;
    int point = -1, old_slot = -1;
    for (int i = 0; i < patch_.count; ++i) {
      if (slot[i] >= 0) continue;
      for (const auto& touch : before) {
        if (taken[touch.slot]) continue;
        const double distance = (touch.local - local[i]).squaredNorm();
        if (distance < nearest) nearest = distance, point = i, old_slot = touch.slot;
      }
    }
    if (point < 0) break;
    slot[point] = old_slot;
    taken[old_slot] = true;
  }
  for (int i = 0; i < patch_.count; ++i) {
    if (slot[i] < 0) {
      slot[i] = static_cast<int>(std::find(taken.begin(), taken.end(), false) - taken.begin());
      taken[slot[i]] = true;
    }
    now.push_back({order, slot[i], local[i]});
    const Patch::Point& point = patch_.points[i];
    Contact contact{.pair = pair.index,
                    .order = order,
                    .slot = slot[i],
                    .joint_1 = pair.joint_1,
                    .joint_2 = pair.joint_2,
                    .gap = point.gap,
                    .point = point.position};
    contact.frame = contact_frame(pair.normal_to_leading ? point.normal : Vector3d(-point.normal));
    contacts.push_back(contact);
  }
}

}  // namespace taut
