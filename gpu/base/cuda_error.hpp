#pragma once
/// \file cuda_error.hpp
/// Errors of CUDA as the program's.
#include "runtime/base/result.hpp"

#include <cstddef>

namespace troupe::gpu {

/// Takes the calling thread's last error, so that a launch after it does not report it.
/// \param error      a cudaError_t
/// \param operation  what was tried, e.g. "copy"
/// \param size       of it: elements or bytes
/// \returns out_of_memory, else cuda_failure
Error cuda_error(int error, const char* operation, std::size_t size, int device);

}  // namespace troupe::gpu
