#pragma once
/// \file peak_memory.hpp
/// What this process took.
#include <cstdint>
#include <sys/resource.h>

namespace troupe {

/// Bytes of the largest resident set so far, mapped files among it.
inline std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace troupe
