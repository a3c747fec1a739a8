#pragma once
/// \file zeros.hpp
/// Whether floats are all zeros, which much of a row of words or classes is.
#include <cstdint>
#include <cstring>
#include <span>

namespace troupe {

/// Compares bits: false where there is a -0.
inline bool are_all_zeros(std::span<const float> values) {
  std::uint32_t any = 0;
  for (const float& value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    any |= bits;
  }
  return any == 0;
}

}  // namespace troupe
