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

// The same order for (a, b) and (b, a): by kind, then by size, then by index, which can only matter for twins.
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
    Pair pair{.leading = a, .other = b, .joint_1 = 0, .joint_2 = 0, .normal_to_leading = true, .method = {}};
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

  request_.num_max_contacts = 1;
  request_.enable_contact = true;
  request_.gjk_initial_guess = coal::GJKInitialGuess::CachedGuess;
  // Gaps enter the step as gap / dt: 1e-9 m is 1e-6 m/s at a millisecond, the solver's tolerance.
  request_.gjk_tolerance = 1e-9;
  request_.epa_tolerance = 1e-9;
  request_.gjk_max_iterations = 256;
  request_.epa_max_iterations = 128;
}

CollisionMemory CollisionDetector::memory() const {
  CollisionMemory memory;
  memory.touches.reserve(64);
  memory.guesses.resize(pairs_.size());
  return memory;
}

void CollisionDetector::place(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                              std::span<const pinocchio::Motion> velocity, double dt) {
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
  const Vector3d n = (poses_[pair.leading].rotation * guess.ray).normalized();
  const Vector3d near_1 = poses_[pair.leading] * support(first, poses_[pair.leading].rotation.transpose() * -n);
  const Vector3d near_2 = poses_[pair.other] * support(second, poses_[pair.other].rotation.transpose() * n);
  return n.dot(near_1 - near_2) > margin;
}

void CollisionDetector::detect(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                               std::span<const pinocchio::Motion> velocity, double dt, double margin,
                               CollisionMemory& memory, std::vector<Contact>& contacts) {
  place(geometry, oMi, velocity, dt);
  contacts.clear();
  touches_.clear();
  narrow_phase_calls_ = 0;
  auto before = memory.touches.begin();
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const Pair& pair = pairs_[i];
    const double reach = margin + balls_[pair.leading].travel + balls_[pair.other].travel;
    if (culled(pair, memory.guesses[i], reach)) continue;
    ++narrow_phase_calls_;
    patch_.count = 0;
    collide(pair, reach, memory.guesses[i]);
    if (patch_.count == 0) continue;
    reduce_to_four(patch_);
    const int index = static_cast<int>(i);
    while (before != memory.touches.end() && before->pair < index) ++before;
    auto after = before;
    while (after != memory.touches.end() && after->pair == index) ++after;
    emit(index, pair, {before, after}, touches_, contacts);
  }
  std::swap(memory.touches, touches_);
}

void CollisionDetector::collide(const Pair& pair, double margin, CollisionMemory::Guess& guess) {
  switch (pair.method) {
    case Pair::Method::half_space:
      half_space_patch(shapes_[pair.leading], poses_[pair.leading], shapes_[pair.other], poses_[pair.other], margin,
                       patch_);
      break;
    case Pair::Method::convex: collide_convex(pair, margin, guess); break;
    case Pair::Method::height_field: collide_height_field(pair, margin); break;
  }
}

CollisionDetector::Witness CollisionDetector::run_gjk(const Pair& pair, const Vector3d& shift, double margin,
                                                      CollisionMemory::Guess& guess) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  request_.num_max_contacts = 1;
  request_.security_margin = margin;
  request_.distance_upper_bound = margin;
  request_.cached_gjk_guess = guess.ray;
  request_.cached_support_func_guess = guess.support;
  gjk_.set(request_);
  result_.clear();
  Pose shifted = poses_[pair.other];
  shifted.translation += shift;
  const auto function =
      coal_functions().collision_matrix[first.geometry->getNodeType()][second.geometry->getNodeType()];
  function(first.geometry, to_coal(poses_[pair.leading]), second.geometry, to_coal(shifted), &gjk_, request_, result_);
  // A ray of zero length (deep overlap) is no direction to start from.
  guess.ray = gjk_.cached_guess.squaredNorm() > 1e-20 ? Vector3d(gjk_.cached_guess.normalized()) : Vector3d::UnitX();
  guess.support = gjk_.support_func_cached_guess;
  if (!result_.isCollision()) return {};
  const coal::Contact& contact = result_.getContact(0);
  return {.found = true, .normal = -contact.normal, .point = contact.pos, .distance = contact.penetration_depth};
}

void CollisionDetector::collide_convex(const Pair& pair, double margin, CollisionMemory::Guess& guess) {
  const Shape& first = shapes_[pair.leading];
  const Shape& second = shapes_[pair.other];
  const Pose& first_pose = poses_[pair.leading];
  const Pose& second_pose = poses_[pair.other];
  Witness witness = run_gjk(pair, Vector3d::Zero(), margin, guess);
  if (!witness.found) return;

  // The witness normal must separate the shapes by the distance it comes with. EPA's does not, once in a hundred times,
  // when polyhedra just touch (docs/decisions/collision.md). Then the shapes are asked again from a little apart, where
  // the nearest features are the same and GJK sees them clearly.
  const auto measured = [&](const Vector3d& n) {
    return n.allFinite() ? separation(first, first_pose, second, second_pose, n.normalized()) : -HUGE_VAL;
  };
  double best = measured(witness.normal);
  if (!(best >= witness.distance - 1e-6)) {
    const double apart = 1e-2 * std::min(first.radius, second.radius);
    Vector3d away = (balls_[pair.leading].center - balls_[pair.other].center).normalized();
    if (!away.allFinite()) away = Vector3d::UnitZ();
    for (int attempt = 0; attempt < 3; ++attempt) {
      CollisionMemory::Guess fresh;
      const Vector3d shift = -(apart + std::max(0.0, -witness.distance)) * away;
      const Witness other = run_gjk(pair, shift, margin + 4.0 * shift.norm(), fresh);
      if (!other.found) break;
      const double s = measured(other.normal);
      if (s > best) {
        best = s;
        witness.normal = other.normal;
        witness.point = other.point - 0.5 * shift;
      }
      away = other.normal;
    }
    witness.distance = std::max(best, witness.distance);
    if (!witness.normal.allFinite()) return;
  }
  convex_patch(first, first_pose, second, second_pose, witness.normal.normalized(), witness.point, witness.distance,
               margin, patch_);
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
  for (std::size_t i = 0; i < result_.numContacts(); ++i) {
    const coal::Contact& contact = result_.getContact(i);
    if (!(contact.penetration_depth <= margin) || !contact.normal.allFinite()) continue;
    patch_.normal = -contact.normal;
    patch_.add(contact.pos, contact.penetration_depth);
  }
}

void CollisionDetector::emit(int index, const Pair& pair, std::span<const CollisionMemory::Touch> before,
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
    now.push_back({index, slot[i], local[i]});
    const Patch::Point& point = patch_.points[i];
    Contact contact{.pair = index,
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
