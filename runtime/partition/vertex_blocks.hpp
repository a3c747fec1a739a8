#pragma once
/// \file vertex_blocks.hpp
/// The order in which passes over all vertices go, and what is scored at a time.
#include <algorithm>
#include <cstdint>

namespace troupe {

/// Vertices in 8 ranges side by side, because ids have locality: chunk i of each range makes block i.
/// The chunks of a block are scored in parallel against what stood before it, and then committed in
/// order, so no result depends on the number of threads.
struct VertexBlocks {
  static constexpr std::uint64_t streams = 8;
  explicit VertexBlocks(std::uint64_t all)
      : vertices(all),
        range((all + streams - 1) / streams),
        chunk(std::clamp<std::uint64_t>(range / 64, 1, 512)),
        count(range == 0 ? 0 : (range + chunk - 1) / chunk) {}

  std::uint64_t begin(std::uint64_t block, std::uint64_t stream) const {
    return std::min(stream * range + block * chunk, end_of(stream));
  }
  std::uint64_t end(std::uint64_t block, std::uint64_t stream) const {
    return std::min(stream * range + (block + 1) * chunk, end_of(stream));
  }
  std::uint64_t end_of(std::uint64_t stream) const {
    return std::min((stream + 1) * range, vertices);
  }

  std::uint64_t vertices;
  std::uint64_t range;
  std::uint64_t chunk;
  std::uint64_t count;
};

}  // namespace troupe
