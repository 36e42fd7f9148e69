#include <pinocchio/multibody.hpp>
// Pinocchio comes first: its headers configure Boost.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupts.hpp"
#include "running.hpp"
#include "shape_owners.hpp"
#include "tape.hpp"
#include "taut/problem/owned_problem.hpp"
#include "taut/simulation/energy.hpp"
#include "taut/simulation/simulator.hpp"
#include "taut/simulation/structure.hpp"
#include "trajectory.hpp"

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using taut::Simulator;
using taut::python::ArrayLike;
using taut::python::Integer;
using taut::python::looked_at;
using taut::python::Running;
using taut::python::Signals;
using taut::python::Tapes;
using taut::python::Trajectory;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using OptionalArray = std::optional<ArrayLike>;

// What a step returns: a copy, so that the next step does not change it.
struct StepResult {
  VectorXd q, v;
  std::vector<taut::Contact> contacts;
  RowMatrix impulses;
  taut::SolveReport report;

  explicit StepResult(const taut::Record& record)
      : q(record.q_next),
        v(record.v_next),
        contacts(record.contacts),
        impulses(record.contact_impulses().transpose()),
        report(record.report) {}
};

VectorXd vector_or_empty(const OptionalArray& value, const char* what, Eigen::Index size) {
  return value && !value->empty(what) ? value->vector(what, size) : VectorXd();
}

std::vector<pinocchio::Force> forces_of(const OptionalArray& fext, int joints) {
  std::vector<pinocchio::Force> forces;
  if (!fext) return forces;
  const MatrixXd rows = fext->matrix("fext", joints, 6);  // (force, moment) per joint, the world first
  for (Eigen::Index i = 0; i < rows.rows(); ++i) forces.emplace_back(rows.row(i).transpose());
  return forces;
}

StepResult step(nb::handle self, const ArrayLike& q_like, const ArrayLike& v_like, const OptionalArray& tau_like,
                const OptionalArray& fext, const OptionalArray& control_like) {
  auto& simulator = nb::cast<Simulator&>(self);
  const auto& model = simulator.scene().model;
  const auto actuators = static_cast<Eigen::Index>(simulator.scene().actuators.size());
  taut::python::prepare(simulator);
  const VectorXd q = q_like.vector("q", model.nq), v = v_like.vector("v", model.nv),
                 tau = vector_or_empty(tau_like, "tau", model.nv),
                 control = vector_or_empty(control_like, "control", actuators);
  const std::vector<pinocchio::Force> forces = forces_of(fext, model.njoints);
  const Running<taut::Usage::Change> running(simulator);
  Tapes tapes(self);
  bool due = false;
  std::optional<StepResult> result;
  {
    nb::gil_scoped_release release;
    tapes.lock();
    Signals signals;
    const taut::Record& record = simulator.step(running.use, q, v, tau, forces, control);
    result.emplace(record);
    due = tapes.note(record, tau, control);
  }
  if (due) tapes.hand_over();
  return std::move(*result);
}

Trajectory rollout(nb::handle self, const ArrayLike& q_like, const ArrayLike& v_like, const OptionalArray& taus_like,
                   const std::optional<Integer>& steps_given, const OptionalArray& control_like,
                   const std::optional<Integer>& checkpoints) {
  const std::optional<int> steps = as_int(steps_given, "steps"), every = as_int(checkpoints, "checkpoints");
  auto& simulator = nb::cast<Simulator&>(self);
  const auto& model = simulator.scene().model;
  taut::python::prepare(simulator);
  const VectorXd q = q_like.vector("q", model.nq), v = v_like.vector("v", model.nv);
  std::optional<MatrixXd> taus;
  if (taus_like) taus = taus_like->matrix("taus", steps && *steps >= 0 ? *steps : taut::python::kAny, model.nv);
  if (!taus && !steps) throw std::invalid_argument("rollout: give taus (steps, nv) or the number of steps");
  if (steps && *steps < 0) throw std::invalid_argument("rollout: steps is " + std::to_string(*steps));
  if (taus && !taus->allFinite()) throw std::invalid_argument("rollout: taus is not finite");
  const auto actuators = static_cast<Eigen::Index>(simulator.scene().actuators.size());
  MatrixXd controls(actuators, 0);
  if (control_like && control_like->dimensions("control") != 2) {
    controls = control_like->vector("control", actuators);
  } else if (control_like) {
    controls = control_like->matrix("control", taus ? taus->rows() : *steps, actuators).transpose();
  }
  if (!controls.allFinite()) throw std::invalid_argument("rollout: control is not finite");
  const int count = taus ? static_cast<int>(taus->rows()) : *steps;
  taut::python::require_room("steps: the trajectory of all", (count + 1.0) * (model.nq + model.nv));
  if (every && *every < 1) throw std::invalid_argument("rollout: checkpoints is " + std::to_string(*every));
  const Running<taut::Usage::Change> running(simulator);
  Tapes tapes(self);
  nb::gil_scoped_release release;
  tapes.lock();
  Signals signals;
  Trajectory path;
  taut::Rollout& run = path.run;
  run.q.setConstant(model.nq, count + 1, std::nan(""));
  run.v.setConstant(model.nv, count + 1, std::nan(""));
  run.q.col(0) = q;
  run.v.col(0) = v;
  run.taus = taus ? MatrixXd(taus->transpose()) : MatrixXd(model.nv, 0);
  run.controls = controls;
  run.every = every.value_or(std::max(1, static_cast<int>(std::ceil(std::sqrt(count)))));
  path.reports.reserve(static_cast<std::size_t>(count));
  path.contacts.reserve(static_cast<std::size_t>(count));
  if (count > 0) run.checkpoints.push_back(simulator.state());
  const VectorXd nothing;
  const auto note = [&](int k, const taut::Record& record) {
    run.q.col(k + 1) = record.q_next;
    run.v.col(k + 1) = record.v_next;
    path.reports.push_back(record.report);
    path.contacts.push_back(static_cast<int>(record.contacts.size()));
    if ((k + 1) % run.every == 0 && k + 1 < count) run.checkpoints.push_back(simulator.state());
    // Of this step; a single column of controls stands for all.
    const auto column = [&, k](const MatrixXd& all) -> Eigen::Ref<const VectorXd> {
      if (all.cols() == 0) return nothing;
      return all.col(all.cols() == 1 ? 0 : k);
    };
    if (tapes.note(record, column(run.taus), column(controls))) {
      nb::gil_scoped_acquire acquire;
      tapes.hand_over();
    }
  };
  simulator.rollout(running.use, q, v, run.taus, count, note, controls);
  return path;
}

// A number for all degrees of freedom, or one for each.
VectorXd per_dof(const ArrayLike& value, const char* what, int nv) {
  const VectorXd x = value.broadcast(what, nv);
  for (const double gain : x) {
    if (!(gain >= 0.0) || !std::isfinite(gain)) {
      throw std::invalid_argument(std::string(what) + " must be finite and non-negative, it has " +
                                  std::to_string(gain));
    }
  }
  return x;
}

void hold(Simulator& simulator, const ArrayLike& q_like, const ArrayLike& kp, const ArrayLike& kd,
          const OptionalArray& torque_limit) {
  taut::python::prepare(simulator);
  const auto& model = simulator.scene().model;
  const VectorXd q = q_like.vector("q", model.nq);
  if (!q.allFinite()) throw std::invalid_argument("q is not finite");
  const VectorXd stiff = per_dof(kp, "kp", model.nv), damped = per_dof(kd, "kd", model.nv);
  const VectorXd limit = torque_limit ? per_dof(*torque_limit, "torque_limit", model.nv)
                                      : VectorXd(VectorXd::Constant(model.nv, HUGE_VAL));
  const taut::Usage::Change change(simulator.usage());
  taut::Servo& servo = simulator.servo();
  servo.clear();
  for (int joint = 1; joint < model.njoints; ++joint) {
    if (model.nqs[joint] != 1 || model.nvs[joint] != 1) continue;
    const int dof = model.idx_vs[joint];
    servo.kp[dof] = stiff[dof];
    servo.kd[dof] = damped[dof];
    servo.target[dof] = q[model.idx_qs[joint]];
    servo.upper[dof] = limit[dof];
    servo.lower[dof] = -limit[dof];
  }
}

// What `hold` was given, None if nothing is held.
nb::object held(const Simulator& simulator) {
  const taut::Usage::Look look(simulator.usage());
  const taut::Servo& servo = simulator.servo();
  if ((servo.kp.array() == 0.0).all() && (servo.kd.array() == 0.0).all()) return nb::none();
  nb::dict found;
  found["target"] = servo.target;
  found["kp"] = servo.kp;
  found["kd"] = servo.kd;
  found["torque_limit"] = servo.upper;
  return found;
}

taut::Integrator integrator_of(const std::string& name) {
  if (name == "euler") return taut::Integrator::euler;
  if (name == "moreau") return taut::Integrator::moreau;
  throw std::invalid_argument("integrator '" + name + "' is not euler or moreau");
}

// An option of the solver: none is its own default, which the library writes as zero.
double given(std::optional<double> value, const char* what) {
  if (value && (!(*value > 0.0) || !std::isfinite(*value))) {
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(*value) + ", it must be positive");
  }
  return value.value_or(0.0);
}

// A simulator holds its scene, whose attributes may hold the simulator: Python's collector must see it. Where a
// collector looks on from, the attributes of both, it can also cut.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (PyObject** attributes = _PyObject_GetDictPtr(self)) Py_VISIT(*attributes);
  if (nb::inst_ready(self)) {
    // One reference, whoever copied the pointer to it.
    const nb::object scene = nb::find(nb::inst_ptr<Simulator>(self)->scene());
    if (scene.is_valid()) Py_VISIT(scene.ptr());
  }
  return 0;
}

int clear(PyObject* self) {
  if (PyObject** attributes = _PyObject_GetDictPtr(self)) Py_CLEAR(*attributes);
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

// Names and values as the constructor takes them.
nb::dict options_of(const taut::SimulatorOptions& o) {
  const auto given_or_none = [](auto value) -> nb::object { return value > 0 ? nb::cast(value) : nb::none(); };
  nb::dict options;
  options["dt"] = o.dt;
  options["solver"] = o.solver;
  options["tolerance"] = o.solving.tolerance;
  options["max_iterations"] = given_or_none(o.solving.max_iterations);
  options["integrator"] = o.integrator == taut::Integrator::moreau ? "moreau" : "euler";
  options["margin"] = o.stabilization.margin;
  options["limit_margin"] = o.stabilization.limit_margin;
  options["correction"] = o.stabilization.correction;
  options["limit_correction"] = o.stabilization.limit_correction;
  options["loop_correction"] = o.stabilization.loop_correction;
  options["correction_speed"] = o.stabilization.correction_speed;
  options["penetration"] = o.stabilization.penetration;
  options["compliance"] = o.compliance.normal;
  options["tangential_compliance"] = o.compliance.tangential;
  options["restitution_threshold"] = o.restitution_threshold;
  options["soft_contacts"] = o.soft_contacts;
  options["soft_limits"] = o.soft_limits;
  options["soft_loops"] = o.soft_loops;
  options["relaxation"] = given_or_none(o.solving.relaxation);
  options["sides"] = o.solving.sides;
  options["alpha"] = given_or_none(o.solving.alpha);
  options["rho"] = given_or_none(o.solving.rho);
  options["gjk"] = taut::name_of(o.narrow_phase.variant);
  options["gjk_start"] = taut::name_of(o.narrow_phase.start);
  options["warm_start"] = o.warm_start;
  options["joint_limits"] = o.joint_limits;
  options["joint_friction"] = o.joint_friction;
  options["profile"] = o.profile;
  return options;
}

}  // namespace

void bind_simulator(nb::module_& m) {
  nb::class_<taut::Contact>(m, "Contact", "A point where two shapes touch, or nearly do.")
      .def_prop_ro(
          "identity", [](const taut::Contact& c) { return std::pair(c.pair, c.slot); },
          "(pair, slot): the same from step to step as long as the contact lasts.")
      .def_ro("pair", &taut::Contact::pair, "Index into scene.geometry.collisionPairs.")
      .def_ro("joint_1", &taut::Contact::joint_1, "The body the normal points to.")
      .def_ro("joint_2", &taut::Contact::joint_2)
      .def_ro("gap", &taut::Contact::gap, "Signed distance, m; negative in penetration.")
      .def_ro("mu", &taut::Contact::mu)
      .def_ro("restitution", &taut::Contact::restitution)
      .def_ro("compliance", &taut::Contact::compliance, "m/N, of the two surfaces together.")
      .def_ro("point", &taut::Contact::point, "World coordinates, half-way between the surfaces.")
      .def_ro("frame", &taut::Contact::frame, "(t1, t2, n) in columns, world.")
      .def_prop_ro("normal", [](const taut::Contact& c) { return Eigen::Vector3d(c.frame.col(2)); })
      .def("__repr__", [](const taut::Contact& c) {
        char text[160];
        std::snprintf(text, sizeof text, "Contact(identity=(%d, %d), gap=%.3e, point=(%.4f, %.4f, %.4f))", c.pair,
                      c.slot, c.gap, c.point.x(), c.point.y(), c.point.z());
        return std::string(text);
      });

  nb::class_<StepResult>(m, "Step", "The result of one step.")
      .def_ro("q", &StepResult::q)
      .def_ro("v", &StepResult::v)
      .def_ro("contacts", &StepResult::contacts)
      .def_ro("impulses", &StepResult::impulses, "(contacts, 3): on body 1, components (t1, t2, n), N s.")
      .def_ro("report", &StepResult::report);

  nb::class_<Trajectory>(m, "Trajectory", "The result of a rollout; row 0 is the start.")
      .def_prop_ro(
          "q",
          [](const Trajectory& t) {
            return Eigen::Map<const RowMatrix>(t.run.q.data(), t.run.q.cols(), t.run.q.rows());
          },
          nb::rv_policy::reference_internal, "(steps + 1, nq)")
      .def_prop_ro(
          "v",
          [](const Trajectory& t) {
            return Eigen::Map<const RowMatrix>(t.run.v.data(), t.run.v.cols(), t.run.v.rows());
          },
          nb::rv_policy::reference_internal, "(steps + 1, nv)")
      .def_ro("reports", &Trajectory::reports)
      .def_ro("contacts", &Trajectory::contacts, "Number of contacts of each step.")
      .def("__len__", [](const Trajectory& t) { return t.reports.size(); });

  nb::class_<taut::State>(m, "State", "A full state: restored, the future is the same bit for bit.")
      .def_ro("q", &taut::State::q)
      .def_ro("v", &taut::State::v);

  const taut::Softening softening;
  nb::class_<taut::Softening>(m, "Softening", "MuJoCo's soft constraint: solref and solimp. To compare with.")
      .def(
          "__init__",
          [](taut::Softening* self, double d_0, double d_width, double width, double midpoint, double power,
             double time_constant, double damping_ratio) {
            const taut::Softening given{d_0, d_width, width, midpoint, power, time_constant, damping_ratio};
            taut::validate(given);
            new (self) taut::Softening(given);
          },
          "d_0"_a = softening.d_0, "d_width"_a = softening.d_width, "width"_a = softening.width,
          "midpoint"_a = softening.midpoint, "power"_a = softening.power, "time_constant"_a = softening.time_constant,
          "damping_ratio"_a = softening.damping_ratio)
      .def("impedance", &taut::Softening::impedance, "error"_a, "d(r) in (0, 1).")
      .def_ro("d_0", &taut::Softening::d_0)
      .def_ro("d_width", &taut::Softening::d_width)
      .def_ro("width", &taut::Softening::width)
      .def_ro("midpoint", &taut::Softening::midpoint)
      .def_ro("power", &taut::Softening::power)
      .def_ro("time_constant", &taut::Softening::time_constant)
      .def_ro("damping_ratio", &taut::Softening::damping_ratio);

  const taut::SimulatorOptions defaults;
  const taut::Stabilization stabilization;
  nb::class_<Simulator> simulator(m, "Simulator", nb::dynamic_attr(), nb::is_weak_referenceable(),
                                  nb::type_slots(slots),
                                  "Steps a scene, solving the unrelaxed contact problem each time.");
  simulator
      .def(
          "__init__",
          [](Simulator* self, std::shared_ptr<taut::Scene> scene, double dt, const std::string& solver,
             double tolerance, const std::optional<Integer>& max_iterations_given, const std::string& integrator,
             double margin, double limit_margin, double correction, double limit_correction, double loop_correction,
             double correction_speed, double penetration, double compliance, double tangential_compliance,
             double restitution_threshold, std::optional<taut::Softening> soft_contacts,
             std::optional<taut::Softening> soft_limits, std::optional<taut::Softening> soft_loops,
             std::optional<double> relaxation, const Integer& sides, std::optional<double> alpha,
             std::optional<double> rho, const std::string& gjk, const std::string& gjk_start, bool warm_start,
             bool joint_limits, bool joint_friction, bool profile) {
            const std::optional<int> max_iterations = as_int(max_iterations_given, "max_iterations");
            if (max_iterations && *max_iterations <= 0) {
              throw std::invalid_argument("max_iterations is " + std::to_string(*max_iterations) +
                                          ", it must be positive");
            }
            taut::python::own_shapes(*scene);
            new (self)
                Simulator(std::move(scene), {.dt = dt,
                                             .integrator = integrator_of(integrator),
                                             .solver = solver,
                                             .solving = {.tolerance = tolerance,
                                                         .max_iterations = max_iterations.value_or(0),
                                                         .relaxation = given(relaxation, "relaxation"),
                                                         .sides = sides.as_int("sides"),
                                                         .alpha = given(alpha, "alpha"),
                                                         .rho = given(rho, "rho")},
                                             .stabilization = {.margin = margin,
                                                               .limit_margin = limit_margin,
                                                               .correction = correction,
                                                               .limit_correction = limit_correction,
                                                               .loop_correction = loop_correction,
                                                               .correction_speed = correction_speed,
                                                               .penetration = penetration},
                                             .compliance = {compliance, tangential_compliance},
                                             .restitution_threshold = restitution_threshold,
                                             .soft_contacts = soft_contacts,
                                             .soft_limits = soft_limits,
                                             .soft_loops = soft_loops,
                                             .narrow_phase = {taut::gjk_variant(gjk), taut::gjk_start(gjk_start)},
                                             .warm_start = warm_start,
                                             .joint_limits = joint_limits,
                                             .joint_friction = joint_friction,
                                             .profile = profile});
          },
          "scene"_a, "dt"_a = defaults.dt, "solver"_a = defaults.solver, "tolerance"_a = defaults.solving.tolerance,
          "max_iterations"_a = nb::none(), nb::kw_only(), "integrator"_a = "euler", "margin"_a = stabilization.margin,
          "limit_margin"_a = stabilization.limit_margin, "correction"_a = stabilization.correction,
          "limit_correction"_a = stabilization.limit_correction, "loop_correction"_a = stabilization.loop_correction,
          "correction_speed"_a = stabilization.correction_speed, "penetration"_a = stabilization.penetration,
          "compliance"_a = defaults.compliance.normal, "tangential_compliance"_a = defaults.compliance.tangential,
          "restitution_threshold"_a = defaults.restitution_threshold, "soft_contacts"_a = nb::none(),
          "soft_limits"_a = nb::none(), "soft_loops"_a = nb::none(), "relaxation"_a = nb::none(),
          "sides"_a = defaults.solving.sides, "alpha"_a = nb::none(), "rho"_a = nb::none(),
          "gjk"_a = taut::name_of(defaults.narrow_phase.variant),
          "gjk_start"_a = taut::name_of(defaults.narrow_phase.start), "warm_start"_a = defaults.warm_start,
          "joint_limits"_a = defaults.joint_limits, "joint_friction"_a = defaults.joint_friction,
          "profile"_a = defaults.profile,
          "dt in s, tolerance in m/s on the judge. integrator: 'euler' (semi-implicit) or 'moreau' (midpoint). margin: "
          "closer than this (m) a pair is a contact. correction, limit_correction, loop_correction: share of a "
          "penetration, of a violated limit, of an open loop corrected in a step, at most at correction_speed (m/s); "
          "penetration (m) is let alone. compliance (m/N) makes contacts give way: at rest a force f sinks by f "
          "compliance; tangential_compliance makes sticking ones creep. Impacts slower than restitution_threshold do "
          "not bounce. soft_contacts, soft_limits, soft_loops: a Softening, instead of rigid constraints. relaxation, "
          "sides, alpha and rho go to the solver, as in `solve`. gjk: 'vanilla', 'polyak' or 'nesterov'; gjk_start: "
          "'none', "
          "'boxes', 'previous', 'turned' or 'transported', where GJK starts. profile fills `seconds`.")
      .def("step", &step, "q"_a, "v"_a, "tau"_a = nb::none(), "fext"_a = nb::none(), "control"_a = nb::none(),
           "One step. tau (nv,), fext (njoints, 6): (force, moment) in the joints' frames, control: one value per "
           "actuator of the scene.")
      .def(
          "rollout", &rollout, "q"_a, "v"_a, "taus"_a = nb::none(), "steps"_a = nb::none(), "control"_a = nb::none(),
          "checkpoints"_a = nb::none(),
          "Many steps in one call, without the GIL. taus (steps, nv), or the number of steps for zero torque; control: "
          "one value per actuator, in all steps, or a row of them for each. If a step is not finite the rest of the "
          "arrays is NaN. checkpoints: steps between those that `adjoint` goes back to, the root of the number of "
          "steps if not given; 1 is fastest and takes most memory.")
      .def("hold", &hold, "q"_a, "kp"_a, "kd"_a, "torque_limit"_a = nb::none(),
           "Hold revolute and prismatic joints at q by implicit PD: stable for any gains. Gains are numbers or (nv,).")
      .def(
          "release",
          [](Simulator& s) {
            const taut::Usage::Change change(s.usage());
            s.servo().clear();
          },
          "End `hold`.")
      .def("state", &Simulator::state, "The full state after the last step.")
      .def("restore", &Simulator::restore, "state"_a, "Go back to a state; then step from its q and v.")
      .def("reset", &Simulator::reset, "Forget contacts and impulses: the next step is a cold start.")
      .def("problem", looked_at([](const Simulator& s) { return taut::OwnedProblem::copy(s.record().problem()); }),
           "The contact problem of the last step, a copy.")
      .def_prop_ro("impulse", looked_at([](const Simulator& s) {
                     return VectorXd(s.record().impulse.head(s.record().rows.rows()));
                   }),
                   "All impulses of the last step, in the order of problem().")
      .def_prop_ro("loop_impulses", looked_at([](const Simulator& s) {
                     nb::dict found;
                     Eigen::Index row = s.record().loop_start;
                     const bool stepped = s.record().rows.rows() > 0;
                     for (const taut::Loop& loop : s.scene().loops) {
                       const int size = taut::rows_of(loop.kind).size();
                       found[loop.name.c_str()] = stepped && row + size <= s.record().rows.rows()
                                                      ? VectorXd(s.record().impulse.segment(row, size))
                                                      : VectorXd(VectorXd::Zero(size));
                       row += size;
                     }
                     return found;
                   }),
                   "By name: impulses of the loops in the last step, N s and N m s, in the order of loop_errors.")
      .def_prop_ro("restitution_scale", looked_at([](const Simulator& s) { return s.record().restitution_scale; }),
                   "Below 1 where the last step lowered every coefficient of restitution so that no energy was gained.")
      .def_prop_ro(
          "integrator",
          [](const Simulator& s) { return s.options().integrator == taut::Integrator::moreau ? "moreau" : "euler"; })
      .def_prop_ro("v_free", looked_at([](const Simulator& s) { return s.record().v_free; }),
                   "Velocity of the last step without constraint impulses.")
      .def_prop_ro("seconds", looked_at([](const Simulator& s) { return s.record().seconds; }),
                   "Where the last step's time went, if profile: dynamics, collision, delassus, solver, integration.")
      .def_prop_ro("scene", [](const Simulator& s) { return std::const_pointer_cast<taut::Scene>(s.shared_scene()); })
      .def_prop_ro("dt", [](const Simulator& s) { return s.options().dt; })
      .def_prop_ro(
          "options", [](const Simulator& s) { return options_of(s.options()); },
          "By name: what the simulator was made with, beside its scene. Simulator(scene, **options) makes its equal.")
      .def_prop_ro(
          "held", &held,
          "What `hold` was given, per degree of freedom: target, kp, kd, torque_limit; None if nothing is held.")
      .def_prop_ro("tolerance", [](const Simulator& s) { return s.options().solving.tolerance; })
      .def_prop_ro("solver", [](const Simulator& s) { return s.options().solver; })
      .def_prop_ro("gjk", [](const Simulator& s) { return taut::name_of(s.options().narrow_phase.variant); })
      .def_prop_ro("gjk_start", [](const Simulator& s) { return taut::name_of(s.options().narrow_phase.start); });
  bind_derivatives(m, simulator);
  bind_adjoints(m, simulator);
  bind_tape(m, simulator);

  m.def(
      "mechanical_energies",
      [](const taut::Scene& scene, const taut::python::ArrayLike& q_like, const taut::python::ArrayLike& v_like) {
        taut::check_structure(scene);
        const bool one = q_like.dimensions("q") != 2;
        Eigen::MatrixXd q, v;
        if (one) {
          q = q_like.vector("q", scene.model.nq);
          v = v_like.vector("v", scene.model.nv);
        } else {
          q = q_like.matrix("q", taut::python::kAny, scene.model.nq).transpose();
          v = v_like.matrix("v", q.cols(), scene.model.nv).transpose();
        }
        taut::Kinematics kinematics(scene.model);
        VectorXd energies(q.cols());
        for (Eigen::Index k = 0; k < q.cols(); ++k) {
          energies[k] = taut::mechanical_energy(scene, q.col(k), v.col(k), kinematics);
        }
        return one ? nb::cast(energies[0]) : nb::cast(energies);
      },
      "scene"_a, "q"_a, "v"_a, "Of a state, J, or of those in the rows of q (n, nq) and v (n, nv): (n,).");
}
