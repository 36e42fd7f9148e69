#include "bindings.hpp"

#include <nanobind/stl/string.h>

#include "interrupts.hpp"
#include "taut/io/errors.hpp"

NB_MODULE(_taut, m) {
  m.doc() = "Rigid contact without relaxation: the compiled part of taut.";
  nb::module_::import_("pinocchio");  // registers the types the bridge converts
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const taut::FileNotFound& missing) {
      PyErr_SetString(PyExc_FileNotFoundError, missing.what());
    } catch (const taut::PermissionDenied& denied) {
      PyErr_SetString(PyExc_PermissionError, denied.what());
    } catch (taut::python::Signalled& signalled) {
      signalled.error.restore();
    }
  });
  bind_problem(m);
  bind_scene(m);
  bind_simulator(m);
  bind_collision(m);
  bind_gjk(m);
  bind_kinematics(m);
  bind_signatures(m);
}
