#pragma once

// Objects of Pinocchio's and Coal's Python packages, which are made with Boost.Python, in and out of our nanobind
// module. Everything that knows of the two stands here. Pinocchio comes first: its headers configure Boost.
#include <pinocchio/multibody.hpp>
// (order matters)
#include <nanobind/nanobind.h>
#include <boost/python.hpp>

#include <stdexcept>
#include <string>

namespace taut::python {

/// The C++ object behind a Boost.Python instance, without a copy. Throws std::invalid_argument if it is not a T.
template <typename T>
T& unwrap(nanobind::handle object, const char* expected) {
  namespace bp = boost::python;
  void* pointer = bp::converter::get_lvalue_from_python(object.ptr(), bp::converter::registered<T>::converters);
  if (!pointer) throw std::invalid_argument(std::string("expected a ") + expected);
  return *static_cast<T*>(pointer);
}

/// A Boost.Python instance that refers to `value`, which lives inside `owner`: the owner stays alive as long as it.
template <typename T>
nanobind::object wrap_reference(T& value, nanobind::handle owner) {
  namespace bp = boost::python;
  const bp::object instance(bp::ptr(&value));
  if (!bp::objects::make_nurse_and_patient(instance.ptr(), owner.ptr())) nanobind::raise_python_error();
  return nanobind::borrow(instance.ptr());
}

}  // namespace taut::python
