#pragma once
/// \file streams.hpp
/// Names of the generators' streams of draws: domain `generators` of design, section 4.
#include "runtime/base/philox.hpp"

#include <cstdint>

namespace troupe::generate {

/// StreamName::hop. The numbers are part of what a seed means: never reuse one.
enum class Stream : std::uint8_t {
  quadrants = 1,       ///< of R-MAT: id = edge, word = level, highest level first
  ids = 2,             ///< permutation from places to ids
  features = 3,        ///< id = node, word = column
  labels = 4,          ///< random labels: id = node
  seeds = 5,           ///< permutation whose first nodes are train, then val, then test seeds
  ends = 6,            ///< ends of an edge: id = edge
  centres = 7,         ///< of the classes: id = class, word = column
  cells = 8,           ///< permutation from R-MAT's cells to places
  attributes = 9,      ///< weights and times: id = edge
  edge_features = 10,  ///< id = edge, word = column
};

/// \param type  number of the node type or edge type, in heterogeneous graphs
constexpr StreamKey stream(std::uint64_t seed, Stream which, std::uint16_t type = 0) noexcept {
  return stream_key(
      seed, {.domain = Domain::generators, .type = type, .hop = static_cast<std::uint8_t>(which)});
}

/// The next two words as one number.
constexpr std::uint64_t next_64(DrawStream& draw) noexcept {
  const auto high = std::uint64_t{draw.next()};
  return high << 32 | draw.next();
}

/// A number in [0, bound) from a number of 64 bits: multiply-shift. Nothing is rejected, so a
/// probability p is off by at most 2^-64, which is small beside 1 / bound for the bounds used here.
constexpr std::uint64_t scaled(std::uint64_t word, std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(word) * bound >> 64);
}

/// `p` as a bound for words: a word below it has probability p, to 2^-32.
/// \requires 0 <= p <= 1
constexpr std::uint64_t word_bound(double p) noexcept {
  return static_cast<std::uint64_t>(p * 0x1p32);
}

}  // namespace troupe::generate
