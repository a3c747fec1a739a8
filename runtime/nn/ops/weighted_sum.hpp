#pragma once
/// \file weighted_sum.hpp
/// Weighted sums of neighbour rows over a block, forward and backward, and the weights of graph
/// convolutions (Kipf and Welling: "Semi-supervised classification with graph convolutional
/// networks", ICLR 2017). Functions named `…_rows` run on the calling thread over one chunk of rows;
/// a row's bits depend on its own edges alone.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

/// How much each edge counts: source[j] * edge[e] * destination[i] for edge e from j to i. A span
/// that is empty stands for ones.
struct EdgeFactors {
  std::span<const float> source;       ///< [num_src]
  std::span<const float> destination;  ///< [num_dst]
  std::span<const float> edge;         ///< by position in `block.sources`
  /// Every destination has exactly one self loop, with edge factor 1: those among its edges do not
  /// count, and it comes last in the sum.
  bool one_loop = false;
};

/// out[i] = sum over in-edges e of destination i, in their order, of the edge's factor times its
/// source row, for destinations [first, first + out.rows).
/// \param x   [block.num_src or more, cols]
/// \param out [count, cols], overwritten
void weighted_sum_rows(const EdgeFactors& factors, const LayerBlock& block, std::size_t first,
                       ConstMatrix x, MutMatrix out);

/// The gradient that sources [first, first + grad_x.rows) get through the sum.
/// \param grad_out [num_dst, cols]
/// \param grad_x   [count, cols], overwritten
void weighted_sum_backward_rows(const EdgeFactors& factors, const EdgesBySource& by_source,
                                std::size_t first, ConstMatrix grad_out, MutMatrix grad_x);

/// Which factors of a block GcnFactors makes.
enum class DegreeFactors : std::uint8_t { normalized, weighted, mean };

/// Computes the factors of graph convolutions, and keeps their memory between batches: one self loop per
/// node, 1 / sqrt(deg i * deg j), both sampled in-degrees with the loop (PyG's GCNConv on a sampled batch).
class GcnFactors {
 public:
  explicit GcnFactors(PassMemory* memory = nullptr)
      : source_memory_(memory), destination_memory_(memory) {}

  /// Where the factors go.
  struct Room {
    std::span<float> source;       ///< [num_src]
    std::span<float> destination;  ///< [num_dst]
    EdgeFactors factors;           ///< that they make
  };
  /// Room for a block's factors, to be filled by the caller. Of the mean there are none of sources.
  Room prepare(const LayerBlock& block, DegreeFactors how);
  EdgeFactors build(const LayerBlock& block, const LayerBlock* below, DegreeFactors how);
  /// \param below  the block of the layer below, whose destinations are this one's
  ///   sources: in-edges of sources that are no destinations here are counted there. Null, or a
  ///   source that is no destination there either: none were sampled, degree 1
  /// \returns views that stay valid until the next build()
  /// \cost one pass over the edges; serial
  EdgeFactors build(const LayerBlock& block, const LayerBlock* below = nullptr);
  /// The same of a graph with weights of edges: w_ij / sqrt(deg i * deg j), a degree being the sum of the
  /// weights of the in-edges from other nodes + 1; 0 where it is not above 0. A block without weights
  /// has ones.
  EdgeFactors build_weighted(const LayerBlock& block, const LayerBlock* below = nullptr);
  /// Factors of the mean of in-neighbors' rows times their edges' weights: weight / number of in-edges.
  EdgeFactors build_mean(const LayerBlock& block);

 private:
  GrowBuffer<float> source_memory_;
  GrowBuffer<float> destination_memory_;
};

}  // namespace troupe::nn
