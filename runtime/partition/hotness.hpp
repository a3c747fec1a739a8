#pragma once
/// \file hotness.hpp
/// How likely a node is to be in a mini-batch: what orders rows, chooses caches and, per part, the
/// parts themselves.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The same fanout for all edge types in each hop: [hop][types].
inline std::vector<std::vector<std::int32_t>> fanout_of_hops(std::span<const std::int32_t> hops,
                                                             std::size_t types = 1) {
  std::vector<std::vector<std::int32_t>> fanout;
  for (const auto of_hop : hops) {
    fanout.emplace_back(types, of_hop);
  }
  return fanout;
}

/// How batches are sampled, as far as it matters for who is in them.
struct HotnessOptions {
  /// Per hop: fanout of each edge type, or one for all; -1 is the whole list.
  std::vector<std::vector<std::int32_t>> fanout = {};
  std::uint64_t batch_size = 1024;
  EdgeDir dir = EdgeDir::in;
  bool replace = false;
  bool all_nodes = false;  ///< every hop asks for all nodes so far, not for the new ones alone
  bool links = false;      ///< batches begin with links of the split, also where it has nodes too
  /// Batches begin with edges of these types, whatever the split has; empty: they do not.
  std::vector<EdgeTypeId> edges = {};
  /// Batches begin with nodes of this type, whatever the split has, as where walks begin at all of them.
  std::optional<NodeTypeId> nodes = {};
};

/// What batches begin with: some of `count` seeds or links.
struct HotnessSeeds {
  /// [node type]: original ids, one for each seed or end of a link.
  std::vector<std::vector<std::uint64_t>> ids;
  std::uint64_t count = 0;
  /// [node type][original id] instead of `ids`, where most nodes are: how many times each is. Empty: `ids` are.
  std::vector<std::vector<std::uint32_t>> times = {};
};

/// What training begins with: the seeds of a split, or its links where it has no nodes or `options.links` is set, or
/// `options.edges` or `nodes`, dealt out evenly at random (domain `generators`, type of the seeds or of the first
/// links; hop 2, of links 3, of edges 4, of all nodes 5).
/// \errors  those of GraphStore::seeds and links; not_found: the split has neither
/// \cost    of edges and all nodes one pass over the lists, and 4 bytes a node and share
Result<std::vector<HotnessSeeds>> deal_training_seeds(const GraphStore& graph,
                                                      const std::string& split,
                                                      const HotnessOptions& options,
                                                      std::uint32_t shares, std::uint64_t seed);

/// Probabilities: [node type][original id].
using Hotness = std::vector<std::vector<float>>;

/// The probability that a node is in a batch of `batch_size` of these seeds, in the approximation
/// that nodes get into a batch independently: with p_0 = 1 - (1 - batch_size / count)^m at a node that
/// is m seeds, or ends of links,
///   p_h(u) = 1 - prod over other v whose lists name u of (1 - f_{h-1}(v) * q(v)),
/// where q(v) = min(1, fanout / degree(v)), with replacement 1 - (1 - 1/degree)^fanout, is how often
/// one entry of v's list is drawn (1 - (1 - q)^m, where m entries in a row name u), and f_{h-1}(v) is
/// how likely v is in the frontier. A node is in the batch with 1 - prod over h of (1 - p_h).
/// Source: T. Kaler et al., "Communication-Efficient Graph Neural Networks with Probabilistic
///   Neighborhood Expansion Analysis and Caching", MLSys 2023, section 4.
/// Ends that are drawn for links count as nothing. Without hops only seeds and ends are in a batch.
/// \errors  invalid_argument: fanouts for neither one nor all edge types or below -1, batch size 0, no
///   seeds, a seed that is no node
/// \cost    per hop and edge type one pass over the lists; 24 bytes per node, 8 per seed or end. Equal for any number
///   of threads
Result<Hotness> node_hotness(const GraphStore& graph, const HotnessSeeds& seeds,
                             const HotnessOptions& options, Executor& executor);

/// The same for the training seeds or links of a split.
/// \errors  as above, and those of deal_training_seeds()
Result<Hotness> node_hotness(const GraphStore& graph, const std::string& split,
                             const HotnessOptions& options, Executor& executor);

}  // namespace troupe
