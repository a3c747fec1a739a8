#pragma once
/// \file prefetch.hpp
/// Starts to load a line of memory. As __builtin_prefetch(), of which g++ thinks that it does nothing: it leaves
/// out calls of functions that do nothing else. Calls of functions with these stay.

namespace troupe {

inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

/// The line will be written.
inline void prefetch_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace troupe
