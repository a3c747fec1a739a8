#pragma once
/// \file threads_or_all.hpp
/// The number of threads that a user asks for.
#include <algorithm>
#include <cstddef>
#include <thread>

namespace troupe {

/// \param asked  0: one per core
inline std::size_t threads_or_all(std::size_t asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace troupe
