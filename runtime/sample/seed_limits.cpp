#include "runtime/sample/seed_limits.hpp"

#include "runtime/base/saturating.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace troupe {
namespace {

constexpr std::uint64_t most_seeds = std::numeric_limits<std::uint32_t>::max();

Status check_places(std::uint64_t places, const char* what) {
  return places <= most_seeds
             ? ok_status()
             : Status(Error(Errc::invalid_argument, fmt::format("expected at most {} {}, found {}",
                                                                most_seeds, what, places)));
}

/// Ranks draw candidates from nodes of their own parts, which are of one type.
Status check_own_nodes(const PartitionBook& book, const SharedCandidates& shared, NodeTypeId type) {
  const auto count = book.count(type);
  for (const auto& of_rank : shared.of_ranks) {
    for (const auto& range : of_rank) {
      if (plus(raw(range.first), range.count) > count) {
        return Error(Errc::invalid_argument,
                     fmt::format("expected links whose ends are of the type that candidates are "
                                 "drawn from, found ends of node type {}, which has {} nodes",
                                 raw(type), count));
      }
    }
  }
  return ok_status();
}

Status check_degrees(const NegativeOptions& negatives, const LinkOptions& links,
                     EdgeTypeId edge_type) {
  if (!negatives.by_degree || negatives.kind == Negatives::none ||
      links.edges_before.contains(edge_type)) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("expected links of an edge type that negative links are drawn for by "
                           "degree, found edge type {}",
                           raw(edge_type)));
}

}  // namespace

Status check_seed_count(const GraphInfo& graph, const PartitionBook& book,
                        const SampleOptions& options, std::uint64_t seeds) {
  TROUPE_RETURN_IF_ERROR(check_places(seeds, "seeds"));
  for (std::size_t type = 0; options.disjoint && type < graph.node_types.size(); ++type) {
    const auto nodes = book.count(static_cast<NodeTypeId>(type));
    if (times(seeds, nodes) == unlimited) {
      return Error(Errc::invalid_argument,
                   fmt::format("expected fewer than 2^64 nodes in the disjoint trees of a batch, "
                               "found {} seeds and {} nodes of type {}",
                               seeds, nodes, type));
    }
  }
  return ok_status();
}

Status check_walk_seeds(const GraphInfo& graph, const SampleOptions& options, NodeTypeId type,
                        std::uint64_t seeds) {
  const auto& walks = *options.walks;
  const auto first = graph.edge_types[raw(walks.along.front())].list_type(options.dir);
  if (type != first) {
    return Error(Errc::invalid_argument,
                 fmt::format("expected seeds of node type {}, where walks begin, found type {}",
                             raw(first), raw(type)));
  }
  const auto count = times(seeds, walks.per_seed);
  if (times(count, walks.length + std::uint64_t{1}) >> 32 == 0 &&
      (!walks.second_order || count >> 24 == 0)) {
    return ok_status();
  }
  return Error(
      Errc::invalid_argument,
      fmt::format("expected fewer than {}, found {} walks of {} steps",
                  walks.second_order ? "2^24 walks in a batch with p or q, with 2^32 nodes on them"
                                     : "2^32 nodes on the walks of a batch",
                  count, walks.length));
}

Status check_link_seeds(const GraphInfo& graph, const PartitionBook& book,
                        const SampleOptions& options, const PositiveLinks& links,
                        LinkEndTypes types) {
  const auto& of_links = *options.links;
  const std::uint64_t positives = links.sources.size();
  std::uint64_t drawn = 0;
  if (const auto& shared = of_links.shared) {
    drawn = times(shared->chunks.chunks_of(positives), shared->chunks.negatives);
    TROUPE_RETURN_IF_ERROR(check_own_nodes(book, *shared, types.source));
    TROUPE_RETURN_IF_ERROR(check_own_nodes(book, *shared, types.destination));
  } else {
    const auto& negatives = of_links.negatives;
    TROUPE_RETURN_IF_ERROR(check_degrees(negatives, of_links, links.edge_type));
    drawn = times(positives, negatives.drawn());
    TROUPE_RETURN_IF_ERROR(check_places(negatives.strict ? times(drawn, negatives.tries) : drawn,
                                        "candidates for the ends of negative links in a batch"));
  }
  return check_seed_count(graph, book, options, plus(times(positives, 2), drawn));
}

}  // namespace troupe
