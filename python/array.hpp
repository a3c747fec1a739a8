#pragma once
/// \file array.hpp
/// Arrays of a batch as Python sees them: the buffer protocol over memory of Troupe's, which is not
/// copied and stays as long as any array does. Read only: batches are digested, and may be shared.
/// Arrays in the memory of a CUDA device have DLPack in its place (dlpack.hpp).
#include "launcher/session_device.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::python {

namespace py = pybind11;

using Shape = std::vector<py::ssize_t>;

/// A rank's device with the arrays of a batch in its memory.
struct OnDevice {
  std::shared_ptr<const DeviceArrays> arrays;
  RankDevice device;
};

struct Array {
  std::shared_ptr<const void> owner = {};
  const void* data = nullptr;
  py::ssize_t item_bytes = 1;
  std::string format = "B";  ///< As of Python's module `struct`
  Shape shape = {};
  /// A CUDA device, whose memory `data` is; none: it is the host's, as that of emulated devices.
  std::optional<OnDevice> cuda = std::nullopt;
};

/// Strides of rows that lie one after the other, in bytes.
Shape strides_of(const Shape& shape, py::ssize_t item_bytes);

/// Ids and places are signed here: PyTorch has little arithmetic on unsigned numbers. Ids are below 2^48,
/// places below 2^31.
template <class T>
constexpr const char* format_of() {
  if constexpr (std::is_enum_v<T>) {
    return format_of<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, float>) {
    return "f";
  } else if constexpr (sizeof(T) == 8) {
    return "q";
  } else {
    static_assert(sizeof(T) == 4);
    return "i";
  }
}

/// Values that `owner` keeps alive.
template <class T>
Array share(std::shared_ptr<const void> owner, std::span<const T> values, Shape shape) {
  Array array;
  array.owner = std::move(owner);
  array.data = values.data();
  array.item_bytes = sizeof(T);
  array.format = format_of<T>();
  array.shape = std::move(shape);
  return array;
}

/// One dimension.
template <class T, class Allocator>
Array share(std::shared_ptr<const void> owner, const std::vector<T, Allocator>& values) {
  return share(std::move(owner), std::span<const T>(values),
               {static_cast<py::ssize_t>(values.size())});
}

/// Takes a vector over.
template <class T, class Allocator>
Array take(std::vector<T, Allocator> values, Shape shape = {}) {
  if (shape.empty()) {
    shape = {static_cast<py::ssize_t>(values.size())};
  }
  const auto owner = std::make_shared<const std::vector<T, Allocator>>(std::move(values));
  return share(owner, std::span<const T>(*owner), std::move(shape));
}

/// Numbers of 8 bytes from an array of one dimension without gaps.
/// \throws py::type_error: another array
template <class Id>
std::vector<Id> ids_of(const py::buffer& values) {
  static_assert(sizeof(Id) == 8);
  const auto info = values.request();
  const bool whole =
      info.format == "l" || info.format == "q" || info.format == "L" || info.format == "Q";
  if (!whole || info.ndim != 1 || (info.size > 1 && info.strides[0] != 8)) {
    throw py::type_error("expected an array of one dimension of int64, without gaps");
  }
  const auto* first = static_cast<const Id*>(info.ptr);
  return {first, first + info.size};
}

/// Float32 numbers of an array without gaps, of any shape. Borrows them from `info`.
/// \throws py::type_error: another array
std::span<float> floats_of(const py::buffer_info& info);

void bind_arrays(py::module_& module);

}  // namespace troupe::python
