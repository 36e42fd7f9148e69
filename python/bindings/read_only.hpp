#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <Eigen/Core>

namespace taut::python {

using ReadOnlyVector = nanobind::ndarray<nanobind::numpy, const double, nanobind::ndim<1>>;

/// A copy that numpy does not write to: what is written to a copy would be lost without a word, and a view would write
/// past the checks of the property, into memory that moves when a body is added.
inline ReadOnlyVector read_only(const Eigen::Ref<const Eigen::VectorXd>& values) {
  auto* kept = new Eigen::VectorXd(values);
  const nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Eigen::VectorXd*>(p); });
  return {kept->data(), {static_cast<std::size_t>(kept->size())}, owner};
}

/// What a property that returns one says: it is not part of the object, and has an owner already.
inline const auto kOwned = nanobind::for_getter(nanobind::rv_policy::reference);

}  // namespace taut::python
