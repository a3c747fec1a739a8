#include "runtime/partition/measures.hpp"

#include "runtime/partition/part_loads.hpp"

#include <algorithm>

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

}  // namespace troupe
