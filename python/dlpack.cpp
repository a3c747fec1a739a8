#include "python/dlpack.hpp"

#include "python/array.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

namespace py = pybind11;

// ---- the structures of DLPack ----

enum class DlpackDevice : std::int32_t { cpu = 1, cuda = 2 };
enum class ElementKind : std::uint8_t {
  integer = 0,
  natural = 1,
  real = 2,
  bfloat = 4,
  boolean = 6
};

struct Element {
  ElementKind kind = ElementKind::integer;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

struct Tensor {
  void* data = nullptr;
  DlpackDevice device = DlpackDevice::cpu;
  std::int32_t device_number = 0;
  std::int32_t dimensions = 0;
  Element element;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< In elements
  std::uint64_t offset = 0;
};

struct ManagedTensor {
  Tensor tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
};

/// What lives as long as the tensor.
struct Kept {
  ManagedTensor managed;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};
struct KeptBuffer : Kept {
  py::buffer_info info;
};
struct KeptThere : Kept {
  std::shared_ptr<const void> owner;
};

constexpr const char* capsule_name = "dltensor";

/// Takers call it on any thread, without the lock of the interpreter.
void end_buffer(ManagedTensor* managed) {
  if (Py_IsInitialized() == 0) {
    return;  // the array has gone with the interpreter
  }
  const py::gil_scoped_acquire lock;
  const std::unique_ptr<KeptBuffer> kept(static_cast<KeptBuffer*>(managed->context));
}

/// The same; it may wait for the device if that has failed.
void end_there(ManagedTensor* managed) {
  const std::unique_ptr<KeptThere> kept(static_cast<KeptThere*>(managed->context));
}

/// Of a capsule that nobody took; a taker gives it another name.
void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name) != 0) {
    auto* const managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, capsule_name));
    managed->deleter(managed);
  }
}

/// \param format  of Python's module `struct`
Element element_of(const std::string& format, py::ssize_t item_bytes) {
  const auto bits = static_cast<std::uint8_t>(8 * item_bytes);
  const auto letter = format.size() == 1 ? format[0] : ' ';
  if (std::string("bhilq").find(letter) != std::string::npos) {
    return {ElementKind::integer, bits};
  }
  if (std::string("BHILQ").find(letter) != std::string::npos) {
    return {ElementKind::natural, bits};
  }
  if (std::string("efd").find(letter) != std::string::npos) {
    return {ElementKind::real, bits};
  }
  if (letter == '?') {
    return {ElementKind::boolean, bits};
  }
  throw py::type_error(fmt::format("expected an array of numbers, found elements \"{}\"", format));
}

/// \param strides  in bytes
template <class OfArray, class Shape>
py::capsule capsule_of(std::unique_ptr<OfArray> kept, Tensor tensor, py::ssize_t item_bytes,
                       const Shape& shape, const Shape& strides, void (*end)(ManagedTensor*)) {
  kept->shape.assign(shape.begin(), shape.end());
  for (const auto stride : strides) {
    kept->strides.push_back(stride / item_bytes);
  }
  tensor.dimensions = static_cast<std::int32_t>(kept->shape.size());
  tensor.shape = kept->shape.data();
  tensor.strides = kept->strides.data();
  kept->managed = {tensor, kept.get(), end};
  py::capsule capsule(&kept->managed, capsule_name, end_capsule);
  static_cast<void>(kept.release());
  return capsule;
}

}  // namespace

py::capsule dlpack_of(const py::buffer& array) {
  auto kept = std::make_unique<KeptBuffer>();
  kept->info = array.request();
  const auto& info = kept->info;
  const Tensor tensor{.data = info.ptr, .element = element_of(info.format, info.itemsize)};
  return capsule_of(std::move(kept), tensor, info.itemsize, info.shape, info.strides, end_buffer);
}

py::capsule dlpack_there(const Array& array, std::uintptr_t stream, const std::string& kind) {
  auto kept = std::make_unique<KeptThere>();
  auto* const on = reinterpret_cast<void*>(stream);  // NOLINT(performance-no-int-to-ptr)
  kept->owner = array.cuda->arrays->owner(on);
  Tensor tensor{.data = const_cast<void*>(array.data),
                .device = DlpackDevice::cuda,
                .device_number = static_cast<std::int32_t>(array.cuda->device.number),
                .element = element_of(array.format, array.item_bytes)};
  if (!kind.empty()) {
    tensor.element.kind = kind == "bfloat" ? ElementKind::bfloat : ElementKind::integer;
  }
  return capsule_of(std::move(kept), tensor, array.item_bytes, array.shape,
                    strides_of(array.shape, array.item_bytes), end_there);
}

}  // namespace troupe::python
