#include "arrays.hpp"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace taut::python {

namespace {

namespace nb = nanobind;
using Eigen::Index;
using View = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Shape = std::vector<Index>;

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

std::string name_of_type(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

// Numpy's complaint with the argument's name before it, the complaint itself as its cause. Interrupts and lack of
// memory are no complaints.
[[noreturn]] void complain(nb::python_error& error, const char* what) {
  if (!error.matches(PyExc_Exception) || error.matches(PyExc_MemoryError)) throw std::move(error);
  const bool type = error.matches(PyExc_TypeError);
  const auto said = nb::cast<std::string>(nb::str(error.value()));
  error.restore();
  nb::chain_error(type ? PyExc_TypeError : PyExc_ValueError, "%s is no array of numbers: %s", what, said.c_str());
  nb::raise_python_error();
}

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k > 0) text += ", ";
    text += shape[k] == kAny ? (k == 0 ? "n" : "m") : std::to_string(shape[k]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

// As numpy has it, before anything is copied or rounded.
nb::object array_of(nb::handle given, const char* what) {
  try {
    if (given.is_none()) throw nb::type_error((std::string(what) + " is None, expected numbers").c_str());
    const nb::object ndarray = numpy("ndarray");
    const bool exact = given.type().is(ndarray);
    // A mask says which numbers are none: without it they would be some.
    if (!exact && nb::hasattr(given, "mask") &&
        nb::cast<bool>(nb::module_::import_("numpy.ma").attr("is_masked")(given))) {
      throw std::invalid_argument(std::string(what) + " has masked entries");
    }
    nb::object array = exact ? nb::borrow(given) : numpy("asarray")(given);
    const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    if (kind.find_first_of("fiub") == std::string::npos) {
      const auto type = nb::cast<std::string>(nb::str(nb::handle(nb::object(array.attr("dtype")))));
      throw nb::type_error(
          (std::string(what) + " is a " + name_of_type(given) + " of dtype " + type + ", expected real numbers")
              .c_str());
    }
    return array;
  } catch (nb::python_error& error) {
    complain(error, what);
  }
}

Shape shape_of(nb::handle array) {
  Shape shape;
  for (const nb::handle size : array.attr("shape")) shape.push_back(nb::cast<Index>(size));
  return shape;
}

[[noreturn]] void refuse_shape(const char* what, const Shape& found, const Shape& wanted) {
  throw std::invalid_argument(std::string(what) + " has shape " + text_of(found) + ", expected " + text_of(wanted));
}

bool fits(const Shape& found, const Shape& wanted) {
  if (found.size() != wanted.size()) return false;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (wanted[k] != kAny && found[k] != wanted[k]) return false;
  }
  return true;
}

// In order and as doubles; whole numbers must be what they were.
View view_of(const nb::object& array, const Shape& shape, const char* what) {
  double count = 1.0;
  for (const Index size : shape) count *= static_cast<double>(size);
  require_room(what, count);
  try {
    const nb::object type = array.attr("dtype");
    const auto kind = nb::cast<std::string>(type.attr("kind"));
    // A reference to numpy's own memory, or to a copy of it, which the view keeps.
    nb::object doubles = numpy("ascontiguousarray")(array, "float64");
    const View view = nb::cast<View>(doubles.attr("reshape")(array.attr("shape")));
    if ((kind == "i" || kind == "u") && nb::cast<int>(type.attr("itemsize")) > 4) {
      constexpr double kExact = 9007199254740992.0;  // 2^53: from here on neighbours become the same double
      for (std::size_t i = 0; i < view.size(); ++i) {
        if (std::abs(view.data()[i]) >= kExact) {
          throw std::invalid_argument(std::string(what) + " has the integer " + std::to_string(view.data()[i]) +
                                      ", too large to be exact in double precision; give floats");
        }
      }
    }
    return view;
  } catch (nb::python_error& error) {
    complain(error, what);
  }
}

View view_of(const nb::object& given, const char* what, const Shape& wanted) {
  if (View view; given.type().is(numpy("ndarray")) && nb::try_cast(given, view, false)) {  // nothing to convert
    Shape shape;
    for (std::size_t k = 0; k < view.ndim(); ++k) shape.push_back(static_cast<Index>(view.shape(k)));
    if (!fits(shape, wanted)) refuse_shape(what, shape, wanted);
    return view;
  }
  const nb::object array = array_of(given, what);
  const Shape shape = shape_of(array);
  if (!fits(shape, wanted)) refuse_shape(what, shape, wanted);
  return view_of(array, shape, what);
}

}  // namespace

std::size_t ArrayLike::dimensions(const char* what) const { return shape_of(array_of(given, what)).size(); }

bool ArrayLike::empty(const char* what) const { return shape_of(array_of(given, what)) == Shape{0}; }

Eigen::VectorXd ArrayLike::vector(const char* what, Index size) const {
  const View view = view_of(given, what, {size});
  return Eigen::Map<const Eigen::VectorXd>(view.data(), static_cast<Index>(view.size()));
}

Eigen::MatrixXd ArrayLike::matrix(const char* what, Index rows, Index cols) const {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const View view = view_of(given, what, {rows, cols});
  return Eigen::Map<const RowMajor>(view.data(), static_cast<Index>(view.shape(0)), static_cast<Index>(view.shape(1)));
}

Eigen::VectorXd ArrayLike::broadcast(const char* what, Index size) const {
  const nb::object array = array_of(given, what);
  const Shape shape = shape_of(array);
  if (!shape.empty() && !fits(shape, {size})) {
    throw std::invalid_argument(std::string(what) + " has shape " + text_of(shape) + ", expected " + text_of({size}) +
                                " or a number");
  }
  const View view = view_of(array, shape, what);
  if (shape.empty()) return Eigen::VectorXd::Constant(size, *view.data());
  return Eigen::Map<const Eigen::VectorXd>(view.data(), size);
}

long long Integer::within(const char* what, long long low, long long high) const {
  if (value < low || value > high) {
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + ", expected " +
                                std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

void require_room(const char* what, double doubles) {
  static const double bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (8.0 * doubles > bytes) {
    throw std::invalid_argument(std::string(what) + " would take " + std::to_string(8e-9 * doubles) +
                                " GB, more than this machine has");
  }
}

}  // namespace taut::python
