#pragma once
/// \file seconds.hpp
/// Seconds as numbers, as job files and reports have them.
#include <chrono>

namespace troupe {

/// Rounded towards zero.
template <class Duration>
constexpr Duration seconds_as(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace troupe
