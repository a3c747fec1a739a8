#include "python/errors.hpp"

#include <string>

namespace troupe::python {

namespace py = pybind11;

void raise(const Error& error) {
  const auto errors = py::module_::import("troupe._errors");
  const auto exception =
      errors.attr("error_of")(std::string(to_string(error.code())), error.what());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw py::error_already_set();
}

Errc code_of(std::string_view name) {
  constexpr auto last = static_cast<int>(Errc::unauthenticated);
  for (int number = 1; number <= last; ++number) {
    if (to_string(static_cast<Errc>(number)) == name) {
      return static_cast<Errc>(number);
    }
  }
  return Errc::internal;
}

}  // namespace troupe::python
