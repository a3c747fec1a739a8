#pragma once
/// \file dlpack.hpp
/// Arrays for other libraries, by DLPack (data/dlpack.h of dmlc/dlpack, version 0.8, which all of them read).
#include <pybind11/pybind11.h>

namespace troupe::python {

/// The memory of an array, not copied; the array lives as long as who takes the capsule wants it. DLPack
/// does not know arrays that must not be written, so that is left to the taker.
/// \throws py::type_error: elements that DLPack does not know
pybind11::capsule dlpack_of(const pybind11::buffer& array);

}  // namespace troupe::python
