// The distance of two shapes: a unit normal that separates them by it, the same both ways round.
#include "couples.hpp"
#include "taut/collision/distance.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Couple couple(bytes);
  const auto placed = [&](int i) { return pinocchio::SE3(couple.poses[i].rotation, couple.poses[i].translation); };
  const taut::Distance one = taut::distance(couple.shapes[0], placed(0), couple.shapes[1], placed(1));
  const taut::Distance two = taut::distance(couple.shapes[1], placed(1), couple.shapes[0], placed(0));
  const double slack = 1e-6 * couple.size;
  if (!std::isfinite(one.distance)) found("distance is not finite", one.distance);
  if (!(std::abs(one.normal.norm() - 1.0) < 1e-9)) found("the normal is no unit vector", one.normal.norm());
  if (!(std::abs(one.distance - two.distance) < slack)) found("two orders, two distances", one.distance, two.distance);
  const double own = taut::separation(couple.shapes[0], couple.poses[0], couple.shapes[1], couple.poses[1], one.normal);
  if (!(std::abs(own - one.distance) < slack)) found("the normal separates by another distance", own, one.distance);
  if (!((one.point_1 - one.point_2 - one.distance * one.normal).norm() < slack)) found("the points are not apart so");
  return 0;
}
