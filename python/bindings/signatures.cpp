#include "bindings.hpp"

namespace {

// What `inspect.signature` asks a callable for. Nanobind's functions know their signatures as text: taut.signatures
// reads it, when somebody asks.
PyObject* signature_of(PyObject* function, void*) {
  try {
    return nb::module_::import_("taut.signatures").attr("of")(nb::handle(function)).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
}

PyGetSetDef signature{"__signature__", signature_of, nullptr, nullptr, nullptr};

// The types of functions take no attributes from Python, nor does nanobind ask for any.
void add_signature(nb::handle type) {
  auto* of = reinterpret_cast<PyTypeObject*>(type.ptr());
  const nb::object getter = nb::steal(PyDescr_NewGetSet(of, &signature));
  if (PyDict_SetItemString(of->tp_dict, signature.name, getter.ptr()) != 0) nb::raise_python_error();
  PyType_Modified(of);
}

}  // namespace

void bind_signatures(nb::module_& m) {
  const nb::object scene = m.attr("Scene");
  add_signature(m.attr("solve").type());
  add_signature(nb::object(scene.attr("validate")).type());
  add_signature(nb::object(scene().attr("validate")).type());
}
