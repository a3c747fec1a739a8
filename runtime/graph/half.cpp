#include "runtime/graph/half.hpp"

namespace troupe {
namespace {

/// value / 2^shift to the nearest integer, ties to even. \requires 1 <= shift <= 31
std::uint32_t shift_to_nearest(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t kept = value >> shift;
  const std::uint32_t rest = value & ((1U << shift) - 1);
  const std::uint32_t half = 1U << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U);
}

}  // namespace

float f16_to_float(std::uint16_t bits) noexcept {
  const auto sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const auto magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

std::uint16_t float_to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000U) {
    half = 0x7E00U;  // NaN
  } else if (magnitude >= 0x47800000U) {
    half = 0x7C00U;                       // 2^16 and more
  } else if (magnitude >= 0x38800000U) {  // normal: a carry may go up into the exponent
    half = shift_to_nearest(magnitude - (112U << 23), 13);
  } else if (magnitude >= 0x33000000U) {  // subnormal: at least 2^-25
    const std::uint32_t exponent = magnitude >> 23;
    half = shift_to_nearest((magnitude & 0x7FFFFFU) | 0x800000U, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t float_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>(bits >> 16 | 0x40U);  // NaN stays one
  }
  return static_cast<std::uint16_t>(shift_to_nearest(bits, 16));
}

}  // namespace troupe
