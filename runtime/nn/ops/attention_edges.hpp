#pragma once
/// \file attention_edges.hpp
/// Loops over the edges that attention weighs; only for runtime/nn.
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/attention.hpp"
#include "runtime/nn/ops/rows_ahead.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::nn {

/// An edge that counts: its row in the weights and its source.
struct Weighed {
  std::size_t row;
  std::size_t source;
};

/// Calls `body` for each edge of a destination that counts, in order; the loop last.
/// \param read  [num_src, any] `body` reads the source's row: those of later edges start to load; or no data
template <class Body>
inline void for_each_edge(const AttentionShape& shape, std::size_t destination, ConstMatrix read,
                          const Body& body) {
  const LayerBlock& block = *shape.block;
  const std::size_t last = read.data == nullptr ? 0 : block.offsets[block.num_dst];
  for (std::uint32_t e = block.offsets[destination]; e < block.offsets[destination + 1]; ++e) {
    prefetch_row_ahead(block.sources, e, last, read);
    const std::size_t source = block.sources[e];
    if (!shape.one_loop || source != destination) {
      body(Weighed{e - block.offsets[0], source});
    }
  }
  if (shape.one_loop) {
    body(Weighed{shape.edges() + destination, destination});
  }
}
template <class Body>
inline void for_each_edge(const AttentionShape& shape, std::size_t destination, const Body& body) {
  for_each_edge(shape, destination, {}, body);
}

/// The same for the out-edges of a source, with the destination in place of the source.
template <class Body>
inline void for_each_out_edge(const AttentionShape& shape, const EdgesBySource& by_source,
                              std::size_t source, ConstMatrix read, const Body& body) {
  const std::size_t last = read.data == nullptr ? 0 : by_source.destinations().size();
  for (std::uint32_t k = by_source.offsets()[source]; k < by_source.offsets()[source + 1]; ++k) {
    prefetch_row_ahead(by_source.destinations(), k, last, read);
    const std::size_t destination = by_source.destinations()[k];
    if (!shape.one_loop || source != destination) {
      body(Weighed{by_source.edges()[k] - shape.block->offsets[0], destination});
    }
  }
  if (shape.one_loop && source < shape.block->num_dst) {
    body(Weighed{shape.edges() + source, source});
  }
}

inline float leaky(float value, float slope) {
  return value > 0 ? value : value * slope;
}

}  // namespace troupe::nn
