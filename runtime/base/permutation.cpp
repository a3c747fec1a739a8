#include "runtime/base/permutation.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/lanes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe {

Permutation::Permutation(StreamKey key, std::uint64_t n) noexcept : key_(key.words), n_(n) {
  while (half_bits_ < 32 && n > std::uint64_t{1} << (2 * half_bits_)) {
    ++half_bits_;
  }
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (std::uint32_t round = 0; round < 8; ++round) {
    const auto f = philox4x32_10({static_cast<std::uint32_t>(right), round, 0, 0}, key_)[0];
    const std::uint64_t next = left ^ (f & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::decrypt(std::uint64_t x) const noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (std::uint32_t round = 8; round-- > 0;) {
    const auto f = philox4x32_10({static_cast<std::uint32_t>(left), round, 0, 0}, key_)[0];
    const std::uint64_t before = right ^ (f & mask);
    right = left;
    left = before;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const noexcept {
  TROUPE_ASSERT(i < n_, "position past the end", i, n_);
  do {
    i = encrypt(i);
  } while (i >= n_);
  return i;
}

/// encrypt() of the values at some places.
void Permutation::encrypt_at(std::span<const std::uint32_t> places,
                             std::span<std::uint64_t> values) const {
  using Words = Lanes<vector_bytes>::Words;
  constexpr std::size_t lanes = Lanes<vector_bytes>::count;
  constexpr std::size_t vectors = 2;  // they hide each other's latency
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << half_bits_) - 1);
  for (std::size_t begin = 0; begin < places.size(); begin += vectors * lanes) {
    const auto block = places.subspan(begin, std::min(vectors * lanes, places.size() - begin));
    std::array<Words, vectors> left = {};
    std::array<Words, vectors> right = {};
    for (std::size_t i = 0; i < block.size(); ++i) {
      left[i / lanes][i % lanes] = static_cast<std::uint32_t>(values[block[i]] >> half_bits_);
      right[i / lanes][i % lanes] = static_cast<std::uint32_t>(values[block[i]]) & mask;
    }
    for (std::uint32_t round = 0; round < 8; ++round) {
      std::array<BlockLanes<vector_bytes>, vectors> words;
      for (std::size_t v = 0; v < vectors; ++v) {
        words[v] = {right[v], Words{} + round, Words{}, Words{}};
      }
      philox_lanes<vector_bytes>(key_, words);
      for (std::size_t v = 0; v < vectors; ++v) {
        const Words next = left[v] ^ (words[v][0] & mask);
        left[v] = right[v];
        right[v] = next;
      }
    }
    for (std::size_t i = 0; i < block.size(); ++i) {
      values[block[i]] =
          std::uint64_t{left[i / lanes][i % lanes]} << half_bits_ | right[i / lanes][i % lanes];
    }
  }
}

void Permutation::fill(std::uint64_t first, std::span<std::uint64_t> out) const {
  TROUPE_ASSERT(out.size() <= n_ && first <= n_ - out.size(), "positions past the end", first,
                out.size(), n_);
  constexpr std::size_t at_once = 4096;
  std::array<std::uint32_t, at_once> open;
  for (std::size_t begin = 0; begin < out.size(); begin += at_once) {
    const auto values = out.subspan(begin, std::min(at_once, out.size() - begin));
    std::iota(values.begin(), values.end(), first + begin);
    std::size_t left = values.size();
    std::iota(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(left), 0U);
    while (left > 0) {
      const auto places = std::span(open).first(left);
      encrypt_at(places, values);
      left = 0;
      for (const std::uint32_t place : places) {
        open[left] = place;
        left += values[place] >= n_ ? 1U : 0U;
      }
    }
  }
}

std::uint64_t Permutation::inverse(std::uint64_t x) const noexcept {
  TROUPE_ASSERT(x < n_, "position past the end", x, n_);
  do {
    x = decrypt(x);
  } while (x >= n_);
  return x;
}

}  // namespace troupe
