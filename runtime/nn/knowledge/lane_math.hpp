#pragma once
/// \file lane_math.hpp
/// exp and log1p of float32 without branches, which loops over rows turn into vector instructions, and
/// which devices compute, too; only for nn. Relative errors are below 3e-7; the bits are those of every
/// processor.
#include <bit>
#include <cstdint>

namespace troupe::nn {

/// e^x for x <= 0; 0 below -87.3, where float32 loses digits. NaN stays NaN.
[[gnu::always_inline]] constexpr float exp_below_zero(float x) {
  constexpr float rounding = 0x1.8p23F;  // adding it rounds to a whole number in the low bits
  const float bounded = x < -87.3F ? -87.3F : x;
  const float shifted = bounded * 0x1.715476p0F + rounding;  // times log2 e
  const float whole = shifted - rounding;
  const float rest = bounded - whole * 0.693359375F + whole * 2.12194440e-4F;  // ln 2 in two parts
  float sum = 1.9875691500e-4F;                                                // Cephes, expf
  sum = sum * rest + 1.3981999507e-3F;
  sum = sum * rest + 8.3334519073e-3F;
  sum = sum * rest + 4.1665795894e-2F;
  sum = sum * rest + 1.6666665459e-1F;
  sum = sum * rest + 5.0000001201e-1F;
  sum = sum * rest * rest + rest + 1.0F;
  const auto bits =
      std::bit_cast<std::uint32_t>(shifted) + (127U - std::bit_cast<std::uint32_t>(rounding));
  const float power = std::bit_cast<float>(bits << 23U);
  return x < -87.3F ? 0.0F : sum * power;
}

/// log(1 + e) for e from 0 to 1: 2 artanh(s) = 2 (s + s³/3 + s⁵/5 + …) with s = e / (2 + e) <= 1/3.
[[gnu::always_inline]] constexpr float log_of_one_and(float e) {
  const float s = e / (2.0F + e);
  const float square = s * s;
  float sum = 2.0F / 15;
  sum = sum * square + 2.0F / 13;
  sum = sum * square + 2.0F / 11;
  sum = sum * square + 2.0F / 9;
  sum = sum * square + 2.0F / 7;
  sum = sum * square + 2.0F / 5;
  sum = sum * square + 2.0F / 3;
  sum = sum * square + 2.0F;
  return sum * s;
}

}  // namespace troupe::nn
