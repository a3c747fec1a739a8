#include "runtime/graph/list_index.hpp"

#include "runtime/base/large_memory.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Lists of one edge type.
struct TypeLists {
  EdgeTypeId type;
  const NeighbourLists* lists;
};

/// Those that nodes of a type have.
std::vector<TypeLists> lists_of(const Part& part, NodeTypeId type, EdgeDir dir) {
  std::vector<TypeLists> found;
  for (std::size_t e = 0; e < part.edges.size(); ++e) {
    const auto& edges = part.edges[e];
    const auto owner = dir == EdgeDir::in ? edges.destination_type : edges.source_type;
    const auto& lists = edges.lists(dir);
    if (owner == type && lists.offsets.size() == part.nodes_of(type).count + 1) {
      found.push_back({static_cast<EdgeTypeId>(e), &lists});
    }
  }
  return found;
}

bool is_small(const TypeLists& of_type) {
  return of_type.lists->neighbours.size() <= std::numeric_limits<std::uint32_t>::max();
}

std::uint64_t count_lists(std::span<const TypeLists> types) {
  std::uint64_t count = 0;
  for (const auto& [type, lists] : types) {
    const auto& offsets = lists->offsets;
    for (std::size_t node = 0; node + 1 < offsets.size(); ++node) {
      count += offsets[node] < offsets[node + 1] ? 1U : 0U;
    }
  }
  return count;
}

/// \param offsets  [nodes + 1]  \param all  [count_lists()]
void fill(std::span<const TypeLists> types, std::span<std::uint64_t> offsets,
          std::span<IndexedList> all) {
  const std::size_t nodes = offsets.size() - 1;
  std::ranges::fill(offsets, std::uint64_t{0});
  for (const auto& [type, lists] : types) {
    for (std::size_t node = 0; node < nodes; ++node) {
      offsets[node + 1] += lists->offsets[node] < lists->offsets[node + 1] ? 1U : 0U;
    }
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    offsets[node + 1] += offsets[node];
  }
  // Placing moves each start to its end, which is the next start.
  for (const auto& [type, lists] : types) {
    for (std::size_t node = 0; node < nodes; ++node) {
      const auto begin = lists->offsets[node];
      if (const auto entries = lists->offsets[node + 1] - begin; entries > 0) {
        all[offsets[node]++] = {
            static_cast<std::uint32_t>(begin), type,
            static_cast<std::uint16_t>(std::min<std::uint64_t>(entries, IndexedList::many))};
      }
    }
  }
  std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
  offsets.front() = 0;
}

}  // namespace

Result<std::shared_ptr<const Part>> with_list_index(std::shared_ptr<const Part> part, EdgeDir dir) {
  std::shared_ptr<Part> copy;
  for (std::size_t t = 0; t < part->nodes.size(); ++t) {
    const auto nodes = part->nodes[t].count;
    const auto types = lists_of(*part, static_cast<NodeTypeId>(t), dir);
    if (nodes == 0 || types.size() < many_edge_types || !std::ranges::all_of(types, is_small)) {
      continue;
    }
    const auto count = count_lists(types);
    if (count > nodes * types.size() / looks_saved) {
      continue;
    }
    const auto offsets = try_large_array<std::uint64_t>(nodes + 1);
    const auto lists = try_large_array<IndexedList>(std::max<std::uint64_t>(count, 1));
    if (!offsets || !lists) {
      return Error(Errc::out_of_memory,
                   fmt::format("part {}: no memory for an index of {} lists of {} nodes",
                               raw(part->id), count, nodes));
    }
    ListIndex index{.offsets = {offsets.get(), nodes + 1}, .lists = {lists.get(), count}};
    fill(types, {offsets.get(), nodes + 1}, {lists.get(), count});
    copy = copy ? std::move(copy) : std::make_shared<Part>(*part);
    (dir == EdgeDir::in ? copy->nodes[t].in_index : copy->nodes[t].out_index) = index;
    copy->bytes += index.offsets.size_bytes() + index.lists.size_bytes();
    copy->owners.push_back(offsets);
    copy->owners.push_back(lists);
  }
  return copy ? std::shared_ptr<const Part>(std::move(copy)) : std::move(part);
}

}  // namespace troupe
