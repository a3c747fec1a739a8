#pragma once
/// \file even_share.hpp
/// Things in order, divided evenly.
#include "runtime/base/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// The things [first, first + size).
struct Share {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// The share `index` of `shares` of 0 … count-1: the first get one more, if it does not divide.
constexpr Share even_share(std::size_t count, std::size_t shares, std::size_t index) {
  const std::size_t least = count / shares;
  const std::size_t more = count % shares;
  return {index * least + std::min(index, more), least + (index < more ? 1 : 0)};
}

/// What rank `owner` of `world` gets.
constexpr Share even_share(std::size_t count, std::uint32_t world, Rank owner) {
  return even_share(count, world, std::size_t{raw(owner)});
}

/// Number of chunks that hold `count` things, `chunk` in each but the last.
constexpr std::uint64_t chunks_of(std::uint64_t count, std::uint64_t chunk) {
  return (count + chunk - 1) / chunk;
}

}  // namespace troupe
