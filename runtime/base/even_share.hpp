#pragma once
/// \file even_share.hpp
/// Things in order, divided evenly between ranks.
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

/// What rank `owner` of `world` gets of 0 … count-1: the first ranks one more, if it does not divide.
constexpr Share even_share(std::size_t count, std::uint32_t world, Rank owner) {
  const std::size_t least = count / world;
  const std::size_t more = count % world;
  const std::size_t r = raw(owner);
  return {r * least + std::min(r, more), least + (r < more ? 1 : 0)};
}

}  // namespace troupe
