#include "taut/collision/detector.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "taut/math/interruption.hpp"

namespace taut {

using Eigen::Vector3d;

namespace {

constexpr int kPairWork = 20;  // of a pair in the narrow phase, for `may_interrupt`

}  // namespace

CollisionDetector::CollisionDetector(const pinocchio::GeometryModel& geometry, NarrowPhase narrow_phase)
    : narrow_phase_(narrow_phase), gjk_({.variant = narrow_phase.variant}) {
  const auto& objects = geometry.geometryObjects;
  shapes_.reserve(objects.size());
  for (const auto& object : objects) {
    if (!object.geometry) throw std::invalid_argument("shape '" + object.name + "' has no geometry");
    shapes_.push_back(make_shape(*object.geometry, object.name.c_str()));
    geometries_.push_back(object.geometry);
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
  const std::size_t asked = std::min<std::size_t>(pairs_.size(), 1024);
  asked_.reserve(asked);
  if (needs_past(narrow_phase.start)) asked_pasts_.reserve(asked);
  origins_.reserve(64);

  surround(geometry);
  build_groups();

  request_.num_max_contacts = 1;
  request_.enable_contact = true;
}

void CollisionDetector::surround(const pinocchio::GeometryModel& geometry) {
  const auto& objects = geometry.geometryObjects;
  std::size_t joints = 1;
  for (const auto& object : objects) joints = std::max(joints, object.parentJoint + 1);
  hulls_.assign(joints, Hull{});
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
}

CollisionMemory CollisionDetector::memory() const {
  CollisionMemory memory;
  memory.touches.reserve(64);
  memory.guesses.resize(pairs_.size());
  if (needs_past(narrow_phase_.start)) memory.pasts.resize(pairs_.size());
  return memory;
}

namespace {

// No point of a ball on a moving body is faster. A half-space has no end: it is slow only while it does not turn.
double fastest(const pinocchio::Motion& v, const Vector3d& center, double radius) {
  const double spin = v.angular().norm();
  return (v.linear() + v.angular().cross(center)).norm() + (spin > 0.0 ? spin * radius : 0.0);
}

}  // namespace

void CollisionDetector::place(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                              std::span<const pinocchio::Motion> velocity, double dt) {
  for (std::size_t j = 0; j < hulls_.size(); ++j) {
    body_balls_[j] = {oMi[j].act(hulls_[j].center), hulls_[j].radius, 0.0};
    if (j == 0) continue;
    body_balls_[j].travel = dt * fastest(velocity[j], hulls_[j].center, hulls_[j].radius);
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
    // Of meshes and height fields; all others are about their origins.
    const bool is_off = shapes_[i].kind == Shape::Kind::convex || shapes_[i].kind == Shape::Kind::height_field;
    ball.center = is_off ? Vector3d(pose * shapes_[i].center) : pose.translation;
    ball.radius = shapes_[i].radius;
    ball.travel = 0.0;
    if (object.parentJoint != 0) {
      const Vector3d center =
          is_off ? Vector3d(jMg.rotation() * shapes_[i].center + jMg.translation()) : Vector3d(jMg.translation());
      ball.travel = dt * fastest(velocity[object.parentJoint], center, ball.radius);
    }
  }
}

bool CollisionDetector::culled(const Pair& pair, const GjkGuess& guess, double margin) const {
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
  // Pairs with a closed form leave no direction behind, new ones have none; the line of centres is a good one for them.
  const Vector3d n = guess.ray.isZero(0.0) ? Vector3d((a.center - b.center).normalized())
                                           : Vector3d((poses_[pair.leading].rotation * guess.ray).normalized());
  return separation(first, poses_[pair.leading], second, poses_[pair.other], n) > margin;
}

void CollisionDetector::detect(const pinocchio::GeometryModel& geometry, const std::vector<pinocchio::SE3>& oMi,
                               std::span<const pinocchio::Motion> velocity, double dt, double margin,
                               CollisionMemory& memory, std::vector<Contact>& contacts) {
  place(geometry, oMi, velocity, dt);
  contacts.clear();
  touches_.clear();
  touches_given_ = false;
  asked_.clear();
  asked_pasts_.clear();
  origins_.clear();
  narrow_phase_calls_ = 0;
  auto before = memory.touches.begin();
  const auto visit = [&](const Group& group) {
    if (culled(group, margin)) return;
    for (int order = group.first; order < group.last; ++order) {
      const Pair& pair = pairs_[static_cast<std::size_t>(order)];
      GjkGuess& guess = memory.guesses[static_cast<std::size_t>(order)];
      GjkPast* past = memory.pasts.empty() ? nullptr : &memory.pasts[static_cast<std::size_t>(order)];
      const double reach = margin + balls_[pair.leading].travel + balls_[pair.other].travel;
      if (culled(pair, guess, reach)) continue;
      ++narrow_phase_calls_;
      may_interrupt(kPairWork);
      if (past != nullptr) asked_pasts_.push_back(*past);
      asked_.push_back({order, guess});
      patch_.count = 0;
      collide(pair, reach, guess, past);
      if (patch_.count == 0) continue;
      reduce_to_four(patch_);
      while (before != memory.touches.end() && before->order < order) ++before;
      auto after = before;
      while (after != memory.touches.end() && after->order == order) ++after;
      emit(order, pair, {before, after}, touches_, contacts);
    }
  };
  if (swept_.empty()) {
    for (const Group& group : groups_) visit(group);
  } else {
    sweep(margin);
    for (const int group : candidates_) visit(groups_[static_cast<std::size_t>(group)]);
  }
  std::swap(memory.touches, touches_);
  touches_given_ = true;
}

void CollisionDetector::undo(CollisionMemory& memory) {
  if (std::exchange(touches_given_, false)) std::swap(memory.touches, touches_);
  for (std::size_t k = 0; k < asked_.size(); ++k) {
    const auto order = static_cast<std::size_t>(asked_[k].order);
    memory.guesses[order] = asked_[k].guess;
    if (!memory.pasts.empty()) memory.pasts[order] = asked_pasts_[k];
  }
}

void CollisionDetector::emit(int order, const Pair& pair, std::span<const CollisionMemory::Touch> before,
                             std::vector<CollisionMemory::Touch>& now, std::vector<Contact>& contacts) {
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
    origins_.push_back({order, slot[i], patch_.second_is_reference, patch_.points[i]});
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

Patch CollisionDetector::Origin::alone() const {
  Patch patch;
  patch.second_is_reference = second_is_reference;
  patch.normal = point.normal;
  patch.points[0] = point;
  patch.count = 1;
  return patch;
}

const CollisionDetector::Origin& CollisionDetector::origin_of(const Contact& contact) const {
  const auto found = std::find_if(origins_.begin(), origins_.end(), [&](const Origin& origin) {
    return origin.order == contact.order && origin.slot == contact.slot;
  });
  if (found == origins_.end()) throw std::invalid_argument("derivatives: this contact is not of the last step");
  return *found;
}

ContactDerivatives CollisionDetector::derivatives(const Contact& contact,
                                                  const CollisionDerivativeOptions& options) const {
  const Pair& pair = pairs_[static_cast<std::size_t>(contact.order)];
  const Pose &leading = poses_[pair.leading], &other = poses_[pair.other];
  const PatchPointDerivatives d = taut::derivatives(shapes_[pair.leading], leading, shapes_[pair.other], other,
                                                    origin_of(contact).alone(), 0, options);

  // From the shapes' own axes to the world's, and from leading and other to first and second.
  ContactDerivatives result;
  result.method = d.method;
  const double sign = pair.normal_to_leading ? 1.0 : -1.0;
  const auto carry = [&](const Pose& pose, int column, ContactDerivatives::Body& body) {
    const Eigen::Matrix<double, 6, 6> X = pinocchio::SE3(pose.rotation, pose.translation).toActionMatrixInverse();
    body.gap.noalias() = d.gap.middleCols<6>(column) * X;
    body.point.noalias() = d.point.middleCols<6>(column) * X;
    Eigen::Matrix<double, 3, 6> frame = d.frame.middleCols<6>(column);
    if (!pair.normal_to_leading) {  // another frame, that of −n
      for (int c = 0; c < 6; ++c) frame.col(c) = frame_rotation(contact.frame.col(2), sign * d.normal.col(column + c));
    }
    body.frame.noalias() = frame * X;
  };
  carry(leading, 0, pair.normal_to_leading ? result.body_1 : result.body_2);
  carry(other, 6, pair.normal_to_leading ? result.body_2 : result.body_1);
  return result;
}

ContactSizeDerivatives CollisionDetector::size_derivatives(const Contact& contact) const {
  const Pair& pair = pairs_[static_cast<std::size_t>(contact.order)];
  const PatchPointSizeDerivatives d =
      taut::size_derivatives(shapes_[pair.leading], poses_[pair.leading], shapes_[pair.other], poses_[pair.other],
                             origin_of(contact).alone(), 0);
  ContactSizeDerivatives result{d.gap, d.point, d.frame};
  if (pair.normal_to_leading) return result;
  for (int c = 0; c < 6; ++c) {
    const int from = (c + 3) % 6;
    result.gap.col(c) = d.gap.col(from);
    result.point.col(c) = d.point.col(from);
    result.frame.col(c) = frame_rotation(contact.frame.col(2), -d.normal.col(from));
  }
  return result;
}

}  // namespace taut
