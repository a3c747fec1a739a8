#include "runtime/partition/assign_hotness.hpp"

#include "runtime/partition/hotness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <tuple>

namespace troupe {
namespace {

constexpr std::uint64_t ranked_chunk_nodes = 8192;

struct Candidate {
  double score = 0;
  std::uint64_t node = 0;
  std::uint32_t part = 0;
};

/// Assigns the nodes [begin, begin + part_of.size()) of a type.
void assign_chunk(std::span<const Hotness> heat, std::size_t type, std::uint64_t begin,
                  std::span<PartId> part_of) {
  const auto parts = heat.size();
  std::vector<Candidate> candidates;
  for (std::uint64_t i = 0; i < part_of.size(); ++i) {
    double sum = 0;
    for (const auto& of_part : heat) {
      sum += of_part[type][begin + i];
    }
    for (std::uint32_t part = 0; part < parts; ++part) {
      const double own = heat[part][type][begin + i];
      candidates.push_back({static_cast<double>(parts) * own - sum, i, part});
    }
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.score, a.node, a.part) < std::tuple(-b.score, b.node, b.part);
  });
  const auto share = (part_of.size() + parts - 1) / parts;
  std::vector<std::uint64_t> taken(parts, 0);
  std::vector<bool> done(part_of.size(), false);
  for (const auto& candidate : candidates) {
    if (!done[candidate.node] && taken[candidate.part] < share) {
      done[candidate.node] = true;
      ++taken[candidate.part];
      part_of[candidate.node] = static_cast<PartId>(candidate.part);
    }
  }
}

}  // namespace

Result<Assignment> assign_by_hotness(const GraphStore& graph, const AssignOptions& options,
                                     Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto dealt,
                          deal_training_seeds(graph, options.more.split, options.more.hotness,
                                              options.parts, options.seed));
  if (dealt.back().count == 0) {
    const auto seeds =
        std::ranges::count_if(dealt, [](const HotnessSeeds& of_part) { return of_part.count > 0; });
    return Error(Errc::invalid_argument,
                 fmt::format("partition method \"hotness\": expected at least {} training seeds or "
                             "links, one per part, got {}",
                             options.parts, seeds));
  }
  std::vector<Hotness> heat;
  for (const auto& of_part : dealt) {
    TROUPE_ASSIGN_OR_RETURN(auto of_nodes,
                            node_hotness(graph, of_part, options.more.hotness, executor));
    heat.push_back(std::move(of_nodes));
  }
  Assignment assignment;
  for (std::size_t type = 0; type < graph.info().node_types.size(); ++type) {
    const auto count = graph.info().node_types[type].count;
    auto& part_of = assignment.emplace_back(count);
    executor.parallel_for(
        (count + ranked_chunk_nodes - 1) / ranked_chunk_nodes, [&](std::size_t chunk) {
          const auto begin = chunk * ranked_chunk_nodes;
          assign_chunk(
              heat, type, begin,
              std::span(part_of).subspan(begin, std::min(ranked_chunk_nodes, count - begin)));
        });
  }
  return assignment;
}

}  // namespace troupe
