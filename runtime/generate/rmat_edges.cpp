#include "runtime/generate/rmat_edges.hpp"

#include "runtime/generate/streams.hpp"

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

}  // namespace

Cells::Cells(std::uint64_t nodes, const Quadrants& quadrants, std::uint64_t seed)
    : key_(generate::stream(seed, generate::Stream::quadrants).words),
      nodes_(nodes),
      scale_(static_cast<unsigned>(std::bit_width(nodes - 1))),
      bounds_{word_bound(quadrants.a), word_bound(quadrants.a + quadrants.b),
              word_bound(quadrants.a + quadrants.b + quadrants.c)} {}

EdgeGroup Cells::unfolded(std::uint64_t first) const noexcept {
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

EdgeGroup Cells::folded(std::uint64_t first) const noexcept {
  auto group = unfolded(first);
  for (std::size_t l = 0; l < lanes; ++l) {
    group.sources[l] = static_cast<std::uint32_t>(group.sources[l] * nodes_ >> scale_);
    group.destinations[l] = static_cast<std::uint32_t>(group.destinations[l] * nodes_ >> scale_);
  }
  return group;
}

}  // namespace troupe::rmat
