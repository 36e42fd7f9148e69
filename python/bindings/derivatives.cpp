#include <pinocchio/multibody.hpp>
// Pinocchio comes first: its headers configure Boost.
#include <nanobind/eigen/dense.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdio>

#include "arrays.hpp"
#include "bindings.hpp"
#include "derivative_options.hpp"
#include "interrupts.hpp"
#include "shape_owners.hpp"
#include "taut/derivatives/step_derivatives.hpp"

namespace {

using taut::Certificate;
using taut::CertificateSummary;
using taut::Simulator;
using taut::StepDerivatives;
using taut::StepJacobian;
using taut::StepTangent;
using taut::Usage;
using taut::python::ArrayLike;
using taut::python::options_of;
using taut::python::parameters_of;
using taut::python::Signals;

// The workspace of a simulator's derivatives lives beside it, made when it is first asked for.
StepDerivatives& workspace_of(nb::handle simulator) {
  if (!nb::hasattr(simulator, "_derivatives")) {
    nb::setattr(simulator, "_derivatives",
                nb::cast(new StepDerivatives(nb::cast<const Simulator&>(simulator)), nb::rv_policy::take_ownership));
  }
  return nb::cast<StepDerivatives&>(simulator.attr("_derivatives"));
}

StepJacobian jacobian(nb::handle simulator, const std::string& collision, std::optional<double> temperature,
                      bool move_contacts, bool impulses, bool forces) {
  taut::StepDerivativeOptions options = options_of(collision, temperature, move_contacts);
  options.impulses = impulses;
  options.forces = forces;
  // The workspace is one, too: who changes nothing needs it alone all the same.
  const Usage::Change change(nb::cast<const Simulator&>(simulator).usage());
  Signals signals;
  return workspace_of(simulator).jacobian(nb::cast<const Simulator&>(simulator), options);
}

StepTangent jvp(nb::handle simulator, const ArrayLike& dq, const ArrayLike& dv, const std::optional<ArrayLike>& dtau,
                const std::string& collision, std::optional<double> temperature, bool move_contacts) {
  const auto& sim = nb::cast<const Simulator&>(simulator);
  const int nv = sim.scene().model.nv;
  const Eigen::VectorXd torque = dtau ? dtau->vector("dtau", nv) : Eigen::VectorXd(Eigen::VectorXd::Zero(nv));
  const Eigen::VectorXd along_q = dq.vector("dq", nv), along_v = dv.vector("dv", nv);
  const Usage::Change change(sim.usage());
  Signals signals;
  return workspace_of(simulator).jvp(sim, along_q, along_v, torque, options_of(collision, temperature, move_contacts));
}

// Adjoints by name.
struct Adjoint : taut::StepAdjoint {
  std::map<std::string, Eigen::VectorXd> theta;
};

Adjoint vjp(nb::handle simulator, const ArrayLike& q_bar, const ArrayLike& v_bar, const std::vector<std::string>& theta,
            const std::string& collision, std::optional<double> temperature, bool move_contacts) {
  const auto& sim = nb::cast<const Simulator&>(simulator);
  const int nv = sim.scene().model.nv;
  const Usage::Change change(sim.usage());
  sim.require_unedited();  // before names of parameters are looked up
  Signals signals;
  StepDerivatives& derivatives = workspace_of(simulator);
  const auto parameters = parameters_of(sim.scene(), theta);
  Adjoint bars{derivatives.vjp(sim, q_bar.vector("q_bar", nv), v_bar.vector("v_bar", nv),
                               options_of(collision, temperature, move_contacts)),
               {}};
  for (const taut::Parameter& parameter : parameters) {
    bars.theta[parameter.name] = derivatives.vjp_parameter(sim, parameter);
  }
  return bars;
}

// Seconds of every step of a run, of its Jacobian and of one adjoint: (steps, 3). For benchmarks.
Eigen::MatrixXd derivative_seconds(nb::handle simulator, const ArrayLike& q_like, const ArrayLike& v_like,
                                   const taut::python::Integer& steps_given) {
  using Clock = std::chrono::steady_clock;
  const auto steps = static_cast<int>(steps_given.within("steps", 1, 100'000'000));
  auto& sim = nb::cast<Simulator&>(simulator);
  taut::python::prepare(sim);
  StepDerivatives& derivatives = workspace_of(simulator);
  const auto& model = sim.scene().model;
  Eigen::VectorXd q = q_like.vector("q", model.nq), v = v_like.vector("v", model.nv);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(sim.scene().model.nv);
  Eigen::MatrixXd seconds(steps, 3);
  const Usage::Change change(sim.usage());
  Signals signals;
  for (int k = 0; k < steps; ++k) {
    const auto start = Clock::now();
    sim.step(change, q, v);
    const auto stepped = Clock::now();
    derivatives.jacobian(sim);
    const auto derived = Clock::now();
    derivatives.vjp(sim, ones, ones);
    const auto end = Clock::now();
    const auto between = [](auto a, auto b) { return std::chrono::duration<double>(b - a).count(); };
    seconds.row(k) << between(start, stepped), between(stepped, derived), between(derived, end);
    q = sim.record().q_next;
    v = sim.record().v_next;
  }
  return seconds;
}

const char* mode_name(taut::Mode mode) {
  switch (mode) {
    case taut::Mode::closed:
      return "closed";
    case taut::Mode::sliding:
      return "sliding";
    case taut::Mode::open:
      break;
  }
  return "open";
}

}  // namespace

void bind_derivatives(nb::module_& m, nb::class_<taut::Simulator>& simulator) {
  nb::class_<StepDerivatives>(m, "StepDerivatives", "The workspace of a simulator's derivatives.");

  nb::class_<CertificateSummary>(m, "CertificateSummary",
                                 "How far a derivative is to be trusted, in a few numbers: of a step of a run.")
      .def_ro("nearest", &CertificateSummary::nearest,
              "The least distance (m/s, rad/s) to a switch: small, and the derivative may be one-sided.")
      .def_ro("unknowns", &CertificateSummary::unknowns)
      .def_ro("rank", &CertificateSummary::rank,
              "Less than unknowns: constraints repeat each other, impulses are not unique.")
      .def_ro("conditioning", &CertificateSummary::conditioning,
              "What is left of the constraint that the others repeat most nearly, as a share of it.")
      .def_ro("residual", &CertificateSummary::residual,
              "m/s: what the step leaves of the exact contact law, whatever law its solver has.")
      .def_ro("unique", &CertificateSummary::unique,
              "False where redundant contacts slide while they turn: several velocities solve such a step, and the "
              "derivative is that of one of them.")
      .def_ro("solved", &CertificateSummary::solved,
              "The step solves the exact contact law to the simulator's tolerance: what is differentiated holds.")
      .def_ro("loops_put_back", &CertificateSummary::loops_put_back,
              "Loops were left open and put back, after an impact: this is not differentiated.")
      .def_ro("scaled_restitution", &CertificateSummary::scaled_restitution,
              "Bounces were lowered to keep energy; the factor is taken as constant.")
      .def("__repr__", [](const CertificateSummary& c) {
        char text[200];
        std::snprintf(text, sizeof text, "%s(solved=%s, unique=%s, nearest=%.3g, residual=%.3g, rank=%d of %d)",
                      "Certificate", c.solved ? "True" : "False", c.unique ? "True" : "False", c.nearest, c.residual,
                      c.rank, c.unknowns);
        return std::string(text);
      });

  nb::class_<Certificate, CertificateSummary>(m, "Certificate", "How far a derivative of a step is to be trusted.")
      .def_prop_ro(
          "modes",
          [](const Certificate& c) {
            std::vector<std::string> names;
            for (const taut::Mode mode : c.modes) names.emplace_back(mode_name(mode));
            return names;
          },
          "Of each block of problem(): 'closed' (a contact that sticks, a limit that is reached, a joint that is "
          "stuck, "
          "a loop), 'sliding', 'open' (also a joint that slips).")
      .def_ro("distance", &Certificate::distance,
              "About how much (m/s, rad/s) the free velocity of each block must change for it to change its mode.");

  nb::class_<StepJacobian>(m, "StepJacobian",
                           "d(q⁺, v⁺)/d(q, v, tau), in the tangents of q and q⁺ as Pinocchio has them: (nv, nv) each.")
      .def_ro("dq_dq", &StepJacobian::dq_dq)
      .def_ro("dq_dv", &StepJacobian::dq_dv)
      .def_ro("dq_dtau", &StepJacobian::dq_dtau)
      .def_ro("dv_dq", &StepJacobian::dv_dq)
      .def_ro("dv_dv", &StepJacobian::dv_dv)
      .def_ro("dv_dtau", &StepJacobian::dv_dtau)
      .def_ro("dimpulse_dq", &StepJacobian::dimpulse_dq, "Of the impulses, if asked for; rows as those of problem().")
      .def_ro("dimpulse_dv", &StepJacobian::dimpulse_dv)
      .def_ro("dimpulse_dtau", &StepJacobian::dimpulse_dtau)
      .def_ro(
          "dq_dforce", &StepJacobian::dq_dforce,
          "Of external forces, if asked for: (nv, 6 njoints), (force, moment) of each joint in its frame, the world "
          "first.")
      .def_ro("dv_dforce", &StepJacobian::dv_dforce)
      .def_ro("certificate", &StepJacobian::certificate);

  nb::class_<StepTangent>(m, "StepTangent", "(dq⁺, dv⁺), as a pair or by name, with its certificate.")
      .def_ro("q", &StepTangent::q)
      .def_ro("v", &StepTangent::v)
      .def_ro("certificate", &StepTangent::certificate)
      .def("__iter__", [](const StepTangent& t) { return nb::iter(nb::make_tuple(t.q, t.v)); })
      .def("__len__", [](const StepTangent&) { return 2; })
      .def("__getitem__", [](const StepTangent& t, nb::handle index) -> nb::object {
        const nb::object pair = nb::make_tuple(t.q, t.v);
        return pair[index];
      });

  nb::class_<Adjoint>(m, "StepAdjoint", "Adjoints of a step, in tangents: (nv,) each.")
      .def_ro("q", &Adjoint::q)
      .def_ro("v", &Adjoint::v)
      .def_ro("tau", &Adjoint::tau)
      .def_prop_ro(
          "fext", [](const Adjoint& a) { return Eigen::MatrixXd(a.force.transpose()); },
          "Of external forces: (njoints, 6), as `step` takes them.")
      .def_ro("control", &Adjoint::control, "Of the actuators' controls, if the step had some.")
      .def_ro("theta", &Adjoint::theta, "Of parameters, by the names that were asked for.")
      .def_prop_ro("certificate", [](const Adjoint& a) { return a.certificate; });

  m.def("derivative_seconds", &derivative_seconds, "simulator"_a, "q"_a, "v"_a, "steps"_a);

  const taut::StepDerivativeOptions defaults;
  simulator.def("jacobian", &jacobian, nb::kw_only(), "collision"_a = taut::name_of(defaults.collision.method),
                "temperature"_a = nb::none(), "move_contacts"_a = defaults.move_contacts,
                "impulses"_a = defaults.impulses, "forces"_a = defaults.forces,
                "Exact derivatives of the last step. collision: how contact points, normals and gaps move, as "
                "`taut.collision.derivatives` has it; move_contacts=False leaves that out, to compare; impulses=True "
                "adds those of the impulses, forces=True those with respect to external forces.");
  simulator.def("jvp", &jvp, "dq"_a, "dv"_a, "dtau"_a = nb::none(), nb::kw_only(),
                "collision"_a = taut::name_of(defaults.collision.method), "temperature"_a = nb::none(),
                "move_contacts"_a = defaults.move_contacts,
                "(dq⁺, dv⁺) of the last step along (dq, dv, dtau), in tangents, without forming the Jacobian.");
  simulator.def("vjp", &vjp, "q_bar"_a, "v_bar"_a, nb::kw_only(), "theta"_a = std::vector<std::string>(),
                "collision"_a = taut::name_of(defaults.collision.method), "temperature"_a = nb::none(),
                "move_contacts"_a = defaults.move_contacts,
                "Adjoints .q, .v, .tau, .fext and .control of the last step for those of q⁺ (in its tangent) and v⁺, "
                "without forming the Jacobian; .theta[name] of the parameters that are asked for, as "
                "`scene.parameters` lists them.");
}
