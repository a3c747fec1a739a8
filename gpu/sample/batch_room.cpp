#include "gpu/sample/batch_room.hpp"

#include "gpu/sample/hop_plan.hpp"
#include "gpu/sample/number_bodies.hpp"

#include <algorithm>
#include <utility>

namespace troupe::gpu {
namespace {

void learn_sizes(const std::vector<std::uint64_t>& sizes, std::vector<std::uint64_t>& expected) {
  expected.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto worn = expected[i] - (expected[i] - std::min(sizes[i], expected[i])) / 64;
    expected[i] = std::max(sizes[i], worn);
  }
}

/// Room by hop, from what fanouts make of the room of the hop before.
class RoomByHop {
 public:
  RoomByHop(const BatchSizes& expected, const DeviceGraph& graph, const SamplingPlan& plan)
      : expected_(expected), graph_(graph), plan_(plan), most_nodes_(graph.nodes.size()) {}

  /// \param candidates  seeds by node type
  BatchSizes take(std::vector<std::uint64_t> candidates) {
    for (std::uint32_t hop = 0; hop < plan_.fanout.size(); ++hop) {
      add_rows(hop, candidates);
      candidates = add_edges(hop);
    }
    add_nodes(candidates);
    return std::move(room_);
  }

 private:
  /// \param candidates  that the step before led to
  void add_rows(std::uint32_t hop, const std::vector<std::uint64_t>& candidates) {
    auto& rows = room_.rows.emplace_back(candidates.size());
    for (std::size_t type = 0; type < rows.size(); ++type) {
      most_nodes_[type] = std::min(most_nodes_[type] + candidates[type], graph_.nodes[type].count);
      const bool all = plan_.frontier == Frontier::all;
      const auto most = all ? most_nodes_[type] : std::min(candidates[type], most_nodes_[type]);
      // The seeds' number is known.
      rows[type] = hop == 0 ? most : std::min(most, with_margin(expected_.rows[hop][type]));
    }
  }
  /// \returns candidates of the hop
  std::vector<std::uint64_t> add_edges(std::uint32_t hop) {
    std::vector<std::uint64_t> candidates(graph_.nodes.size());
    auto& edges = room_.edges.emplace_back(graph_.edges.size());
    for (std::size_t type = 0; type < edges.size(); ++type) {
      const auto& lists = graph_.edges[type];
      const auto rows = room_.rows[hop][raw(lists.destination_type)];
      edges[type] = std::min(most_edges(rule_of(plan_, type, hop), rows, lists.entries),
                             with_margin(expected_.edges[hop][type]));
      edges[type] = plan_.fanout[hop][type] == 0 || rows == 0 ? 0 : edges[type];
      candidates[raw(lists.source_type)] += edges[type];
    }
    return candidates;
  }
  void add_nodes(const std::vector<std::uint64_t>& candidates) {
    for (std::size_t type = 0; type < candidates.size(); ++type) {
      const auto most = std::min(most_nodes_[type] + candidates[type], graph_.nodes[type].count);
      const auto seeds = room_.rows.empty() ? most : room_.rows[0][type];
      room_.nodes.push_back(std::min(most, std::max(with_margin(expected_.nodes[type]), seeds)));
    }
  }

  const BatchSizes& expected_;
  const DeviceGraph& graph_;
  const SamplingPlan& plan_;
  std::vector<std::uint64_t> most_nodes_;  ///< Before the hop
  BatchSizes room_;
};

/// Whether places and indices reach so far.
bool is_in_range(const BatchSizes& room, const DeviceGraph& graph,
                 std::span<const std::uint64_t> seeds) {
  std::vector<std::uint64_t> of_type(graph.edges.size());
  std::vector<std::uint64_t> rows_of_type(graph.nodes.size());
  bool in_range = std::ranges::all_of(seeds, [](auto n) { return n <= most_candidates; });
  for (std::size_t hop = 0; hop < room.edges.size(); ++hop) {
    std::vector<std::uint64_t> candidates(graph.nodes.size());
    for (std::size_t type = 0; type < of_type.size(); ++type) {
      of_type[type] += room.edges[hop][type];
      candidates[raw(graph.edges[type].source_type)] += room.edges[hop][type];
      in_range = in_range && of_type[type] <= most_candidates;
    }
    for (std::size_t type = 0; type < candidates.size(); ++type) {
      rows_of_type[type] += room.rows[hop][type];
      in_range =
          in_range && candidates[type] <= most_candidates && rows_of_type[type] <= most_candidates;
    }
  }
  return in_range && std::ranges::all_of(room.nodes, [](auto n) { return n <= most_candidates; });
}

}  // namespace

BatchSizes sizes_of(const DeviceBatch& batch, std::vector<std::vector<std::uint64_t>> edges) {
  BatchSizes sizes{.nodes = std::vector<std::uint64_t>(batch.nodes.size())};
  for (std::size_t hop = 0; hop < edges.size(); ++hop) {
    auto& rows = sizes.rows.emplace_back();
    std::vector<std::uint64_t> candidates(batch.nodes.size());
    for (std::size_t type = 0; type < batch.edges.size(); ++type) {
      candidates[raw(batch.edges[type].source_type)] += edges[hop][type];
    }
    for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
      const auto& end = batch.nodes[type].hop_end;
      const bool fresh = batch.frontier == Frontier::fresh && hop > 0;
      rows.push_back(end[hop] - (fresh ? end[hop - 1] : 0U));
      sizes.nodes[type] = std::max(sizes.nodes[type], end[hop] + candidates[type]);
    }
  }
  sizes.edges = std::move(edges);
  return sizes;
}

void SizesExpected::learn(const BatchSizes& sizes) {
  sizes_.rows.resize(sizes.rows.size());
  sizes_.edges.resize(sizes.edges.size());
  for (std::size_t hop = 0; hop < sizes.rows.size(); ++hop) {
    learn_sizes(sizes.rows[hop], sizes_.rows[hop]);
    learn_sizes(sizes.edges[hop], sizes_.edges[hop]);
  }
  learn_sizes(sizes.nodes, sizes_.nodes);
}

std::optional<BatchSizes> room_for(const SizesExpected& expected, const DeviceGraph& graph,
                                   const SamplingPlan& plan, std::span<const std::uint64_t> seeds) {
  if (!expected.known()) {
    return {};
  }
  auto room = RoomByHop(expected.sizes(), graph, plan).take({seeds.begin(), seeds.end()});
  if (!is_in_range(room, graph, seeds)) {
    return {};
  }
  return room;
}

}  // namespace troupe::gpu
