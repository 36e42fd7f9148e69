// Which bodies are near each other: pairs of shapes in groups by couples of bodies, and a sweep where these are many.
#include <algorithm>
#include <array>

#include "taut/collision/detector.hpp"

namespace taut {

namespace {

using Eigen::Vector3d;

// Up to here every couple is asked, which takes a robot a microsecond; a pile of a thousand has half a million.
constexpr std::ptrdiff_t kFewCouples = 2000;

}  // namespace

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
      const int other = pair.joint_1 + pair.joint_2 - body;
      groups_.push_back(
          {plane ? body : pair.joint_1, plane ? other : pair.joint_2, plane ? pair.other : -1, order, order});
    }
    groups_.back().last = order + 1;
  }

  // What is fixed to the world may be as large as it, and a half-space has no end: they stay out of the sweep.
  const auto is_couple = [](const Group& group) {
    return group.half_space < 0 && group.joint_1 != 0 && group.joint_2 != 0;
  };
  if (std::count_if(groups_.begin(), groups_.end(), is_couple) <= kFewCouples) return;
  std::vector<bool> moves(hulls_.size(), false);
  first_group_.assign(hulls_.size() + 1, static_cast<int>(groups_.size()));
  for (int i = static_cast<int>(groups_.size()) - 1; i >= 0; --i) {
    const Group& group = groups_[static_cast<std::size_t>(i)];
    if (is_couple(group)) {
      moves[static_cast<std::size_t>(group.joint_1)] = moves[static_cast<std::size_t>(group.joint_2)] = true;
    } else {
      kept_.push_back(i);
    }
    first_group_[static_cast<std::size_t>(std::min(group.joint_1, group.joint_2))] = i;
  }
  for (std::size_t joint = hulls_.size(); joint-- > 0;) {  // a joint without groups: none before those of the next
    first_group_[joint] = std::min(first_group_[joint], first_group_[joint + 1]);
  }
  for (std::size_t joint = 0; joint < moves.size(); ++joint) {
    if (moves[joint]) swept_.push_back({0.0, 0.0, static_cast<int>(joint)});
  }
  candidates_.reserve(kept_.size() + 8 * swept_.size());
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
  return apart(a, body_balls_[static_cast<std::size_t>(group.joint_2)], margin);
}

// Fills `candidates_` with every group that `culled` would let pass, in the order of the groups: what a step finds, and
// in which order, does not depend on the sweep.
void CollisionDetector::sweep(double margin) {
  // Along the axis on which the bodies are spread most, fewest overlap.
  Vector3d sum = Vector3d::Zero(), squares = Vector3d::Zero();
  for (const Extent& extent : swept_) {
    const Vector3d& center = body_balls_[static_cast<std::size_t>(extent.joint)].center;
    sum += center;
    squares += center.cwiseAbs2();
  }
  int axis = 0;
  (squares - sum.cwiseAbs2() / static_cast<double>(swept_.size())).maxCoeff(&axis);

  for (Extent& extent : swept_) {
    const Ball& ball = body_balls_[static_cast<std::size_t>(extent.joint)];
    const double reach = (ball.radius + ball.travel + 0.5 * margin) * (1.0 + 1e-9);  // rounding must not lose a pair
    extent.low = ball.center[axis] - reach;
    extent.high = ball.center[axis] + reach;
  }
  std::sort(swept_.begin(), swept_.end(), [](const Extent& a, const Extent& b) { return a.low < b.low; });

  candidates_.assign(kept_.begin(), kept_.end());
  for (auto a = swept_.begin(); a != swept_.end(); ++a) {
    const Ball& ball = body_balls_[static_cast<std::size_t>(a->joint)];
    for (auto b = a + 1; b != swept_.end() && b->low <= a->high; ++b) {
      if (apart(ball, body_balls_[static_cast<std::size_t>(b->joint)], margin)) continue;
      const auto [low, high] = std::minmax(a->joint, b->joint);
      const auto begin = groups_.begin() + first_group_[static_cast<std::size_t>(low)];
      const auto end = groups_.begin() + first_group_[static_cast<std::size_t>(low) + 1];
      const auto other = [](const Group& group) { return std::max(group.joint_1, group.joint_2); };
      const auto group =
          std::lower_bound(begin, end, high, [&](const Group& g, int joint) { return other(g) < joint; });
      // A half-space of one of the two comes after the couple; it is among the groups that are kept.
      if (group != end && other(*group) == high && group->half_space < 0) {
        candidates_.push_back(static_cast<int>(group - groups_.begin()));
      }
    }
  }
  std::sort(candidates_.begin(), candidates_.end());
}

}  // namespace taut
