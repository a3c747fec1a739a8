#include "python/array.hpp"

#include "python/dlpack.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

namespace troupe::python {

Shape strides_of(const Shape& shape, py::ssize_t item_bytes) {
  Shape strides(shape.size());
  auto stride = item_bytes;
  for (auto i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

namespace {

py::buffer_info buffer_of(const Array& array) {
  if (array.cuda) {
    throw py::buffer_error("the array is in the memory of a CUDA device");
  }
  static const std::uint64_t nothing = 0;  // an address for arrays of nothing
  const void* const data = array.data == nullptr ? &nothing : array.data;
  return {const_cast<void*>(data),
          array.item_bytes,
          array.format,
          static_cast<py::ssize_t>(array.shape.size()),
          array.shape,
          strides_of(array.shape, array.item_bytes),
          true};
}

}  // namespace

std::span<float> floats_of(const py::buffer_info& info) {
  const Shape shape(info.shape.begin(), info.shape.end());
  const bool no_gaps = info.size <= 1 || info.strides == strides_of(shape, info.itemsize);
  if (info.format != "f" || !no_gaps) {
    throw py::type_error(fmt::format(
        "expected an array of float32, without gaps; found one of format \"{}\" {} gaps",
        info.format, no_gaps ? "without" : "with"));
  }
  return {static_cast<float*>(info.ptr), static_cast<std::size_t>(info.size)};
}

void bind_arrays(py::module_& module) {
  py::class_<Array>(module, "Array", py::buffer_protocol())
      .def_buffer(&buffer_of)
      .def_readonly("shape", &Array::shape)
      .def_readonly("format", &Array::format)
      .def_property_readonly("cuda", [](const Array& array) {
        return array.cuda ? py::cast(array.cuda->device.number) : py::object(py::none());
      });
  module.def("dlpack", &dlpack_of, py::arg("array"),
             "Capsule by which other libraries share the array's memory");
  module.def("dlpack_there", &dlpack_there, py::arg("array"), py::arg("stream"), py::arg("kind"),
             "The same of an array in the memory of a CUDA device");
}

}  // namespace troupe::python
