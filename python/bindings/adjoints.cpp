#include <pinocchio/multibody.hpp>
// Pinocchio comes first: its headers configure Boost.
#include <nanobind/eigen/dense.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "derivative_options.hpp"
#include "interrupts.hpp"
#include "running.hpp"
#include "shape_owners.hpp"
#include "taut/derivatives/batch.hpp"
#include "trajectory.hpp"

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using taut::Simulator;
using taut::StepDerivatives;
using taut::python::ArrayLike;
using taut::python::Integer;
using taut::python::kAny;
using taut::python::options_of;
using taut::python::parameters_of;
using taut::python::Running;
using taut::python::Signals;
using taut::python::Trajectory;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using OptionalArray = std::optional<ArrayLike>;
using Theta = std::map<std::string, RowMatrix>;

// The adjoint of a rollout, by rows.
struct RunAdjoint {
  VectorXd q, v;
  RowMatrix taus, control;
  std::map<std::string, VectorXd> theta;
  std::vector<taut::CertificateSummary> certificates;
};

// One adjoint alone is that of the last state.
MatrixXd bars_of(const ArrayLike& like, const char* name, int nv, int steps) {
  if (like.dimensions(name) == 2) return like.matrix(name, steps + 1, nv).transpose();
  MatrixXd bars = MatrixXd::Zero(nv, steps + 1);
  bars.col(steps) = like.vector(name, nv);
  return bars;
}

RunAdjoint adjoint(const Simulator& simulator, const Trajectory& trajectory, const ArrayLike& q_bar,
                   const ArrayLike& v_bar, const std::vector<std::string>& theta, const std::string& collision,
                   std::optional<double> temperature, bool move_contacts) {
  taut::python::prepare(simulator);
  const int nv = simulator.scene().model.nv, steps = trajectory.run.steps();
  if (trajectory.run.v.rows() != nv) throw std::invalid_argument("adjoint: this trajectory is of another scene");
  const MatrixXd q_bars = bars_of(q_bar, "q_bar", nv, steps), v_bars = bars_of(v_bar, "v_bar", nv, steps);
  const auto parameters = parameters_of(simulator.scene(), theta);
  const auto options = options_of(collision, temperature, move_contacts);
  const Running<taut::Usage::Look> running(simulator);
  nb::gil_scoped_release release;
  Signals signals;
  Simulator twin = twin_of(simulator);
  const taut::RolloutAdjoint found = pull_back(twin, trajectory.run, q_bars, v_bars, parameters, options);
  RunAdjoint out{found.q, found.v, found.taus.transpose(), found.controls.transpose(), {}, found.certificates};
  for (std::size_t i = 0; i < parameters.size(); ++i) out.theta[parameters[i].name] = found.theta[i];
  return out;
}

// Matrices of many states, one after the other.
struct Stack {
  std::size_t count = 0, rows = 0, cols = 0;
  std::vector<double> values{};
  void resize(int n, int r, int c) {
    count = static_cast<std::size_t>(n), rows = static_cast<std::size_t>(r), cols = static_cast<std::size_t>(c);
    values.resize(count * rows * cols);
  }
  void set(int index, const MatrixXd& matrix) {
    Eigen::Map<RowMatrix>(values.data() + static_cast<std::size_t>(index) * rows * cols, matrix.rows(), matrix.cols()) =
        matrix;
  }
};

struct BatchJacobian {
  RowMatrix q, v;
  Stack dq_dq, dq_dv, dq_dtau, dv_dq, dv_dv, dv_dtau;
  std::vector<taut::Certificate> certificates;
};

struct Batch {
  MatrixXd q, v, tau;
  Batch(const Simulator& simulator, const ArrayLike& q_like, const ArrayLike& v_like, const OptionalArray& tau_like) {
    taut::python::prepare(simulator);
    const auto& model = simulator.scene().model;
    q = q_like.matrix("q", kAny, model.nq).transpose();
    v = v_like.matrix("v", q.cols(), model.nv).transpose();
    if (tau_like) tau = tau_like->matrix("tau", q.cols(), model.nv).transpose();
  }
  int count() const { return static_cast<int>(q.cols()); }
};

BatchJacobian jacobians(const Simulator& simulator, const ArrayLike& q, const ArrayLike& v, const OptionalArray& tau,
                        const Integer& threads, const std::string& collision, std::optional<double> temperature,
                        bool move_contacts) {
  const Batch batch(simulator, q, v, tau);
  const auto& model = simulator.scene().model;
  const auto options = options_of(collision, temperature, move_contacts);
  const int count_of_threads = threads.as_int("threads");
  taut::python::require_room("q: the Jacobians of all its rows", 6.0 * batch.count() * model.nv * model.nv);
  BatchJacobian out;
  out.q.resize(batch.count(), model.nq);
  out.v.resize(batch.count(), model.nv);
  for (Stack* stack : {&out.dq_dq, &out.dq_dv, &out.dq_dtau, &out.dv_dq, &out.dv_dv, &out.dv_dtau}) {
    stack->resize(batch.count(), model.nv, model.nv);
  }
  out.certificates.resize(static_cast<std::size_t>(batch.count()));
  const Running<taut::Usage::Look> running(simulator);
  nb::gil_scoped_release release;
  Signals signals;
  for_each_state(simulator, batch.q, batch.v, batch.tau, count_of_threads,
                 [&](int i, const Simulator& stepped, StepDerivatives& derivatives) {
                   const taut::StepJacobian& found = derivatives.jacobian(stepped, options);
                   out.q.row(i) = stepped.record().q_next;
                   out.v.row(i) = stepped.record().v_next;
                   out.dq_dq.set(i, found.dq_dq);
                   out.dq_dv.set(i, found.dq_dv);
                   out.dq_dtau.set(i, found.dq_dtau);
                   out.dv_dq.set(i, found.dv_dq);
                   out.dv_dv.set(i, found.dv_dv);
                   out.dv_dtau.set(i, found.dv_dtau);
                   out.certificates[static_cast<std::size_t>(i)] = found.certificate;
                 });
  return out;
}

struct BatchAdjoint {
  RowMatrix q, v, tau;
  Theta theta;
  std::vector<taut::Certificate> certificates;
};

BatchAdjoint vjps(const Simulator& simulator, const ArrayLike& q, const ArrayLike& v, const ArrayLike& q_bar,
                  const ArrayLike& v_bar, const OptionalArray& tau, const std::vector<std::string>& theta,
                  const Integer& threads, const std::string& collision, std::optional<double> temperature,
                  bool move_contacts) {
  const Batch batch(simulator, q, v, tau);
  const int nv = simulator.scene().model.nv, count = batch.count();
  const MatrixXd q_bars = q_bar.matrix("q_bar", count, nv).transpose(),
                 v_bars = v_bar.matrix("v_bar", count, nv).transpose();
  const int count_of_threads = threads.as_int("threads");
  const auto parameters = parameters_of(simulator.scene(), theta);
  const auto options = options_of(collision, temperature, move_contacts);
  BatchAdjoint out;
  for (RowMatrix* rows : {&out.q, &out.v, &out.tau}) rows->resize(count, nv);
  out.certificates.resize(static_cast<std::size_t>(count));
  std::vector<RowMatrix> of_parameters;
  for (const taut::Parameter& parameter : parameters) of_parameters.emplace_back(count, parameter.size);
  {
    const Running<taut::Usage::Look> running(simulator);
    nb::gil_scoped_release release;
    Signals signals;
    for_each_state(simulator, batch.q, batch.v, batch.tau, count_of_threads,
                   [&](int i, const Simulator& stepped, StepDerivatives& derivatives) {
                     const taut::StepAdjoint& found = derivatives.vjp(stepped, q_bars.col(i), v_bars.col(i), options);
                     out.q.row(i) = found.q;
                     out.v.row(i) = found.v;
                     out.tau.row(i) = found.tau;
                     out.certificates[static_cast<std::size_t>(i)] = found.certificate;
                     for (std::size_t k = 0; k < parameters.size(); ++k) {
                       of_parameters[k].row(i) = derivatives.vjp_parameter(stepped, parameters[k]);
                     }
                   });
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) out.theta[parameters[k].name] = of_parameters[k];
  return out;
}

}  // namespace

void bind_adjoints(nb::module_& m, nb::class_<taut::Simulator>& simulator) {
  nb::class_<RunAdjoint>(m, "RolloutAdjoint", "The gradient of a cost of a rollout.")
      .def_ro("q", &RunAdjoint::q, "(nv,): by the first configuration, in its tangent.")
      .def_ro("v", &RunAdjoint::v, "(nv,): by the first velocity.")
      .def_ro("taus", &RunAdjoint::taus, "(steps, nv)")
      .def_ro("control", &RunAdjoint::control, "(steps, actuators); no rows without control.")
      .def_ro("theta", &RunAdjoint::theta, "By parameter, summed over the steps.")
      .def_ro("certificates", &RunAdjoint::certificates, "Of each step, in a few numbers.")
      .def_prop_ro(
          "certificate", [](const RunAdjoint& a) { return taut::worst_of(a.certificates); },
          "The worst of all steps, number by number.");

  nb::class_<BatchJacobian> batch(m, "BatchJacobian", "Steps and Jacobians of many states, the first axis.");
  batch.def_ro("q", &BatchJacobian::q, "(n, nq): where the steps ended.").def_ro("v", &BatchJacobian::v, "(n, nv)");
  const auto stack = [&](const char* name, Stack BatchJacobian::* member) {
    batch.def_prop_ro(
        name,
        [member](nb::handle self) {
          Stack& values = nb::cast<BatchJacobian&>(self).*member;
          return nb::ndarray<nb::numpy, double>(values.values.data(), {values.count, values.rows, values.cols}, self);
        },
        "(n, nv, nv)");
  };
  stack("dq_dq", &BatchJacobian::dq_dq);
  stack("dq_dv", &BatchJacobian::dq_dv);
  stack("dq_dtau", &BatchJacobian::dq_dtau);
  stack("dv_dq", &BatchJacobian::dv_dq);
  stack("dv_dv", &BatchJacobian::dv_dv);
  stack("dv_dtau", &BatchJacobian::dv_dtau);
  batch.def_ro("certificates", &BatchJacobian::certificates).def("__len__", [](const BatchJacobian& b) {
    return b.certificates.size();
  });

  nb::class_<BatchAdjoint>(m, "BatchAdjoint", "Adjoints of many steps: (n, nv) each.")
      .def_ro("q", &BatchAdjoint::q)
      .def_ro("v", &BatchAdjoint::v)
      .def_ro("tau", &BatchAdjoint::tau)
      .def_ro("theta", &BatchAdjoint::theta, "By parameter: (n, its size).")
      .def_ro("certificates", &BatchAdjoint::certificates);

  const taut::StepDerivativeOptions defaults;
  const auto exact = taut::name_of(defaults.collision.method);
  simulator.def("adjoint", &adjoint, "trajectory"_a, "q_bar"_a, "v_bar"_a, nb::kw_only(),
                "theta"_a = std::vector<std::string>(), "collision"_a = exact, "temperature"_a = nb::none(),
                "move_contacts"_a = defaults.move_contacts,
                "The gradient of a cost of a rollout's states with respect to its start, torques, controls and "
                "parameters. q_bar, v_bar: of the cost by each state, (steps + 1, nv), or (nv,) by the last one alone. "
                "The run is repeated backwards between its checkpoints; the scene must be as it was.");
  simulator.def("jacobians", &jacobians, "q"_a, "v"_a, "tau"_a = nb::none(), nb::kw_only(), "threads"_a = 0,
                "collision"_a = exact, "temperature"_a = nb::none(), "move_contacts"_a = defaults.move_contacts,
                "One step from each of many states (n, nq), (n, nv), tau (n, nv), every one a cold start, and its "
                "Jacobian, on all cores or as many threads: the same bits however many.");
  simulator.def("vjps", &vjps, "q"_a, "v"_a, "q_bar"_a, "v_bar"_a, "tau"_a = nb::none(), nb::kw_only(),
                "theta"_a = std::vector<std::string>(), "threads"_a = 0, "collision"_a = exact,
                "temperature"_a = nb::none(), "move_contacts"_a = defaults.move_contacts,
                "Adjoints of one step from each of many states, as `jacobians`.");
}
