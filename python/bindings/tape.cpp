#include <pinocchio/multibody.hpp>
// Pinocchio comes first: its headers configure Boost.
#include "tape.hpp"

#include <nanobind/ndarray.h>

#include "bindings.hpp"
#include "taut/simulation/simulator.hpp"

namespace taut::python {

namespace {

template <typename T, typename... Values>
void push(std::vector<T>& column, Values... values) {
  (column.push_back(static_cast<T>(values)), ...);
}

void append(std::vector<double>& column, const Eigen::Ref<const Eigen::VectorXd>& values) {
  column.insert(column.end(), values.data(), values.data() + values.size());
}

// An array that owns the column, which is left empty with room for as much again.
template <typename T>
nb::object taken(std::vector<T>& column, std::size_t width = 1) {
  auto* kept = new std::vector<T>(std::move(column));
  column = {};
  column.reserve(kept->size());
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t rows = kept->size() / width;
  if (width == 1) return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {rows}, owner));
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), {rows, width}, owner));
}

}  // namespace

Tape::Tape(int capacity, double seconds, nb::callable sink)
    : capacity_(capacity),
      patience_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
      sink_(std::move(sink)) {
  if (capacity < 1) throw std::invalid_argument("capacity is " + std::to_string(capacity) + ", it must be positive");
  if (!(seconds > 0.0 && seconds < 1e6)) {
    throw std::invalid_argument("seconds is " + std::to_string(seconds) + ", it must be positive");
  }
}

bool Tape::note(const Record& record) {
  if (columns_.status.empty()) oldest_ = Clock::now();
  note_start(record);
  append(columns_.q, record.q_next);
  append(columns_.v, record.v_next);
  const SolveReport& report = record.report;
  push(columns_.residuals, report.residuals.primal, report.residuals.dual, report.residuals.complementarity,
       report.residuals.natural);
  push(columns_.model_residuals, report.model_residual);
  push(columns_.status, static_cast<int>(report.status));
  push(columns_.iterations, report.iterations);
  push(columns_.contacts, record.contacts.size());
  note_contacts(record);
  last_q_ = record.q_next;
  last_v_ = record.v_next;
  ++steps_;
  return columns_.status.size() >= static_cast<std::size_t>(capacity_) || Clock::now() - oldest_ > patience_;
}

void Tape::note_start(const Record& record) {
  if (steps_ > 0 && record.q == last_q_ && record.v == last_v_) return;
  push(columns_.restarts, steps_);
  append(columns_.restart_q, record.q);
  append(columns_.restart_v, record.v);
}

void Tape::note_contacts(const Record& record) {
  if (record.contacts.empty()) return;
  const Problem problem = record.problem();
  identify_modes(problem, record.impulse.head(problem.rows()), record.velocity.head(problem.rows()), modes_);
  const auto impulses = record.contact_impulses();
  for (std::size_t i = 0; i < record.contacts.size(); ++i) {
    const Contact& contact = record.contacts[i];
    append(columns_.points, contact.point);
    append(columns_.normals, contact.frame.col(2));
    append(columns_.impulses, impulses.col(static_cast<Eigen::Index>(i)));
    push(columns_.gaps, contact.gap);
    push(columns_.mu, contact.mu);
    push(columns_.pairs, contact.pair);
    push(columns_.slots, contact.slot);
    const Mode mode = modes_.blocks[i].mode;  // as in taut.recording.MODES
    push(columns_.modes, mode == Mode::open ? 0 : mode == Mode::closed ? 1 : 2);
  }
}

void Tape::hand_over() {
  if (columns_.status.empty()) return;
  const auto nq = static_cast<std::size_t>(last_q_.size()), nv = static_cast<std::size_t>(last_v_.size());
  nb::dict given;
  given["q"] = taken(columns_.q, nq);
  given["v"] = taken(columns_.v, nv);
  given["status"] = taken(columns_.status);
  given["iterations"] = taken(columns_.iterations);
  given["residuals"] = taken(columns_.residuals, 4);
  given["model_residuals"] = taken(columns_.model_residuals);
  given["contacts"] = taken(columns_.contacts);
  given["points"] = taken(columns_.points, 3);
  given["normals"] = taken(columns_.normals, 3);
  given["impulses"] = taken(columns_.impulses, 3);
  given["gaps"] = taken(columns_.gaps);
  given["mu"] = taken(columns_.mu);
  given["pairs"] = taken(columns_.pairs);
  given["slots"] = taken(columns_.slots);
  given["modes"] = taken(columns_.modes);
  given["restarts"] = taken(columns_.restarts);
  given["restart_q"] = taken(columns_.restart_q, nq);
  given["restart_v"] = taken(columns_.restart_v, nv);
  sink_(given);
}

Tape* tape_of(nb::handle simulator) {
  const nb::object tape = simulator.attr("_tape");
  return tape.is_none() ? nullptr : nb::cast<Tape*>(tape);
}

}  // namespace taut::python

void bind_tape(nb::module_& m, nb::class_<taut::Simulator>& simulator) {
  using taut::python::Tape;
  nb::class_<Tape>(m, "_Tape", "Steps in columns, handed to a callable in pieces: what a recording is written from.")
      .def(nb::init<int, double, nb::callable>(), "capacity"_a, "seconds"_a, "sink"_a,
           "`sink` gets a dict of arrays after `capacity` steps, or when the oldest has waited for `seconds`.")
      .def("hand_over", &Tape::hand_over, "Gives the sink what is there, now.");
  simulator.def(
      "record",
      [](nb::handle self, nb::object path) {
        return nb::module_::import_("taut.recording").attr("Recorder")(self, path);
      },
      "path"_a,
      "Record every step from now on to `path`, .npz for numpy or .mcap for streaming tools. Returns a "
      "`taut.recording.Recorder`: use it in a `with`, or call its close().");
  simulator.def(
      "view",
      [](nb::handle self, nb::object host, int port) {
        return nb::module_::import_("taut.view.watch").attr("Watch")(self, host, port);
      },
      "host"_a = "127.0.0.1", "port"_a = 8080,
      "A page in the browser that shows every step from now on, from a process of its own; it is at the .url of what "
      "is "
      "returned, a `taut.view.Watch`: use it in a `with`, or call its close(). Needs viser: pip install 'taut[view]'.");
  simulator.def("_repr_html_",
                [](nb::handle self) { return nb::module_::import_("taut.notebook").attr("of_simulator")(self); });
  simulator.attr("_tape") = nb::none();  // of the class: one without a tape finds this
}
