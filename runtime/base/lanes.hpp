#pragma once
/// \file lanes.hpp
/// Words of 32 bits side by side in a vector register, and Philox on them: the same words as philox.hpp
/// gives, one counter per lane. For loops that draw for many ids; the scalar code is the definition.
#include "runtime/base/philox.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace troupe {

/// Bytes of the widest vectors that the program is compiled for.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

/// A vector of so many bytes; its results do not depend on how many.
template <std::size_t Bytes>
struct Lanes {
  typedef std::uint32_t Words __attribute__((vector_size(Bytes)));  // NOLINT: `using` takes no size
  typedef std::uint64_t Pairs __attribute__((vector_size(Bytes)));  // NOLINT
  static constexpr std::size_t count = Bytes / sizeof(std::uint32_t);
};

namespace lanes_detail {

/// Products of the even words of each pair. Into `products`, because g++ warns of a returned vector that
/// is wider than the processor's.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void multiply_even(const typename Lanes<Bytes>::Pairs& a,
                                                 const typename Lanes<Bytes>::Pairs& b,
                                                 typename Lanes<Bytes>::Pairs& products) {
#ifdef __AVX512F__
  if constexpr (Bytes == 64) {  // with a mask, because g++ 12 warns of the other one (PR 105593)
    products = reinterpret_cast<typename Lanes<Bytes>::Pairs>(
        _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
    return;
  }
#endif
#ifdef __AVX2__
  if constexpr (Bytes == 32) {
    products = reinterpret_cast<typename Lanes<Bytes>::Pairs>(
        _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
    return;
  }
#endif
  constexpr std::uint64_t low = 0xFFFFFFFF;
  products = (a & low) * (b & low);
}

}  // namespace lanes_detail

/// Both halves of the products of `a` and `b`, lane by lane.
template <std::size_t Bytes>
struct Products {
  typename Lanes<Bytes>::Words high;
  typename Lanes<Bytes>::Words low;
};
template <std::size_t Bytes>
[[gnu::always_inline]] inline Products<Bytes> multiply(const typename Lanes<Bytes>::Words& a,
                                                       const typename Lanes<Bytes>::Words& b) {
  using Words = typename Lanes<Bytes>::Words;
  using Pairs = typename Lanes<Bytes>::Pairs;
  constexpr std::uint64_t low = 0xFFFFFFFF;
  const auto a_pairs = reinterpret_cast<Pairs>(a);
  const auto b_pairs = reinterpret_cast<Pairs>(b);
  Pairs even;
  Pairs odd;
  lanes_detail::multiply_even<Bytes>(a_pairs, b_pairs, even);
  lanes_detail::multiply_even<Bytes>(a_pairs >> 32, b_pairs >> 32, odd);
  return {reinterpret_cast<Words>((even >> 32) | (odd & ~low)),
          reinterpret_cast<Words>((even & low) | (odd << 32))};
}

/// Four words of each lane: a counter, or a block.
template <std::size_t Bytes>
using BlockLanes = std::array<typename Lanes<Bytes>::Words, 4>;

/// Replaces counters by their blocks, philox4x32_10 of each lane. Two vectors at once hide each other's
/// latency: half the time.
template <std::size_t Bytes, std::size_t Vectors>
[[gnu::always_inline]] inline void philox_lanes(PhiloxKey key,
                                                std::array<BlockLanes<Bytes>, Vectors>& counters) {
  using Words = typename Lanes<Bytes>::Words;
  const Words first = Words{} + 0xD2511F53U;
  const Words second = Words{} + 0xCD9E8D57U;
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (auto& c : counters) {
      const auto a = multiply<Bytes>(first, c[0]);
      const auto b = multiply<Bytes>(second, c[2]);
      c = {b.high ^ c[1] ^ key[0], b.low, a.high ^ c[3] ^ key[1], a.low};
    }
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
}

}  // namespace troupe
