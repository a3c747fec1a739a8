#include "runtime/data/rmat_edges.hpp"

#include "runtime/base/permutation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe::rmat {
namespace {

/// philox4x32_10 in every lane, for counters that differ in the first word only. Plain loops over
/// arrays, which the compiler turns into vector instructions.
using LaneBlock = std::array<Lane, 4>;
LaneBlock philox_lanes(std::uint64_t first, std::uint32_t block, PhiloxKey key) noexcept {
  alignas(64) LaneBlock c;
  for (std::size_t l = 0; l < lanes; ++l) {
    c[0][l] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(l);
    c[1][l] = static_cast<std::uint32_t>(first >> 32);
    c[2][l] = block;
    c[3][l] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t l = 0; l < lanes; ++l) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0][l];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2][l];
      c[0][l] = static_cast<std::uint32_t>(b >> 32) ^ c[1][l] ^ key[0];
      c[1][l] = static_cast<std::uint32_t>(b);
      c[2][l] = static_cast<std::uint32_t>(a >> 32) ^ c[3][l] ^ key[1];
      c[3][l] = static_cast<std::uint32_t>(a);
    }
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return c;
}

/// `p` as a bound for words. \requires 0 <= p < 1
std::uint32_t word_bound(double p) {
  return static_cast<std::uint32_t>(std::floor(p * 0x1p32));
}

std::vector<std::uint32_t> permutation_table(const Permutation& permutation, Executor& executor) {
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16;
  const auto n = permutation.size();
  std::vector<std::uint32_t> table(n);
  executor.parallel_for((n + chunk - 1) / chunk, [&](std::size_t k) {
    const auto end = std::min(n, (k + 1) * chunk);
    for (std::uint64_t i = k * chunk; i < end; ++i) {
      table[i] = static_cast<std::uint32_t>(permutation(i));
    }
  });
  return table;
}

}  // namespace

StreamKey stream(std::uint64_t seed, Stream which) noexcept {
  return stream_key(seed, {.domain = Domain::generators, .hop = static_cast<std::uint8_t>(which)});
}

Edges::Edges(const RmatOptions& options, Executor& executor)
    : key_(stream(options.seed, Stream::quadrants).words),
      nodes_(options.nodes),
      scale_(static_cast<unsigned>(std::bit_width(options.nodes - 1))),
      bounds_{word_bound(options.a), word_bound(options.a + options.b),
              word_bound(options.a + options.b + options.c)},
      place_(permutation_table(Permutation(stream(options.seed, Stream::ids), options.nodes),
                               executor)) {}

EdgeGroup Edges::cells(std::uint64_t first) const noexcept {
  EdgeGroup group{};
  for (unsigned level = 0; level < scale_; level += 4) {
    const auto words = philox_lanes(first, level / 4, key_);
    for (unsigned w = 0; w < std::min(4U, scale_ - level); ++w) {
      for (std::size_t l = 0; l < lanes; ++l) {
        const auto word = words[w][l];
        const std::uint32_t not_a = word >= bounds_[0] ? 1 : 0;
        const std::uint32_t lower = word >= bounds_[1] ? 1 : 0;
        const std::uint32_t is_d = word >= bounds_[2] ? 1 : 0;
        group.sources[l] = group.sources[l] << 1 | lower;
        group.destinations[l] = group.destinations[l] << 1 | (not_a ^ lower ^ is_d);
      }
    }
  }
  return group;
}

EdgeGroup Edges::edges(std::uint64_t first) const noexcept {
  auto group = cells(first);
  for (std::size_t l = 0; l < lanes; ++l) {
    group.sources[l] = place_[group.sources[l] * nodes_ >> scale_];
    group.destinations[l] = place_[group.destinations[l] * nodes_ >> scale_];
  }
  return group;
}

}  // namespace troupe::rmat
