#include "runtime/partition/measures.hpp"

#include "runtime/partition/part_loads.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

namespace troupe {
namespace {

constexpr std::uint64_t chunk_vertices = 4096;

struct Counted {
  std::uint64_t cut_entries = 0;
  std::uint64_t volume = 0;
};

/// Counts what the vertices [begin, end) have in other parts.
template <class Ids>
Counted count(const Adjacency& graph, Ids ids, std::span<const std::uint32_t> part_of,
              std::uint32_t parts, std::uint64_t begin, std::uint64_t end) {
  Counted counted;
  std::vector<std::uint64_t> seen_by(parts, end);  // last vertex that saw the part
  for (auto v = begin; v < end; ++v) {
    for (auto i = graph.offsets()[v]; i < graph.offsets()[v + 1]; ++i) {
      const auto part = part_of[ids[i]];
      if (part != part_of[v]) {
        ++counted.cut_entries;
        counted.volume += seen_by[part] != v ? 1U : 0U;
        seen_by[part] = v;
      }
    }
  }
  return counted;
}

std::vector<PartBalance> balance_of(const Constraints& constraints,
                                    std::span<const std::uint32_t> part_of, std::uint32_t parts) {
  const auto loads = loads_of(constraints, part_of, parts);
  std::vector<PartBalance> balance;
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    std::uint64_t largest = 0;
    for (std::uint32_t part = 0; part < parts; ++part) {
      largest = std::max(largest, loads.load(part, c));
    }
    balance.push_back({constraints.name(c), largest, constraints.total(c)});
  }
  return balance;
}

constexpr std::uint32_t parts_per_pass = 64;  // bits of a word

/// Parts [first, first + parts_per_pass) among the neighbours of every vertex, a bit each, its own left
/// out.
struct SeenParts {
  std::span<const std::uint32_t> part_of;
  std::uint32_t first = 0;
  std::span<std::uint64_t> seen;

  /// The order of calls on different threads does not matter.
  void add(std::uint64_t vertex, std::uint32_t part) const {
    if (part - first >= parts_per_pass) {
      return;
    }
    const auto bit = std::uint64_t{1} << (part - first);
    const std::atomic_ref<std::uint64_t> word(seen[vertex]);
    if ((word.load(std::memory_order_relaxed) & bit) == 0) {
      word.fetch_or(bit, std::memory_order_relaxed);
    }
  }
};

std::uint64_t first_vertex(const GraphInfo& info, NodeTypeId type) {
  std::uint64_t first = 0;
  for (std::size_t t = 0; t < raw(type); ++t) {
    first += info.node_types[t].count;
  }
  return first;
}

/// Lets both ends of every edge of a type see the other's part.
/// \returns edges between parts
std::uint64_t see_parts(const GraphStore& graph, std::size_t type, const SeenParts& seen,
                        Executor& executor) {
  const auto& info = graph.info();
  const auto& edges = info.edge_types[type];
  const auto& lists = graph.graph()->edges[type].in;
  const auto sources = first_vertex(info, edges.source);
  const auto destinations = first_vertex(info, edges.destination);
  const auto nodes = info.node_types[raw(edges.destination)].count;
  std::vector<std::uint64_t> cut((nodes + chunk_vertices - 1) / chunk_vertices);
  lists.neighbours.visit([&](auto ids) {
    executor.parallel_for(cut.size(), [&](std::size_t chunk) {
      const auto end = std::min((chunk + 1) * chunk_vertices, nodes);
      for (auto node = chunk * chunk_vertices; node < end; ++node) {
        const auto own = seen.part_of[destinations + node];
        for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
          const auto source = sources + ids[i];
          if (const auto other = seen.part_of[source]; other != own) {
            ++cut[chunk];
            seen.add(destinations + node, other);
            seen.add(source, own);
          }
        }
      }
    });
  });
  return std::reduce(cut.begin(), cut.end(), std::uint64_t{0});
}

}  // namespace

Measures measure(const Adjacency& graph, const Constraints& constraints,
                 std::span<const std::uint32_t> part_of, std::uint32_t parts, Executor& executor) {
  std::vector<Counted> counted((graph.vertices() + chunk_vertices - 1) / chunk_vertices);
  graph.lists().visit([&](auto ids) {
    executor.parallel_for(counted.size(), [&](std::size_t i) {
      const auto begin = i * chunk_vertices;
      const auto end = std::min(begin + chunk_vertices, graph.vertices());
      counted[i] = count(graph, ids, part_of, parts, begin, end);
    });
  });
  Measures measures;
  for (const auto& chunk : counted) {
    measures.cut_edges += chunk.cut_entries;
    measures.communication_volume += chunk.volume;
  }
  measures.cut_edges /= graph.entries_per_edge();
  measures.balance = balance_of(constraints, part_of, parts);
  return measures;
}

Measures measure(const GraphStore& graph, const Constraints& constraints,
                 std::span<const std::uint32_t> part_of, std::uint32_t parts, Executor& executor) {
  Measures measures;
  std::vector<std::uint64_t> seen(part_of.size());
  for (std::uint32_t first = 0; first < parts; first += parts_per_pass) {
    std::ranges::fill(seen, 0U);
    std::uint64_t cut = 0;
    for (std::size_t e = 0; e < graph.info().edge_types.size(); ++e) {
      cut += see_parts(graph, e, {part_of, first, seen}, executor);
    }
    measures.cut_edges = cut;  // the same in every pass
    for (const auto parts_seen : seen) {
      measures.communication_volume += static_cast<std::uint64_t>(std::popcount(parts_seen));
    }
  }
  measures.balance = balance_of(constraints, part_of, parts);
  return measures;
}

}  // namespace troupe
