#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupts.hpp"
#include "taut/collision/patch_derivatives.hpp"

namespace {

// What one size does.
struct SizeDerivative {
  double distance;
  Eigen::Vector3d normal, point_1, point_2, frame;
};

using taut::CollisionDerivativeOptions;
struct PatchPoint {
  Eigen::Vector3d position, normal;
  double gap;
  taut::PatchOrigin::Kind kind;
  taut::PatchPointDerivatives derivatives;
  // Of each size by name: (gap, point, normal, frame).
  std::map<std::string, std::tuple<double, Eigen::Vector3d, Eigen::Vector3d, Eigen::Vector3d>> sizes_1, sizes_2;
};

using taut::Distance;
using taut::DistanceDerivatives;
using taut::Shape;
using taut::python::ArrayLike;
using taut::python::Integer;

Shape shape_of(nb::handle object, const char* name) {
  return taut::make_shape(
      taut::python::unwrap<coal::CollisionGeometry>(object, "Coal shape, such as coal.Box(1, 1, 1)"), name);
}

// A pinocchio.SE3, or a matrix (4, 4).
pinocchio::SE3 pose_of(nb::handle object, const char* name) {
  const nb::object matrix = nb::hasattr(object, "homogeneous") ? object.attr("homogeneous") : nb::borrow(object);
  const Eigen::MatrixXd M = ArrayLike{matrix}.matrix(name, 4, 4);
  const Eigen::Matrix3d R = M.topLeftCorner<3, 3>();
  if (!M.allFinite()) throw std::invalid_argument(std::string(name) + " is not finite");
  if (!(R.transpose() * R).isIdentity(1e-6) || R.determinant() < 0.0) {
    throw std::invalid_argument(std::string(name) + " has no rotation in its first three rows and columns");
  }
  return {R, M.topRightCorner<3, 1>()};
}

Distance distance(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2) {
  return taut::distance(shape_of(shape_1, "shape_1"), pose_of(pose_1, "pose_1"), shape_of(shape_2, "shape_2"),
                        pose_of(pose_2, "pose_2"));
}

CollisionDerivativeOptions options_of(const std::string& method, const Integer& samples, const Integer& depth,
                                      std::optional<double> temperature, const Integer& seed, double step) {
  constexpr long long kMany = std::numeric_limits<long long>::max();
  const CollisionDerivativeOptions options{.method = taut::collision_method(method),
                                           .samples = samples.as_int("samples"),
                                           .depth = depth.as_int("depth"),
                                           .temperature = temperature,
                                           .seed = static_cast<std::uint64_t>(seed.within("seed", 0, kMany)),
                                           .step = step};
  taut::validate(options);
  return options;
}

DistanceDerivatives derivatives(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2,
                                const std::string& method, const Integer& samples, const Integer& depth,
                                std::optional<double> temperature, const Integer& seed, double step) {
  const Shape one = shape_of(shape_1, "shape_1"), two = shape_of(shape_2, "shape_2");
  const pinocchio::SE3 oM1 = pose_of(pose_1, "pose_1"), oM2 = pose_of(pose_2, "pose_2");
  const auto options = options_of(method, samples, depth, temperature, seed, step);
  return taut::derivatives(one, oM1, two, oM2, taut::distance(one, oM1, two, oM2), options);
}

// Seconds of `distance` and of `derivatives` at each of many poses, the least of some repeats: for benchmarks.
nb::tuple collision_seconds(nb::handle shape_1, nb::handle shape_2, const std::vector<nb::object>& poses_1,
                            const std::vector<nb::object>& poses_2, int repeats, const std::string& method,
                            const Integer& samples, const Integer& depth, std::optional<double> temperature,
                            const Integer& seed, double step) {
  using Clock = std::chrono::steady_clock;
  constexpr int inner = 16;  // calls between two looks at the clock, which costs some twenty nanoseconds
  const Shape one = shape_of(shape_1, "shape_1"), two = shape_of(shape_2, "shape_2");
  const auto options = options_of(method, samples, depth, temperature, seed, step);
  if (poses_1.size() != poses_2.size()) throw std::invalid_argument("poses_1 and poses_2 differ in length");
  if (repeats < 1) throw std::invalid_argument("repeats is " + std::to_string(repeats) + ", it must be at least 1");
  const auto count = static_cast<Eigen::Index>(poses_1.size());
  Eigen::VectorXd of_distance(count), of_derivatives(count);
  double kept = 0.0;  // what is computed is used
  taut::python::Signals signals;
  for (Eigen::Index i = 0; i < count; ++i) {
    const pinocchio::SE3 oM1 = pose_of(poses_1[i], "pose_1"), oM2 = pose_of(poses_2[i], "pose_2");
    const Distance at = taut::distance(one, oM1, two, oM2);
    const auto least = [&](auto&& run) {
      double best = HUGE_VAL;
      for (int r = 0; r < repeats; ++r) {
        taut::may_interrupt(20 * inner);
        const auto start = Clock::now();
        for (int k = 0; k < inner; ++k) kept += run();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / inner);
      }
      return best;
    };
    of_distance[i] = least([&] { return taut::distance(one, oM1, two, oM2).distance; });
    of_derivatives[i] = least([&] { return taut::derivatives(one, oM1, two, oM2, at, options).distance[0]; });
  }
  if (std::isnan(kept)) throw std::runtime_error("a distance is not a number");
  return nb::make_tuple(of_distance, of_derivatives);
}

taut::Pose placed(const pinocchio::SE3& M) { return {M.rotation(), M.translation()}; }

std::vector<PatchPoint> patch(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2,
                              double margin, const std::string& method, const Integer& samples, const Integer& depth,
                              std::optional<double> temperature, const Integer& seed) {
  const Shape one = shape_of(shape_1, "shape_1"), two = shape_of(shape_2, "shape_2");
  const pinocchio::SE3 oM1 = pose_of(pose_1, "pose_1"), oM2 = pose_of(pose_2, "pose_2");
  if (!(margin >= 0.0) || !std::isfinite(margin)) {
    throw std::invalid_argument("margin is " + std::to_string(margin) + ", it must be finite and not negative");
  }
  const auto options = options_of(method, samples, depth, temperature, seed, CollisionDerivativeOptions{}.step);
  const taut::Patch found = taut::contact_patch(one, oM1, two, oM2, margin);
  std::vector<PatchPoint> points;
  for (int i = 0; i < found.count; ++i) {
    const taut::Patch::Point& at = found.points[i];
    points.push_back({at.position,
                      at.normal,
                      at.gap,
                      at.origin.kind,
                      taut::derivatives(one, placed(oM1), two, placed(oM2), found, i, options),
                      {},
                      {}});
    const auto sizes = taut::size_derivatives(one, placed(oM1), two, placed(oM2), found, i);
    const auto name = [&](const Shape& shape, int first, auto& into) {
      const auto names = taut::size_names(shape);
      for (std::size_t k = 0; k < names.size(); ++k) {
        const int c = first + static_cast<int>(k);
        into[names[k]] = {sizes.gap[c], sizes.point.col(c), sizes.normal.col(c), sizes.frame.col(c)};
      }
    };
    name(one, 0, points.back().sizes_1);
    name(two, 3, points.back().sizes_2);
  }
  return points;
}

// Sizes by name: a dictionary for each shape, of what one size does to distance, normal, points and frame.
nb::tuple size_derivatives(nb::handle shape_1, nb::handle pose_1, nb::handle shape_2, nb::handle pose_2) {
  const Shape one = shape_of(shape_1, "shape_1"), two = shape_of(shape_2, "shape_2");
  const pinocchio::SE3 oM1 = pose_of(pose_1, "pose_1"), oM2 = pose_of(pose_2, "pose_2");
  const taut::SizeDerivatives d = taut::size_derivatives(one, oM1, two, oM2, taut::distance(one, oM1, two, oM2));
  const auto named = [&](const Shape& shape, int first) {
    nb::dict result;
    const auto names = taut::size_names(shape);
    for (std::size_t k = 0; k < names.size(); ++k) {
      const int c = first + static_cast<int>(k);
      result[names[k]] =
          SizeDerivative{d.distance[c], d.normal.col(c), d.point_1.col(c), d.point_2.col(c), d.frame.col(c)};
    }
    return result;
  };
  return nb::make_tuple(named(one, 0), named(two, 3));
}

}  // namespace

void bind_collision(nb::module_& m) {
  nb::class_<Distance>(m, "Distance", "The signed distance of two shapes, and where it is attained.")
      .def_ro("distance", &Distance::distance, "m; negative in penetration.")
      .def_ro("normal", &Distance::normal, "Points to the first shape, world.")
      .def_ro("point_1", &Distance::point_1, "On the first shape, world.")
      .def_ro("point_2", &Distance::point_2, "On the second shape, world.")
      .def("__repr__", [](const Distance& d) { return "Distance(" + std::to_string(d.distance) + " m)"; });

  nb::class_<DistanceDerivatives>(
      m, "DistanceDerivatives",
      "With respect to the poses: columns 0 to 5 are (linear, angular) of the first in its own frame, 6 to 11 of the "
      "second.")
      .def_prop_ro(
          "distance", [](const DistanceDerivatives& d) { return Eigen::VectorXd(d.distance.transpose()); }, "(12,)")
      .def_prop_ro(
          "normal", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.normal); }, "(3, 12), world.")
      .def_prop_ro(
          "point_1", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.point_1); }, "(3, 12), world.")
      .def_prop_ro(
          "point_2", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.point_2); }, "(3, 12), world.")
      .def_prop_ro(
          "frame", [](const DistanceDerivatives& d) { return Eigen::MatrixXd(d.frame); },
          "(3, 12): the contact frame (t1, t2, n) turns by this rotation vector.")
      .def_ro("unique", &DistanceDerivatives::unique,
              "False where the points may slide, a face on a face, and where two corners just touch.")
      .def_prop_ro(
          "method", [](const DistanceDerivatives& d) { return taut::name_of(d.method); }, "The one that was used.");

  nb::class_<SizeDerivative>(m, "SizeDerivative", "What one size of a shape does.")
      .def_ro("distance", &SizeDerivative::distance)
      .def_ro("normal", &SizeDerivative::normal)
      .def_ro("point_1", &SizeDerivative::point_1)
      .def_ro("point_2", &SizeDerivative::point_2)
      .def_ro("frame", &SizeDerivative::frame, "A rotation vector, of the contact frame (t1, t2, n).");

  m.def("collision_distance", &distance, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a);
  using Rows = taut::PatchPointDerivatives;
  nb::class_<Rows>(m, "PatchPointDerivatives",
                   "With respect to the poses, columns as those of DistanceDerivatives; vectors in the world.")
      .def_prop_ro(
          "gap", [](const Rows& d) { return Eigen::VectorXd(d.gap.transpose()); }, "(12,)")
      .def_prop_ro(
          "point", [](const Rows& d) { return Eigen::MatrixXd(d.point); }, "(3, 12)")
      .def_prop_ro(
          "normal", [](const Rows& d) { return Eigen::MatrixXd(d.normal); }, "(3, 12)")
      .def_prop_ro(
          "frame", [](const Rows& d) { return Eigen::MatrixXd(d.frame); }, "(3, 12): a rotation vector.")
      .def_prop_ro("method", [](const Rows& d) { return taut::name_of(d.method); });

  nb::class_<PatchPoint>(m, "PatchPoint", "A point where two shapes touch or nearly do.")
      .def_ro("position", &PatchPoint::position, "Half-way between the surfaces, world.")
      .def_ro("normal", &PatchPoint::normal, "Points to the first shape, world.")
      .def_ro("gap", &PatchPoint::gap, "m; negative in penetration.")
      .def_prop_ro(
          "kind",
          [](const PatchPoint& p) {
            static constexpr std::array names{"witness", "vertex", "crossing", "corner"};
            return names[static_cast<std::size_t>(p.kind)];
          },
          "What places it: the witness of the distance, a vertex on a face, an edge over a side of a face, or a corner "
          "of the face.")
      .def_ro("derivatives", &PatchPoint::derivatives)
      .def_ro("sizes_1", &PatchPoint::sizes_1, "What each size of the first shape does: (gap, point, normal, frame).")
      .def_ro("sizes_2", &PatchPoint::sizes_2, "The same of the second.")
      .def("__repr__", [](const PatchPoint& p) { return "PatchPoint(gap=" + std::to_string(p.gap) + " m)"; });

  const CollisionDerivativeOptions defaults;
  m.def("collision_patch", &patch, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a, "margin"_a,
        "method"_a = taut::name_of(defaults.method), "samples"_a = defaults.samples, "depth"_a = defaults.depth,
        "temperature"_a = nb::none(), "seed"_a = defaults.seed);
  m.def("collision_derivatives", &derivatives, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a,
        "method"_a = taut::name_of(defaults.method), "samples"_a = defaults.samples, "depth"_a = defaults.depth,
        "temperature"_a = nb::none(), "seed"_a = defaults.seed, "step"_a = defaults.step);
  m.def("collision_seconds", &collision_seconds, "shape_1"_a, "shape_2"_a, "poses_1"_a, "poses_2"_a, "repeats"_a = 5,
        "method"_a = taut::name_of(defaults.method), "samples"_a = defaults.samples, "depth"_a = defaults.depth,
        "temperature"_a = nb::none(), "seed"_a = defaults.seed, "step"_a = defaults.step);
  m.def("collision_size_derivatives", &size_derivatives, "shape_1"_a, "pose_1"_a, "shape_2"_a, "pose_2"_a);
}
