#pragma once
/// \file batch_room.hpp
/// Room for a batch whose sizes are not known yet: that of batches before it, and a margin.
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/graph_arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::gpu {

/// Sizes of a batch, or room for them.
struct BatchSizes {
  std::vector<std::vector<std::uint64_t>> rows = {};   ///< [hop][node type]
  std::vector<std::vector<std::uint64_t>> edges = {};  ///< [hop][edge type]
  /// By node type: the most, over hops, of nodes before the hop and edges to them. All nodes that a
  /// table gets, before it is known which of them are new, are fewer.
  std::vector<std::uint64_t> nodes = {};
};

/// \param edges  [hop][edge type] edges of the hop
BatchSizes sizes_of(const DeviceBatch& batch, std::vector<std::vector<std::uint64_t>> edges);

/// The largest sizes of a sampler's batches. Larger ones count at once; they wear off by a 64th of the
/// difference with each batch, so that one that was very large does not make all later ones so.
class SizesExpected {
 public:
  bool known() const { return !sizes_.nodes.empty(); }
  void learn(const BatchSizes& sizes);
  const BatchSizes& sizes() const { return sizes_; }

 private:
  BatchSizes sizes_;
};

/// Room for something of which so much is expected: an eighth more, and a few.
constexpr std::uint64_t with_margin(std::uint64_t expected) {
  return expected == 0 ? 0 : expected + expected / 8 + 32;
}

/// At most what seeds and fanouts allow, thereby bounded whatever was before.
/// \param seeds  by node type
/// \returns nothing: none is known, or there is more than a batch may have
std::optional<BatchSizes> room_for(const SizesExpected& expected, const DeviceGraph& graph,
                                   const SamplingPlan& plan, std::span<const std::uint64_t> seeds);

}  // namespace troupe::gpu
