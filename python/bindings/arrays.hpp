#pragma once

#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

namespace taut::python {

/// Anything numpy turns into floats: an array of any type and layout, a list, a number. Its shape is checked where it
/// is used, so that the error can name the argument.
struct ArrayLike {
  nanobind::object array;  ///< a C-contiguous float64 numpy array

  /// As a vector; throws std::invalid_argument naming `what` unless it has one dimension.
  Eigen::VectorXd vector(const char* what) const { return Eigen::Map<const Eigen::VectorXd>(data(what, 1), size(0)); }

  /// As a vector of `n` entries.
  Eigen::VectorXd vector(const char* what, Eigen::Index n) const {
    Eigen::VectorXd x = vector(what);
    if (x.size() != n) {
      throw std::invalid_argument(std::string(what) + " has " + std::to_string(x.size()) + " entries, expected " +
                                  std::to_string(n));
    }
    return x;
  }

  Eigen::MatrixXd matrix(const char* what) const {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const double* values = data(what, 2);
    return Eigen::Map<const RowMajor>(values, size(0), size(1));
  }

  std::size_t dimensions() const { return nanobind::cast<std::size_t>(array.attr("ndim")); }

 private:
  using View = nanobind::ndarray<const double, nanobind::c_contig, nanobind::device::cpu>;

  Eigen::Index size(std::size_t axis) const {
    return static_cast<Eigen::Index>(nanobind::cast<View>(array).shape(axis));
  }

  const double* data(const char* what, std::size_t expected) const {
    if (dimensions() != expected) {
      throw std::invalid_argument(std::string(what) + " has " + std::to_string(dimensions()) +
                                  " dimensions, expected " + std::to_string(expected));
    }
    return nanobind::cast<View>(array).data();
  }
};

}  // namespace taut::python

namespace nanobind::detail {

template <>
struct type_caster<taut::python::ArrayLike> {
  NB_TYPE_CASTER(taut::python::ArrayLike, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (source.is_none()) return false;
    try {
      value.array = module_::import_("numpy").attr("ascontiguousarray")(source, "float64");
      // ascontiguousarray makes a number a vector of one entry; keep what it was
      if (cast<int>(module_::import_("numpy").attr("ndim")(source)) == 0)
        value.array = value.array.attr("reshape")(make_tuple());
      return true;
    } catch (...) {
      return false;
    }
  }

  static handle from_cpp(const taut::python::ArrayLike& source, rv_policy, cleanup_list*) noexcept {
    return source.array.inc_ref();
  }
};

}  // namespace nanobind::detail
