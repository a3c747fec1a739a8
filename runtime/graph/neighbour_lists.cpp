#include "runtime/graph/store_writer.hpp"

#include <numeric>

namespace troupe {
namespace {

/// Start positions of groups from the keys of their members: [groups + 1].
std::vector<std::uint64_t> group_offsets(std::span<const std::uint64_t> keys,
                                         std::uint64_t groups) {
  std::vector<std::uint64_t> offsets(groups + 1, 0);
  for (const auto key : keys) {
    ++offsets[key + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

}  // namespace

ListArrays build_in_lists(const EdgeList& edges, std::uint64_t source_count,
                          std::uint64_t destination_count) {
  const auto count = edges.sources.size();
  std::vector<std::uint64_t> by_source(count);  // stable: parallel edges stay in order of edge ids
  auto next = group_offsets(edges.sources, source_count);
  for (std::uint64_t edge = 0; edge < count; ++edge) {
    by_source[next[edges.sources[edge]]++] = edge;
  }
  ListArrays lists;
  lists.offsets = group_offsets(edges.destinations, destination_count);
  lists.neighbours.resize(count);
  lists.edge_ids.resize(count);
  next = lists.offsets;
  for (const auto edge : by_source) {
    const auto at = next[edges.destinations[edge]]++;
    lists.neighbours[at] = edges.sources[edge];
    lists.edge_ids[at] = edge;
  }
  return lists;
}

ListArrays reverse_lists(const ListArrays& lists, std::uint64_t other_count) {
  ListArrays reversed;
  reversed.offsets = group_offsets(lists.neighbours, other_count);
  reversed.neighbours.resize(lists.neighbours.size());
  reversed.edge_ids.resize(lists.edge_ids.size());
  auto next = reversed.offsets;
  for (std::uint64_t node = 0; node + 1 < lists.offsets.size(); ++node) {
    for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
      const auto at = next[lists.neighbours[i]]++;
      reversed.neighbours[at] = node;
      if (!lists.edge_ids.empty()) {
        reversed.edge_ids[at] = lists.edge_ids[i];
      }
    }
  }
  return reversed;
}

}  // namespace troupe
