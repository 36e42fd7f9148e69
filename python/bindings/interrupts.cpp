#include "interrupts.hpp"

namespace taut::python {

namespace nb = nanobind;

void Signals::ask() {
  if (elsewhere_) return;
  const nb::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) throw Signalled{};
  const nb::module_ threading = nb::module_::import_("threading");
  elsewhere_ = !threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace taut::python
