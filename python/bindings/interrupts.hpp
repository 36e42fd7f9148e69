#pragma once

#include <nanobind/nanobind.h>

#include "taut/math/interruption.hpp"

namespace taut::python {

/// What the handler of a signal has raised, on its way to Python.
struct Signalled {
  nanobind::python_error error;
};

/// While it lives, long computations of this thread let Python look after its signals, and end with what a handler
/// raises: KeyboardInterrupt as a rule. Python runs handlers in its main thread alone, so other threads are left alone.
class Signals final : public Interruptible {
 public:
  /// Holding the GIL or not.
  void ask() override;

 private:
  bool elsewhere_ = false;  ///< this is not the main thread
};

}  // namespace taut::python
