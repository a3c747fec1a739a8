#include "python/dlpack.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

namespace py = pybind11;

// ---- the structures of DLPack ----

enum class DlpackDevice : std::int32_t { cpu = 1 };
enum class ElementKind : std::uint8_t { integer = 0, natural = 1, real = 2, boolean = 6 };

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
  py::buffer_info info;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

constexpr const char* capsule_name = "dltensor";

/// Takers call it on any thread, without the lock of the interpreter.
void end_tensor(ManagedTensor* managed) {
  if (Py_IsInitialized() == 0) {
    return;  // the array has gone with the interpreter
  }
  const py::gil_scoped_acquire lock;
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(managed->context));
}

/// Of a capsule that nobody took; a taker gives it another name.
void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name) != 0) {
    end_tensor(static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, capsule_name)));
  }
}

Element element_of(const py::buffer_info& info) {
  const auto bits = static_cast<std::uint8_t>(8 * info.itemsize);
  const auto letter = info.format.size() == 1 ? info.format[0] : ' ';
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
  throw py::type_error(
      fmt::format("expected an array of numbers, found elements \"{}\"", info.format));
}

}  // namespace

py::capsule dlpack_of(const py::buffer& array) {
  auto kept = std::make_unique<Kept>();
  kept->info = array.request();
  const auto& info = kept->info;
  kept->shape.assign(info.shape.begin(), info.shape.end());
  for (const auto stride : info.strides) {
    kept->strides.push_back(stride / info.itemsize);
  }
  kept->managed.tensor = {.data = info.ptr,
                          .dimensions = static_cast<std::int32_t>(info.ndim),
                          .element = element_of(info),
                          .shape = kept->shape.data(),
                          .strides = kept->strides.data()};
  kept->managed.context = kept.get();
  kept->managed.deleter = end_tensor;
  py::capsule capsule(&kept->managed, capsule_name, end_capsule);
  static_cast<void>(kept.release());
  return capsule;
}

}  // namespace troupe::python
