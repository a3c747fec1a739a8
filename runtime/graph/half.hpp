#pragma once
/// \file half.hpp
/// IEEE half precision and bfloat16 words from and to float32. Narrowing rounds to the nearest, ties
/// to even; what lies past the largest becomes infinite.
#include <bit>
#include <cstdint>

namespace troupe {

/// Exact.
float f16_to_float(std::uint16_t bits) noexcept;
/// Exact.
inline float bf16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
std::uint16_t float_to_f16(float value) noexcept;
std::uint16_t float_to_bf16(float value) noexcept;

}  // namespace troupe
