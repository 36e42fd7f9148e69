#pragma once

#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <limits>
#include <optional>

namespace taut::python {

/// A size that an array may choose.
inline constexpr Eigen::Index kAny = -1;

/// Anything numpy turns into real numbers: an array of any type and layout, a list, a number. The caster takes every
/// object; it is read where it is used, so that the error can name the argument: std::invalid_argument for a shape or a
/// value, nanobind::type_error for what is no number. Interrupts and errors of memory pass as they are.
struct ArrayLike {
  nanobind::object given;

  std::size_t dimensions(const char* what) const;
  bool empty(const char* what) const;  ///< a vector of nothing
  Eigen::VectorXd vector(const char* what, Eigen::Index size = kAny) const;
  Eigen::MatrixXd matrix(const char* what, Eigen::Index rows = kAny, Eigen::Index cols = kAny) const;
  /// A number for all of `size` entries, or a vector of them.
  Eigen::VectorXd broadcast(const char* what, Eigen::Index size) const;
};

/// A whole number of any size: its range is checked where it is used.
struct Integer {
  long long value = 0;  ///< the nearest that fits

  /// Throws std::invalid_argument naming `what` outside of [low, high].
  long long within(const char* what, long long low, long long high) const;
  /// As an int, for a range that is checked elsewhere.
  int as_int(const char* what) const {
    return static_cast<int>(within(what, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
};

inline std::optional<int> as_int(const std::optional<Integer>& number, const char* what) {
  return number ? std::optional(number->as_int(what)) : std::nullopt;
}

/// Throws std::invalid_argument if so many doubles are more than this machine has memory for: a system that promises
/// any amount would end the process when they are written.
void require_room(const char* what, double doubles);

}  // namespace taut::python

namespace nanobind::detail {

template <>
struct type_caster<taut::python::ArrayLike> {
  NB_TYPE_CASTER(taut::python::ArrayLike, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }

  static handle from_cpp(const taut::python::ArrayLike& source, rv_policy, cleanup_list*) noexcept {
    return source.given.inc_ref();
  }
};

template <>
struct type_caster<taut::python::Integer> {
  NB_TYPE_CASTER(taut::python::Integer, const_name("int"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyIndex_Check(source.ptr())) return false;
    const object number = steal(PyNumber_Index(source.ptr()));
    if (!number.is_valid()) {
      PyErr_Clear();
      return false;
    }
    int overflow = 0;
    value.value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) {
      using Limits = std::numeric_limits<long long>;
      value.value = overflow > 0 ? Limits::max() : Limits::min();
    }
    return true;
  }

  static handle from_cpp(const taut::python::Integer& source, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromLongLong(source.value);
  }
};

}  // namespace nanobind::detail
