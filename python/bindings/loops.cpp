#include "pinocchio_bridge.hpp"
// The bridge comes before nanobind's casters.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupts.hpp"
#include "placement.hpp"
#include "read_only.hpp"
#include "running.hpp"
#include "taut/dynamics/kinematics.hpp"
#include "taut/simulation/assembly.hpp"
#include "taut/simulation/scene.hpp"
#include "taut/simulation/structure.hpp"

namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using taut::Scene;
using taut::python::ArrayLike;
using taut::python::NotWhileRunning;
using taut::python::placement_or_identity;

// A joint of the model, or the world: by its index, its name, or that of a body or frame on it.
struct Place {
  int joint;
  pinocchio::SE3 frame = pinocchio::SE3::Identity();  ///< of the named body or frame in its joint
};
Place place_of(const Scene& scene, nb::handle given) {
  taut::check_structure(scene);
  const auto& model = scene.model;
  if (given.is_none()) return {0};
  if (nb::isinstance<nb::int_>(given)) {
    const auto joint = nb::cast<taut::python::Integer>(given).value;
    if (joint < 0 || joint >= model.njoints) {
      throw std::invalid_argument("joint " + std::to_string(joint) + " does not exist");
    }
    return {static_cast<int>(joint)};
  }
  if (!nb::isinstance<nb::str>(given)) throw nb::type_error("a body is given by its name, its joint index or None");
  const auto name = nb::cast<std::string>(given);
  if (name == "world" || name == "universe") return {0};
  if (model.existJointName(name)) return {static_cast<int>(model.getJointId(name))};
  if (!model.existFrame(name)) throw std::invalid_argument("no joint or body is named '" + name + "'");
  const auto& frame = model.frames[model.getFrameId(name)];
  return {static_cast<int>(frame.parentJoint), frame.placement};
}

// q, or where the scene starts; the live model is looked at before it is used.
VectorXd configuration(const Scene& scene, const std::optional<ArrayLike>& q) {
  taut::check_structure(scene);
  return q ? q->vector("q", scene.model.nq) : scene.q0;
}

int joint_of(const Scene& scene, nb::handle given) { return place_of(scene, given).joint; }

// z along the axis, x wherever it may be.
Matrix3d frame_along(const Vector3d& axis) {
  if (!(axis.norm() > 0.0) || !axis.allFinite()) throw std::invalid_argument("axis must be finite and not zero");
  return Eigen::Quaterniond::FromTwoVectors(Vector3d::UnitZ(), axis).toRotationMatrix();
}

// The frame of a loop, given in the world for a configuration, or in each body.
void add_loop(Scene& scene, const std::string& kind_name, nb::handle body_1, nb::handle body_2,
              const std::optional<ArrayLike>& point, const std::optional<ArrayLike>& axis,
              const std::optional<ArrayLike>& second_axis, const std::optional<ArrayLike>& position_1,
              const std::optional<ArrayLike>& position_2, const std::optional<ArrayLike>& quaternion_1,
              const std::optional<ArrayLike>& quaternion_2, const std::optional<double>& length, double compliance,
              double angular_compliance, const std::string& name, const std::optional<ArrayLike>& q_like) {
  taut::Loop loop{.name = name, .kind = taut::loop_kind(kind_name)};
  const Place one = place_of(scene, body_1), two = place_of(scene, body_2);
  loop.joint_1 = one.joint;
  loop.joint_2 = two.joint;
  loop.compliance = compliance;
  loop.angular_compliance = angular_compliance;
  const bool local = position_1 || position_2 || quaternion_1 || quaternion_2;
  if (local && (point || axis || second_axis)) {
    throw std::invalid_argument(
        "add_loop: give point and axis in the world, or position_ and quaternion_ in the bodies");
  }
  const VectorXd q = configuration(scene, q_like);
  if (!q.allFinite()) throw std::invalid_argument("q is not finite");
  const std::array<int, 2> held{one.joint, two.joint};
  taut::Kinematics oM(scene.model, held);
  oM.update(scene.model, q);
  if (local) {
    loop.placement_1 = one.frame * placement_or_identity(position_1, quaternion_1, "_1");
    loop.placement_2 = two.frame * placement_or_identity(position_2, quaternion_2, "_2");
  } else if (loop.kind == taut::Loop::Kind::distance) {  // between the origins of the two bodies
    if (point || axis) throw std::invalid_argument("add_loop: a distance is between position_1 and position_2");
    loop.placement_1 = one.frame;
    loop.placement_2 = two.frame;
  } else {
    Vector3d where = (oM[two.joint] * two.frame).translation();
    if (point) where = point->vector("point", 3);
    if (!where.allFinite()) throw std::invalid_argument("add_loop: point is not finite");
    Matrix3d turn = Matrix3d::Identity();
    if (axis) turn = frame_along(axis->vector("axis", 3));
    if (loop.kind == taut::Loop::Kind::universal) {  // x is the first axis, y the second
      const Vector3d x = axis ? Vector3d(axis->vector("axis", 3)).normalized() : Vector3d(Vector3d::UnitX());
      Vector3d y = second_axis ? Vector3d(second_axis->vector("second_axis", 3)) : x.unitOrthogonal();
      if (!y.allFinite() || !(y.norm() > 0.0)) throw std::invalid_argument("second_axis must be finite and not zero");
      y.normalize();
      if (!(std::abs(x.dot(y)) < 1e-6))
        throw std::invalid_argument("add_loop: second_axis is not at a right angle to axis");
      turn << x, y, x.cross(y);
    }
    const pinocchio::SE3 frame(turn, where);
    loop.placement_1 = oM[one.joint].actInv(frame);
    loop.placement_2 = oM[two.joint].actInv(frame);
  }
  if (loop.kind == taut::Loop::Kind::distance) {
    loop.length =
        length ? *length
               : ((oM[one.joint] * loop.placement_1).translation() - (oM[two.joint] * loop.placement_2).translation())
                     .norm();
  } else if (length) {
    throw std::invalid_argument("add_loop: only a distance has a length");
  }
  taut::add_loop(scene, std::move(loop));
}

void add_coupling(Scene& scene, nb::handle joint_1, nb::handle joint_2, const ArrayLike& polynomial_like,
                  double reference_1, double reference_2, double compliance, const std::string& name) {
  taut::Coupling coupling{.name = name, .joint_1 = joint_of(scene, joint_1), .joint_2 = joint_of(scene, joint_2)};
  const VectorXd polynomial = polynomial_like.vector("polynomial");
  if (polynomial.size() > 5) {
    throw std::invalid_argument("polynomial has " + std::to_string(polynomial.size()) + " coefficients, at most 5");
  }
  coupling.polynomial.fill(0.0);
  for (Eigen::Index k = 0; k < polynomial.size(); ++k) coupling.polynomial[static_cast<std::size_t>(k)] = polynomial[k];
  coupling.reference_1 = reference_1;
  coupling.reference_2 = reference_2;
  coupling.compliance = compliance;
  taut::add_coupling(scene, std::move(coupling));
}

std::size_t add_loop_actuator(Scene& scene, const std::string& loop_name, const std::string& kind,
                              const taut::python::Integer& drive_given, double gear, double kp, double kv,
                              std::pair<double, double> control_range, std::pair<double, double> force_range,
                              const std::string& name) {
  const int drive = drive_given.as_int("drive");
  taut::Actuator actuator{.name = name.empty() ? loop_name : name, .dof = drive, .gear = gear, .kp = kp, .kv = kv};
  if (kind != "motor" && kind != "position") {
    throw std::invalid_argument("actuator kind '" + kind + "' is not motor or position");
  }
  actuator.kind = kind == "motor" ? taut::Actuator::Kind::motor : taut::Actuator::Kind::position;
  actuator.control_range = control_range;
  actuator.force_range = force_range;
  for (std::size_t i = 0; i < scene.loops.size(); ++i) {
    if (scene.loops[i].name == loop_name) actuator.loop = static_cast<int>(i);
  }
  if (actuator.loop < 0) throw std::invalid_argument("no loop is named '" + loop_name + "'");
  const int drives = taut::drives_of(scene.loops[static_cast<std::size_t>(actuator.loop)].kind);
  if (drive < 0 || drive >= drives) {
    throw std::invalid_argument("loop '" + loop_name + "' has " + std::to_string(drives) +
                                " directions to drive, not number " + std::to_string(drive));
  }
  for (const auto& [what, value] : {std::pair("gear", gear), std::pair("kp", kp), std::pair("kv", kv)}) {
    if (!std::isfinite(value)) throw std::invalid_argument(std::string(what) + " is " + std::to_string(value));
  }
  for (const auto& [what, value] : {std::pair("kp", kp), std::pair("kv", kv)}) {
    if (value < 0.0) {
      throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + ", it must not be negative");
    }
  }
  for (const auto& [what, range] : {std::pair("control_range", control_range), std::pair("force_range", force_range)}) {
    if (!(range.first <= range.second)) {
      throw std::invalid_argument(std::string(what) + " is (" + std::to_string(range.first) + ", " +
                                  std::to_string(range.second) + "), the lower must not be above the upper");
    }
  }
  scene.actuators.push_back(std::move(actuator));
  return scene.actuators.size() - 1;
}

nb::dict loop_errors(const Scene& scene, const std::optional<ArrayLike>& q_like) {
  const VectorXd q = configuration(scene, q_like);
  const VectorXd error = taut::closure_error(scene, q);
  nb::dict errors;
  Eigen::Index row = 0;
  for (const taut::Loop& loop : scene.loops) {
    const int size = taut::rows_of(loop.kind).size();
    errors[loop.name.c_str()] = VectorXd(error.segment(row, size));
    row += size;
  }
  for (const taut::Coupling& coupling : scene.couplings)
    errors[coupling.name.c_str()] = VectorXd(error.segment(row++, 1));
  return errors;
}

nb::dict loop_gaps(const Scene& scene, const std::optional<ArrayLike>& q_like) {
  const VectorXd q = configuration(scene, q_like);
  const auto gaps = taut::loop_gaps(scene, q);
  nb::dict found;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    found[scene.loops[i].name.c_str()] = nb::make_tuple(gaps[i].linear, gaps[i].angular);
  }
  return found;
}

// The worst of two numbers over the rows of q; NaN where one of them is.
template <typename Gap>
std::pair<double, double> worst_over(const Scene& scene, const ArrayLike& q_like, const Gap& gap_at) {
  MatrixXd q;
  taut::check_structure(scene);
  if (q_like.dimensions("q") != 2) {
    q = q_like.vector("q", scene.model.nq);
  } else {
    q = q_like.matrix("q", taut::python::kAny, scene.model.nq).transpose();
  }
  std::pair<double, double> worst{0.0, 0.0};
  for (Eigen::Index k = 0; k < q.cols(); ++k) {
    const taut::LoopGap gap = gap_at(q.col(k));
    if (!std::isfinite(gap.linear + gap.angular)) return {std::nan(""), std::nan("")};
    worst = {std::max(worst.first, gap.linear), std::max(worst.second, gap.angular)};
  }
  return worst;
}

std::pair<double, double> worst_loop_gap(const Scene& scene, const ArrayLike& q) {
  taut::Kinematics oM(scene.model);
  return worst_over(scene, q, [&](const taut::ConstVectorRef& at) {
    oM.update(scene.model, at);
    taut::LoopGap worst;
    for (const taut::Loop& loop : scene.loops) {
      const taut::LoopGap gap = taut::loop_gap(loop, oM[loop.joint_1], oM[loop.joint_2]);
      if (!std::isfinite(gap.linear + gap.angular)) return gap;
      worst = {std::max(worst.linear, gap.linear), std::max(worst.angular, gap.angular)};
    }
    return worst;
  });
}

std::pair<double, double> limit_excess(const Scene& scene, const ArrayLike& q) {
  return worst_over(scene, q, [&](const taut::ConstVectorRef& at) { return taut::limit_excess(scene, at); });
}

VectorXd assemble(const Scene& scene, const std::optional<ArrayLike>& q_like, const std::vector<nb::object>& fixed,
                  double tolerance) {
  const VectorXd q = configuration(scene, q_like);
  taut::AssemblyOptions options;
  if (!(tolerance > 0.0) || !std::isfinite(tolerance)) {
    throw std::invalid_argument("tolerance is " + std::to_string(tolerance) + ", it must be positive");
  }
  options.tolerance = tolerance;
  for (const nb::object& joint : fixed) options.fixed.push_back(joint_of(scene, joint));
  taut::python::Signals signals;
  return taut::assemble(scene, q, options);
}

}  // namespace

void bind_loops(nb::module_& m, nb::class_<Scene>& scene) {
  nb::class_<taut::Loop>(m, "Loop", "A joint that closes a loop.")
      .def_ro("name", &taut::Loop::name)
      .def_prop_ro("kind", [](const taut::Loop& loop) { return taut::to_string(loop.kind); })
      .def_ro("joint_1", &taut::Loop::joint_1, "The joint that carries the first frame; 0 is the world.")
      .def_ro("joint_2", &taut::Loop::joint_2)
      .def_prop_ro("position_1", [](const taut::Loop& loop) { return Vector3d(loop.placement_1.translation()); })
      .def_prop_ro("position_2", [](const taut::Loop& loop) { return Vector3d(loop.placement_2.translation()); })
      .def_prop_ro("rotation_1", [](const taut::Loop& loop) { return Matrix3d(loop.placement_1.rotation()); })
      .def_prop_ro("rotation_2", [](const taut::Loop& loop) { return Matrix3d(loop.placement_2.rotation()); })
      .def_ro("length", &taut::Loop::length)
      .def_ro("compliance", &taut::Loop::compliance)
      .def_ro("angular_compliance", &taut::Loop::angular_compliance)
      .def("__repr__", [](const taut::Loop& loop) {
        return "Loop('" + loop.name + "', " + taut::to_string(loop.kind) + ", joints " + std::to_string(loop.joint_1) +
               " and " + std::to_string(loop.joint_2) + ")";
      });

  nb::class_<taut::Coupling>(m, "Coupling", "A gear or cam between two joint coordinates.")
      .def_ro("name", &taut::Coupling::name)
      .def_ro("joint_1", &taut::Coupling::joint_1)
      .def_ro("joint_2", &taut::Coupling::joint_2, "0: none")
      .def_prop_ro(
          "polynomial",
          [](const taut::Coupling& c) { return std::vector<double>(c.polynomial.begin(), c.polynomial.end()); })
      .def_ro("reference_1", &taut::Coupling::reference_1)
      .def_ro("reference_2", &taut::Coupling::reference_2)
      .def_ro("compliance", &taut::Coupling::compliance);

  scene
      .def_prop_rw(
          "limit_restitution", [](const Scene& s) { return taut::python::read_only(s.limits.restitution); },
          [](Scene& s, const ArrayLike& given) {
            taut::check_live(s);
            const VectorXd e = given.vector("limit_restitution", s.model.nv);
            if (!((e.array() >= 0.0) && (e.array() <= 1.0)).all()) {
              throw std::invalid_argument("limit_restitution must be between 0 and 1");
            }
            s.limits.restitution = e;
          },
          taut::python::kOwned,
          "Newton's coefficient of the joints' stops, one per degree of freedom; read-only: assign it.")
      .def_prop_rw(
          "limit_compliance", [](const Scene& s) { return taut::python::read_only(s.limits.compliance); },
          [](Scene& s, const ArrayLike& given) {
            taut::check_live(s);
            const VectorXd c = given.vector("limit_compliance", s.model.nv);
            if (!(c.array() >= 0.0).all() || !c.allFinite()) {
              throw std::invalid_argument("limit_compliance must not be negative");
            }
            s.limits.compliance = c;
          },
          taut::python::kOwned,
          "Compliance of the joints' stops, rad/(N m) or m/N, one per degree of freedom; read-only: assign it.")
      .def(
          "set_ball_limit",
          [](Scene& s, nb::handle joint, double angle) {
            const int index = joint_of(s, joint);
            if (!taut::is_ball(s.model, index)) {
              throw std::invalid_argument("set_ball_limit: that joint is not a ball joint");
            }
            if (!(angle > 0.0 && angle <= EIGEN_PI)) {
              throw std::invalid_argument("set_ball_limit: angle is " + std::to_string(angle) +
                                          ", it must be between 0 and pi");
            }
            std::erase_if(s.ball_limits, [&](const taut::BallLimit& limit) { return limit.joint == index; });
            s.ball_limits.push_back({index, angle});
          },
          nb::call_policy<NotWhileRunning>(), "joint"_a, "angle"_a,
          "The largest turn of a ball joint, in any direction, rad; felt at the next step.")
      .def("add_loop", &add_loop, nb::call_policy<NotWhileRunning>(), "kind"_a, "body_1"_a.none(), "body_2"_a.none(),
           nb::kw_only(), "point"_a = nb::none(), "axis"_a = nb::none(), "second_axis"_a = nb::none(),
           "position_1"_a = nb::none(), "position_2"_a = nb::none(), "quaternion_1"_a = nb::none(),
           "quaternion_2"_a = nb::none(), "length"_a = nb::none(), "compliance"_a = 0.0, "angular_compliance"_a = 0.0,
           "name"_a = "", "q"_a = nb::none(),
           "A joint that closes a loop between two bodies, or a body and the world (None): point, hinge, weld, slider, "
           "cylindrical, universal or distance. Bodies are given by name or joint index. Either by `point` and `axis` "
           "in the world, closed in configuration q (default q0), or by a frame on each body (`position_`, "
           "`quaternion_`), whose z is the axis; a universal joint turns about `axis` of body_1 and `second_axis` of "
           "body_2 (x and y of the frames). `length` of a distance: default as it is. Compliances in m/N and "
           "rad/(N m); 0 is rigid.")
      .def("add_coupling", &add_coupling, nb::call_policy<NotWhileRunning>(), "joint_1"_a, "joint_2"_a.none(),
           "polynomial"_a = nb::make_tuple(0.0, 1.0), nb::kw_only(), "reference_1"_a = 0.0, "reference_2"_a = 0.0,
           "compliance"_a = 0.0, "name"_a = "",
           "A gear or cam: q_1 - reference_1 = sum of polynomial[k] (q_2 - reference_2)^k.")
      .def("add_loop_actuator", &add_loop_actuator, nb::call_policy<NotWhileRunning>(), "loop"_a, "kind"_a = "motor",
           "drive"_a = 0, nb::kw_only(), "gear"_a = 1.0, "kp"_a = 0.0, "kv"_a = 0.0,
           "control_range"_a = std::pair(-HUGE_VAL, HUGE_VAL), "force_range"_a = std::pair(-HUGE_VAL, HUGE_VAL),
           "name"_a = "",
           "A motor or position servo on a direction in which a loop is free: hinge and slider have one, cylindrical "
           "two (slide, turn), universal two (about axis, about second_axis). Its control is the next entry of "
           "`control`. Returns its index.")
      .def_prop_ro(
          "loops", [](const Scene& s) { return s.loops; }, "The loop closures.")
      .def_prop_ro(
          "couplings", [](const Scene& s) { return s.couplings; }, "The couplings of joint coordinates.")
      .def("loop_errors", &loop_errors, "q"_a = nb::none(),
           "By name: the error of each loop and coupling at q (default q0), zero where it is closed; m, then rad.")
      .def("loop_gaps", &loop_gaps, "q"_a = nb::none(), "By name: how far each loop is open at q, as (m, rad).")
      .def("worst_loop_gap", &worst_loop_gap, "q"_a,
           "(m, rad): how far the loops are open at worst, in a configuration or in the rows of several.")
      .def("limit_excess", &limit_excess, "q"_a,
           "(m, rad): how far joints are beyond their limits at worst, those that slide and those that turn, in a "
           "configuration or in the rows of several; 0 within them.")
      .def(
          "loop_jacobian",
          [](const Scene& s, const std::optional<ArrayLike>& q) {
            return taut::closure_jacobian(s, configuration(s, q));
          },
          "q"_a = nb::none(), "(rows, nv): derivative of loop_errors, one below the other, in the tangent space of q.")
      .def("assemble", &assemble, "q"_a = nb::none(), nb::kw_only(), "fixed"_a = std::vector<nb::object>{},
           "tolerance"_a = taut::AssemblyOptions{}.tolerance,
           "The configuration near q (default q0) in which loops and couplings are closed and limits are kept; `fixed` "
           "joints do not move. Raises ValueError naming the loop that cannot be closed.");
}
