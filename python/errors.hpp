#pragma once
/// \file errors.hpp
/// Errors of Troupe as exceptions of Python: `troupe.Error`, with the name of the code.
#include "runtime/base/result.hpp"

#include <pybind11/pybind11.h>
#include <utility>

namespace troupe::python {

/// \requires the interpreter's lock
[[noreturn]] void raise(const Error& error);

inline void check(const Status& status) {
  if (!status) {
    raise(status.error());
  }
}
template <class T>
T value_of(Result<T> result) {
  if (!result) {
    raise(result.error());
  }
  return std::move(*result);
}

/// Calls what may wait, without the interpreter's lock.
template <class F>
auto unlocked(F&& f) {
  const pybind11::gil_scoped_release release;
  return std::forward<F>(f)();
}

/// The code of that name; `internal` for other names.
Errc code_of(std::string_view name);

}  // namespace troupe::python
