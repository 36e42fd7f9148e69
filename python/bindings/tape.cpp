#include <pinocchio/multibody.hpp>
// Pinocchio comes first: its headers configure Boost.
#include "tape.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>

#include "bindings.hpp"
#include "shape_owners.hpp"

namespace taut::python {

namespace {

// Room for `count` more values at the end of a column.
template <typename T>
T* more(Column<T>& column, std::size_t count) {
  column.resize(column.size() + count);
  return column.data() + column.size() - count;
}

void append_values(Column<double>& column, const Eigen::Ref<const Eigen::VectorXd>& values) {
  column.insert(column.end(), values.data(), values.data() + values.size());
}

// What a step was given: nothing counts as zero, and until something was given the column stays empty.
void append_input(Column<double>& column, const Eigen::Ref<const Eigen::VectorXd>& values, std::size_t width,
                  std::size_t steps_before) {
  if (column.empty() && values.size() == 0) return;
  column.resize(steps_before * width, 0.0);
  if (values.size() > 0) append_values(column, values);
  column.resize((steps_before + 1) * width, 0.0);
}

// An array that owns the column, which is left empty with room for as much again.
template <typename T>
nb::object taken(Column<T>& column, std::initializer_list<std::size_t> shape) {
  auto* kept = new Column<T>(std::move(column));
  column = {};
  column.reserve(kept->size());
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Column<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape, owner));
}

template <typename T>
nb::object taken(Column<T>& column) {
  return taken(column, {column.size()});
}

nb::object taken_rows(Column<double>& column, std::size_t width) {
  return taken(column, {column.size() / width, width});
}

}  // namespace

Tape::Tape(int capacity, double seconds, nb::callable sink, bool latest)
    : capacity_(capacity),
      patience_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
      sink_(std::move(sink)),
      latest_(latest) {
  if (capacity < 1) throw std::invalid_argument("capacity is " + std::to_string(capacity) + ", it must be positive");
  if (!(seconds > 0.0 && seconds < 1e6)) {
    throw std::invalid_argument("seconds is " + std::to_string(seconds) + ", it must be positive");
  }
}

bool Tape::note(const Record& record, const VectorRef& tau, const VectorRef& control, Clock::time_point begun,
                Clock::time_point now) {
  spent_ += now - begun;
  if (latest_) {
    const Residuals& found = record.report.residuals;
    worst_.primal = std::max(worst_.primal, found.primal);
    worst_.dual = std::max(worst_.dual, found.dual);
    worst_.complementarity = std::max(worst_.complementarity, found.complementarity);
    worst_.natural = std::max(worst_.natural, found.natural);
    ++counted_;
    if (now - oldest_ < patience_) return false;
    append(record, tau, control);
    return true;
  }
  if (columns_.status.empty()) oldest_ = now;
  append(record, tau, control);
  return columns_.status.size() >= static_cast<std::size_t>(capacity_) || now - oldest_ > patience_;
}

void Tape::append(const Record& record, const VectorRef& tau, const VectorRef& control) {
  const std::size_t before = columns_.status.size();
  append_start(record);
  append_values(columns_.q, record.q_next);
  append_values(columns_.v, record.v_next);
  append_input(columns_.tau, tau, static_cast<std::size_t>(record.v_next.size()), before);
  if (control.size() > 0) controls_ = static_cast<std::size_t>(control.size());
  append_input(columns_.control, control, controls_, before);
  const SolveReport& report = record.report;
  const Residuals& residuals = latest_ ? worst_ : report.residuals;
  double* const found = more(columns_.residuals, 4);
  found[0] = residuals.primal;
  found[1] = residuals.dual;
  found[2] = residuals.complementarity;
  found[3] = residuals.natural;
  columns_.model_residuals.push_back(report.model_residual);
  columns_.status.push_back(static_cast<std::int8_t>(report.status));
  columns_.iterations.push_back(report.iterations);
  columns_.contacts.push_back(static_cast<std::int32_t>(record.contacts.size()));
  append_contacts(record);
  last_q_ = record.q_next;
  last_v_ = record.v_next;
  ++steps_;
}

void Tape::append_start(const Record& record) {
  if (latest_ || (steps_ > 0 && record.q == last_q_ && record.v == last_v_)) return;
  columns_.restarts.push_back(steps_);
  append_values(columns_.restart_q, record.q);
  append_values(columns_.restart_v, record.v);
}

void Tape::append_contacts(const Record& record) {
  if (record.contacts.empty()) return;
  Problem problem = record.problem();
  problem.blocks = problem.blocks.first(record.contacts.size());  // they come first
  identify_modes(problem, record.impulse.head(problem.rows()), record.velocity.head(problem.rows()), modes_);
  const auto impulses = record.contact_impulses();
  const std::size_t n = record.contacts.size();
  double *points = more(columns_.points, 3 * n), *normals = more(columns_.normals, 3 * n);
  std::copy_n(impulses.data(), 3 * n, more(columns_.impulses, 3 * n));
  double *gaps = more(columns_.gaps, n), *mu = more(columns_.mu, n);
  std::int32_t* pairs = more(columns_.pairs, n);
  std::int8_t *slots = more(columns_.slots, n), *modes = more(columns_.modes, n);
  for (std::size_t i = 0; i < n; ++i) {
    const Contact& contact = record.contacts[i];
    Eigen::Map<Eigen::Vector3d>(points + 3 * i) = contact.point;
    Eigen::Map<Eigen::Vector3d>(normals + 3 * i) = contact.frame.col(2);
    gaps[i] = contact.gap;
    mu[i] = contact.mu;
    pairs[i] = contact.pair;
    slots[i] = static_cast<std::int8_t>(contact.slot);
    const Mode mode = modes_.blocks[i].mode;  // as in taut.recording.MODES
    modes[i] = static_cast<std::int8_t>(mode == Mode::open ? 0 : mode == Mode::closed ? 1 : 2);
  }
}

void Tape::hand_over() {
  if (!columns_.status.empty()) waiting_.append(take());
  while (waiting_.size() > 0) {
    sink_(waiting_[0]);
    nb::del(waiting_[0]);
  }
}

nb::dict Tape::take() {
  const auto nq = static_cast<std::size_t>(last_q_.size()), nv = static_cast<std::size_t>(last_v_.size());
  const std::size_t steps = columns_.status.size(), restarts = columns_.restarts.size();
  const std::size_t nu = columns_.control.size() / steps;
  nb::dict given;
  given["first"] = steps_ - static_cast<std::int64_t>(steps);
  given["q"] = taken(columns_.q, {steps, nq});
  given["v"] = taken(columns_.v, {steps, nv});
  given["tau"] = taken(columns_.tau, {columns_.tau.empty() ? 0 : steps, nv});
  given["control"] = taken(columns_.control, {columns_.control.empty() ? 0 : steps, nu});
  given["status"] = taken(columns_.status);
  given["iterations"] = taken(columns_.iterations);
  given["residuals"] = taken_rows(columns_.residuals, 4);
  given["model_residuals"] = taken(columns_.model_residuals);
  given["contacts"] = taken(columns_.contacts);
  given["points"] = taken_rows(columns_.points, 3);
  given["normals"] = taken_rows(columns_.normals, 3);
  given["impulses"] = taken_rows(columns_.impulses, 3);
  given["gaps"] = taken(columns_.gaps);
  given["mu"] = taken(columns_.mu);
  given["pairs"] = taken(columns_.pairs);
  given["slots"] = taken(columns_.slots);
  given["modes"] = taken(columns_.modes);
  given["restarts"] = taken(columns_.restarts);
  given["restart_q"] = taken(columns_.restart_q, {restarts, nq});
  given["restart_v"] = taken(columns_.restart_v, {restarts, nv});
  given["seconds"] = std::chrono::duration<double>(std::exchange(spent_, {})).count();
  if (latest_) {
    given["counted"] = counted_;
    counted_ = 0;
    worst_ = {};
    oldest_ = Clock::now();
  }
  return given;
}

void Tape::lock() {
  stepping_.lock();
  stepper_ = std::this_thread::get_id();
}

void Tape::unlock() {
  stepper_ = std::thread::id{};
  stepping_.unlock();
}

void Tape::flush() {
  if (stepper_ == std::this_thread::get_id()) {
    throw std::runtime_error(
        "a recording cannot be flushed or closed within its own step: raise an exception from the handler of the "
        "signal, and let `with` close the file");
  }
  std::unique_lock<std::mutex> free(stepping_, std::defer_lock);
  {
    nb::gil_scoped_release release;  // who steps may need it to hand over
    free.lock();
  }
  hand_over();
}

void Tape::flush_if_due() {
  const std::unique_lock<std::mutex> free(stepping_, std::try_to_lock);
  if (free && (waiting_.size() > 0 || (!columns_.status.empty() && Clock::now() - oldest_ > patience_))) hand_over();
}

void Tape::catch_up(const Simulator& simulator) {
  const std::unique_lock<std::mutex> free(stepping_, std::try_to_lock);
  if (!free || counted_ == 0) return;
  try {
    const Usage::Look look(simulator.usage());  // it may step without this tape by now
    append(simulator.record(), Eigen::VectorXd(), Eigen::VectorXd());
  } catch (const std::runtime_error&) {
    return;
  }
  hand_over();
}

Tapes::Tapes(nb::handle simulator) : kept_(nb::borrow<nb::tuple>(simulator.attr("_tapes"))) {
  for (const nb::handle tape : kept_) tapes_.push_back(nb::cast<Tape*>(tape));
  due_.reserve(tapes_.size());
}

Tapes::~Tapes() {
  if (!locked_) return;
  for (Tape* tape : tapes_) tape->unlock();
}

void Tapes::lock() {
  if (tapes_.empty()) return;
  for (Tape* tape : tapes_) tape->lock();
  locked_ = true;
  begun_ = Tape::Clock::now();
}

bool Tapes::note(const Record& record, const Tape::VectorRef& tau, const Tape::VectorRef& control) {
  if (tapes_.empty()) return false;
  const auto now = Tape::Clock::now();
  for (Tape* tape : tapes_) {
    if (tape->note(record, tau, control, begun_, now)) due_.push_back(tape);
  }
  begun_ = now;  // what tapes take counts for the next step: a second look at the clock would take as long
  return !due_.empty();
}

void Tapes::hand_over() {
  // Emptied first: a sink that throws is not asked again.
  const std::vector<Tape*> due = std::exchange(due_, {});
  for (Tape* tape : due) tape->hand_over();
  begun_ = Tape::Clock::now();
}

namespace {

// A tape refers to its sink, which may refer to what has the tape: Python's collector must see it.
int traverse(PyObject* self, visitproc visit, void* arg) {
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  if (nb::inst_ready(self)) {
    Py_VISIT(nb::inst_ptr<Tape>(self)->sink().ptr());
    Py_VISIT(nb::inst_ptr<Tape>(self)->waiting().ptr());
  }
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<Tape>(self)->sink() = nb::borrow<nb::callable>(nb::handle(Py_None));
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

void detach(nb::handle self, nb::handle tape) {
  nb::list left;
  for (const nb::handle other : nb::borrow<nb::tuple>(self.attr("_tapes"))) {
    if (!other.is(tape)) left.append(other);
  }
  self.attr("_tapes") = nb::tuple(left);
}

}  // namespace

}  // namespace taut::python

void bind_tape(nb::module_& m, nb::class_<taut::Simulator>& simulator) {
  using taut::python::Tape;
  nb::class_<Tape>(m, "_Tape", nb::type_slots(taut::python::slots),
                   "Steps in columns, handed to a callable in pieces: what a recording is written from.")
      .def(nb::init<int, double, nb::callable, bool>(), "capacity"_a, "seconds"_a, "sink"_a, "latest"_a = false,
           "`sink` gets a dict of arrays after `capacity` steps, or when the oldest has waited for `seconds`. latest: "
           "every `seconds` with the last step only, and of those it stands for the number, seconds and worst "
           "residuals.")
      .def("hand_over", &Tape::flush, "Gives the sink what is there, now.")
      .def("hand_over_if_due", &Tape::flush_if_due,
           "The same if the oldest step has waited for `seconds` and nothing steps now.")
      .def("catch_up", &Tape::catch_up, "simulator"_a, "Of a tape of the latest: the last step, if nothing steps now.");
  simulator.def(
      "_attach",
      [](nb::handle self, nb::handle tape) { self.attr("_tapes") = self.attr("_tapes") + nb::make_tuple(tape); },
      "tape"_a, "Every step goes to this _Tape, too.");
  simulator.def("_detach", &taut::python::detach, "tape"_a);
  simulator.def(
      "record",
      [](nb::handle self, nb::object path) {
        taut::python::prepare(nb::cast<const taut::Simulator&>(self));  // what it cannot step may not be written either
        return nb::module_::import_("taut.recording").attr("Recorder")(self, path);
      },
      "path"_a,
      "Record every step from now on to `path`, .npz for numpy or .mcap for streaming tools. Returns a "
      "`taut.recording.Recorder`: use it in a `with`, or call its close().");
  simulator.def(
      "view",
      [](nb::handle self, nb::object host, int port, bool browser, nb::object token) {
        return nb::module_::import_("taut.view.watch").attr("Watch")(self, host, port, browser, token);
      },
      "host"_a = "127.0.0.1", "port"_a = 8080, nb::kw_only(), "browser"_a = false, "token"_a = nb::none(),
      "A page in the browser that shows every step from now on, from a process of its own; it is at the .url of what "
      "is returned, a `taut.view.Watch`: use it in a `with`, or call its close(); its wait() lets one look on after "
      "the last step. browser: open the page. token: what who looks must know, as for `taut.view.Page`; it is part of "
      "the .url. Needs viser: pip install 'taut[view]'.");
  simulator.def("_repr_html_",
                [](nb::handle self) { return nb::module_::import_("taut.notebook").attr("of_simulator")(self); });
  simulator.attr("_tapes") = nb::tuple();  // of the class: one without a tape finds this
}
