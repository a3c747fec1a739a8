#pragma once
/// \file float_lanes.hpp
/// 16 float32 numbers side by side: for loops that the compiler leaves scalar, since it may not compute both
/// sides of a condition. Only for nn. Every lane has the bits of the scalar functions of lane_math.hpp, whatever
/// vectors the processor has.
#include <bit>
#include <cstddef>
#include <cstdint>

namespace troupe::nn {

/// At any address.
typedef float Floats  // NOLINT: `using` takes no size
    __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::int32_t FloatBits __attribute__((vector_size(64), may_alias));    // NOLINT
typedef std::uint32_t FloatWords __attribute__((vector_size(64), may_alias));  // NOLINT
inline constexpr std::size_t floats = 16;

// Results are written to a reference: a vector as a result changes the ABI where processors differ.

/// x = where `mask` is set `a`, else `b`.
[[gnu::always_inline]] inline void choose(const FloatBits& mask, const Floats& a, const Floats& b,
                                          Floats& x) {
  x = reinterpret_cast<Floats>((reinterpret_cast<FloatBits>(a) & mask) |
                               (reinterpret_cast<FloatBits>(b) & ~mask));
}

/// x = exp_below_zero(x).
[[gnu::always_inline]] inline void exp_below_zero_lanes(Floats& x) {
  constexpr float rounding = 0x1.8p23F;
  constexpr float least = -87.3F;
  const FloatBits low = x < least;
  const Floats zero = {};
  Floats bounded;
  choose(low, zero + least, x, bounded);
  const Floats shifted = bounded * 0x1.715476p0F + rounding;
  const Floats whole = shifted - rounding;
  const Floats rest = bounded - whole * 0.693359375F + whole * 2.12194440e-4F;
  Floats sum = 1.9875691500e-4F * rest + 1.3981999507e-3F;
  sum = sum * rest + 8.3334519073e-3F;
  sum = sum * rest + 4.1665795894e-2F;
  sum = sum * rest + 1.6666665459e-1F;
  sum = sum * rest + 5.0000001201e-1F;
  sum = sum * rest * rest + rest + 1.0F;
  const FloatWords bits =
      reinterpret_cast<FloatWords>(shifted) + (127U - std::bit_cast<std::uint32_t>(rounding));
  choose(low, zero, sum * reinterpret_cast<Floats>(bits << 23U), x);
}

/// e = log_of_one_and(e).
[[gnu::always_inline]] inline void log_of_one_and_lanes(Floats& e) {
  const Floats s = e / (2.0F + e);
  const Floats square = s * s;
  Floats sum = 2.0F / 15 * square + 2.0F / 13;
  sum = sum * square + 2.0F / 11;
  sum = sum * square + 2.0F / 9;
  sum = sum * square + 2.0F / 7;
  sum = sum * square + 2.0F / 5;
  sum = sum * square + 2.0F / 3;
  sum = sum * square + 2.0F;
  e = sum * s;
}

}  // namespace troupe::nn
