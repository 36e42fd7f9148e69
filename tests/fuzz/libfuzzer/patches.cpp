// Patches of two shapes: unit normals, gaps not below the separation along them, the same both ways round.
#include "couples.hpp"
#include "taut/collision/distance.hpp"

namespace {

taut::Patch patch_of(const Couple& couple, int first, double margin) {
  const int second = 1 - first;
  const auto placed = [&](int i) { return pinocchio::SE3(couple.poses[i].rotation, couple.poses[i].translation); };
  const taut::Distance at = taut::distance(couple.shapes[first], placed(first), couple.shapes[second], placed(second));
  taut::Patch patch;
  taut::convex_patch(couple.shapes[first], couple.poses[first], couple.shapes[second], couple.poses[second], at.normal,
                     0.5 * (at.point_1 + at.point_2), at.distance, margin, patch);
  if (patch.count > 0) taut::reduce_to_four(patch);
  return patch;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const double margin = bytes.decades(-5, -1);
  const Couple couple(bytes);
  const taut::Patch one = patch_of(couple, 0, margin), two = patch_of(couple, 1, margin);
  const double slack = 1e-6 * couple.size;
  double lowest[2] = {HUGE_VAL, HUGE_VAL};
  for (const taut::Patch* patch : {&one, &two}) {
    const int first = patch == &one ? 0 : 1;
    if (patch->count < 0 || patch->count > 4) found("points in a patch", patch->count);
    for (int i = 0; i < patch->count; ++i) {
      const auto& point = patch->points[static_cast<std::size_t>(i)];
      if (!point.position.allFinite() || !std::isfinite(point.gap)) found("a point is not finite");
      if (!(std::abs(point.normal.norm() - 1.0) < 1e-9)) found("a normal is no unit vector", point.normal.norm());
      if (point.gap > margin + slack) found("a point beyond the margin", point.gap, margin);
      const double own = taut::separation(couple.shapes[first], couple.poses[first], couple.shapes[1 - first],
                                          couple.poses[1 - first], point.normal);
      if (point.gap < own - slack) found("a gap below the separation", point.gap, own);
      lowest[first] = std::min(lowest[first], point.gap);
    }
  }
  if (one.count > 0 && two.count > 0 && !(std::abs(lowest[0] - lowest[1]) < slack)) {
    found("two orders, two gaps", lowest[0], lowest[1]);
  }
  return 0;
}
