#pragma once
/// \file dlpack.hpp
/// Arrays for other libraries, by DLPack (data/dlpack.h of dmlc/dlpack, version 0.8, which all of them read).
#include <cstdint>
#include <pybind11/pybind11.h>
#include <string>

namespace troupe::python {

/// The memory of an array, not copied; the array lives as long as who takes the capsule wants it. DLPack
/// does not know arrays that must not be written, so that is left to the taker.
/// \throws py::type_error: elements that DLPack does not know
pybind11::capsule dlpack_of(const pybind11::buffer& array);

struct Array;

/// The same of an array in the memory of a CUDA device. The memory stays until the capsule's taker has ended the
/// array and the work that the stream has then is done.
/// \param stream  a cudaStream_t; 0: CUDA's default stream
/// \param kind    "" as the array's format says, "bfloat" for its words, "integer" for words without a type
/// \requires array.cuda
pybind11::capsule dlpack_there(const Array& array, std::uintptr_t stream, const std::string& kind);

}  // namespace troupe::python
