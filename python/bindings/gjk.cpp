#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cmath>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupts.hpp"
#include "taut/collision/gjk_timing.hpp"

namespace {

using Eigen::VectorXd;
using taut::python::ArrayLike;
using taut::python::kAny;
using Flags = Eigen::Matrix<bool, Eigen::Dynamic, 1>;

// Columns, one entry per problem.
struct Runs {
  VectorXd distance, nanoseconds;
  Eigen::VectorXi iterations;
  Flags touching, converged;

  explicit Runs(const std::vector<taut::TimedDistance>& runs) {
    const auto n = static_cast<Eigen::Index>(runs.size());
    distance.resize(n), nanoseconds.resize(n), iterations.resize(n), touching.resize(n), converged.resize(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const taut::TimedDistance& run = runs[static_cast<std::size_t>(i)];
      distance[i] = run.distance;
      nanoseconds[i] = run.nanoseconds;
      iterations[i] = run.iterations;
      touching[i] = run.touching;
      converged[i] = run.converged;
    }
  }
};

taut::Shape shape_of(nb::handle object, const char* name) {
  auto& geometry = taut::python::unwrap<coal::CollisionGeometry>(object, "Coal shape, such as coal.Box(1, 1, 1)");
  const taut::Shape shape = taut::make_shape(geometry, name);
  if (shape.kind >= taut::Shape::Kind::half_space) {
    throw std::invalid_argument(std::string(name) + " must be bounded and convex");
  }
  return shape;
}

// Rows (x, y, z, and a rotation by rows): what numpy makes of [:, :3, :] of matrices (n, 4, 4).
std::vector<taut::Pose> poses_of(const ArrayLike& rotations, const ArrayLike& translations) {
  const Eigen::MatrixXd R = rotations.matrix("rotations", kAny, 9),
                        t = translations.matrix("translations", R.rows(), 3);
  if (!R.allFinite() || !t.allFinite()) throw std::invalid_argument("a pose is not finite");
  std::vector<taut::Pose> poses(static_cast<std::size_t>(R.rows()));
  for (Eigen::Index i = 0; i < R.rows(); ++i) {
    taut::Pose& pose = poses[static_cast<std::size_t>(i)];
    for (int k = 0; k < 3; ++k) pose.rotation.row(k) = R.row(i).segment<3>(3 * k);
    if (!(pose.rotation.transpose() * pose.rotation).isIdentity(1e-6)) {
      throw std::invalid_argument("rotation " + std::to_string(i) + " is none");
    }
    pose.translation = t.row(i).transpose();
  }
  return poses;
}

Runs gjk(nb::handle shape_1, nb::handle shape_2, const ArrayLike& rotations, const ArrayLike& translations,
         const std::string& variant, std::optional<bool> normalize, const std::string& criterion, double tolerance,
         int max_iterations, const std::string& start, std::optional<double> beyond,
         const std::optional<ArrayLike>& fresh, int samples, int calls, bool unit) {
  const std::vector<taut::Pose> poses = poses_of(rotations, translations);
  std::vector<std::uint8_t> anew;
  if (fresh) {
    for (const double flag : fresh->vector("fresh", static_cast<Eigen::Index>(poses.size()))) anew.push_back(flag != 0);
  }
  const taut::GjkOptions options{.variant = taut::gjk_variant(variant),
                                 .normalize = normalize,
                                 .criterion = taut::gjk_criterion(criterion),
                                 .tolerance = tolerance,
                                 .max_iterations = max_iterations};
  taut::python::Signals signals;
  return Runs(taut::time_gjk(shape_of(shape_1, "shape_1"), shape_of(shape_2, "shape_2"), poses, options,
                             taut::gjk_start(start), beyond.value_or(HUGE_VAL), anew, {samples, calls}, unit));
}

Runs frank_wolfe(nb::handle shape_1, nb::handle shape_2, const ArrayLike& rotations, const ArrayLike& translations,
                 double tolerance, int max_iterations, int samples) {
  taut::python::Signals signals;
  return Runs(taut::time_frank_wolfe(shape_of(shape_1, "shape_1"), shape_of(shape_2, "shape_2"),
                                     poses_of(rotations, translations), tolerance, max_iterations, samples));
}

}  // namespace

void bind_gjk(nb::module_& m) {
  const taut::GjkOptions defaults;
  const taut::Repetitions repetitions;
  nb::class_<Runs>(m, "GjkRuns", "What each problem cost; arrays with an entry for each.")
      .def_ro("distance", &Runs::distance, "m; a lower bound where GJK stopped early, 0 where shapes overlap.")
      .def_ro("nanoseconds", &Runs::nanoseconds, "Of a call in C++: mean of the 90 % lowest of the samples.")
      .def_ro("iterations", &Runs::iterations)
      .def_ro("touching", &Runs::touching)
      .def_ro("converged", &Runs::converged, "False where the limit of iterations stopped it.");
  m.def("time_gjk", &gjk, "shape_1"_a, "shape_2"_a, "rotations"_a, "translations"_a, nb::kw_only(),
        "variant"_a = taut::name_of(defaults.variant), "normalize"_a = nb::none(), "criterion"_a = "lower_bound",
        "tolerance"_a = defaults.tolerance, "max_iterations"_a = defaults.max_iterations, "start"_a = "boxes",
        "beyond"_a = nb::none(), "fresh"_a = nb::none(), "samples"_a = repetitions.samples,
        "calls"_a = repetitions.calls, "unit"_a = false,
        "GJK on two shapes, the second at each pose (n, 9), (n, 3) in the frame of the first, timed in C++. beyond: "
        "stop once farther apart than this (m); 0 asks only whether they touch. fresh (n,): forget the pose before. "
        "unit: remember "
        "directions of length one, as the simulator does, not separation vectors.");
  m.def("time_frank_wolfe", &frank_wolfe, "shape_1"_a, "shape_2"_a, "rotations"_a, "translations"_a, nb::kw_only(),
        "tolerance"_a = 1e-8, "max_iterations"_a = 100'000, "samples"_a = 3,
        "Frank-Wolfe with line search on the same problems.");
}
