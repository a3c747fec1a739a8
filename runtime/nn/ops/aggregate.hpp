#pragma once
/// \file aggregate.hpp
/// Aggregation of neighbour rows over a block: mean, sum or maximum, forward and backward.
/// Functions named `…_rows` run on the calling thread over one chunk of rows; a row's bits depend
/// on its own neighbours alone.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

enum class Aggregator : std::uint8_t { mean, max, sum };

/// In `argmax`: no neighbour, so no gradient.
inline constexpr std::uint32_t no_edge = 0xFFFFFFFFU;

/// Aggregates the in-neighbours of destinations [first, first + out.rows) in the order of their
/// edges. Parallel edges count as often as they occur; a destination without edges gives 0.
/// \param x       [block.num_src or more, cols]
/// \param out     [count, cols], overwritten
/// \param argmax max: [count * cols] the edge (its position in `block.sources`) that each element
///   came from, the first one where several hold the maximum; empty: not kept. Other aggregators:
///   empty
void aggregate_rows(Aggregator aggregator, const LayerBlock& block, std::size_t first,
                    ConstMatrix x, MutMatrix out, std::span<std::uint32_t> argmax);

/// A block's edges by source instead of by destination, each list in edge order, so that gradients
/// reach a source in a fixed order without atomics. Reused between batches.
class EdgesBySource {
 public:
  explicit EdgesBySource(PassMemory* memory = nullptr)
      : offset_memory_(memory),
        destination_memory_(memory),
        edge_memory_(memory),
        inverse_memory_(memory) {}

  /// Where the lists go.
  struct Lists {
    std::span<std::uint32_t> offsets;       ///< [num_src + 1], starts at 0
    std::span<std::uint32_t> destinations;  ///< [edges]
    std::span<std::uint32_t> edges;         ///< [edges]
    std::span<float> inverse_degree;        ///< [num_dst]
  };
  /// Room for a block's lists, to be filled by the caller.
  Lists prepare(const LayerBlock& block);
  /// Fills them. \cost one pass to count, one to place; serial
  void build(const LayerBlock& block);

  std::size_t num_src() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
  std::span<const std::uint32_t> offsets() const { return offsets_; }            ///< [num_src + 1]
  std::span<const std::uint32_t> destinations() const { return destinations_; }  ///< [edges]
  /// [edges] positions in `block.sources`.
  std::span<const std::uint32_t> edges() const { return edges_; }
  /// [num_dst] 1 / number of in-edges; 0 where there is none.
  std::span<const float> inverse_degree() const { return inverse_degree_; }

 private:
  GrowBuffer<std::uint32_t> offset_memory_;
  GrowBuffer<std::uint32_t> destination_memory_;
  GrowBuffer<std::uint32_t> edge_memory_;
  GrowBuffer<float> inverse_memory_;
  std::span<std::uint32_t> offsets_;
  std::span<std::uint32_t> destinations_;
  std::span<std::uint32_t> edges_;
  std::span<float> inverse_degree_;
};

/// The gradient that sources [first, first + grad_x.rows) get through the aggregation.
/// \param grad_out  [num_dst, cols] gradient of the aggregated rows
/// \param argmax    max: as `aggregate_rows` wrote it, for all destinations
/// \param grad_x    [count, cols], overwritten
void aggregate_backward_rows(Aggregator aggregator, const EdgesBySource& by_source,
                             std::size_t first, ConstMatrix grad_out,
                             std::span<const std::uint32_t> argmax, MutMatrix grad_x);

}  // namespace troupe::nn
