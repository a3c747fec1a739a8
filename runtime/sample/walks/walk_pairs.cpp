#include "runtime/sample/walks/walk_pairs.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {
namespace {

void add_pairs(const std::vector<std::uint32_t>& sequence, std::uint32_t window, WalkPairs& pairs) {
  for (std::size_t center = 0; center < sequence.size(); ++center) {
    const std::size_t first = center - std::min<std::size_t>(center, window);
    const std::size_t end = std::min(sequence.size(), center + window + 1);
    for (std::size_t context = first; context < end; ++context) {
      if (context != center) {
        pairs.centers.push_back(sequence[center]);
        pairs.contexts.push_back(sequence[context]);
      }
    }
  }
}

}  // namespace

WalkPairs walk_pairs(const BatchWalks& walks, std::uint32_t window) {
  WalkPairs pairs;
  const auto columns = walks.columns();
  std::size_t restart = 0;
  std::vector<std::uint32_t> sequence;
  for (std::uint32_t first = 0; first < walks.nodes.size(); first += columns) {
    sequence.clear();
    for (std::uint32_t place = first; place < first + columns; ++place) {
      if (restart < walks.restarts.size() && walks.restarts[restart] == place) {
        ++restart;
        add_pairs(sequence, window, pairs);
        sequence = {first};
      }
      if (walks.nodes[place] != BatchWalks::no_node) {
        sequence.push_back(place);
      }
    }
    add_pairs(sequence, window, pairs);
  }
  return pairs;
}

LinkEndTypes turn_of_pairs(const LinkOptions& options, BatchKey key, NodeTypeId seeds) {
  const auto& types = options.pair_types;
  return types.empty() ? LinkEndTypes{seeds, seeds}
                       : types[(key.epoch + key.number) % types.size()];
}

PositiveLinks links_of_pairs(const SampledBatch& batch, EdgeTypeId type, LinkEndTypes types,
                             std::uint32_t window) {
  const auto& walks = *batch.walks;
  const auto& centers = batch.nodes[raw(types.source)].ids;
  const auto& contexts = batch.nodes[raw(types.destination)].ids;
  const auto type_at = [&](std::uint32_t place) {
    return walks.column_types[place % walks.columns()];
  };
  const auto pairs = walk_pairs(walks, window);
  PositiveLinks links;
  links.edge_type = type;
  for (std::size_t i = 0; i < pairs.centers.size(); ++i) {
    if (type_at(pairs.centers[i]) != types.source ||
        type_at(pairs.contexts[i]) != types.destination) {
      continue;
    }
    const NodeId center = centers[walks.nodes[pairs.centers[i]]];
    const NodeId context = contexts[walks.nodes[pairs.contexts[i]]];
    if (types.source != types.destination || center != context) {
      links.sources.push_back(center);
      links.destinations.push_back(context);
    }
  }
  return links;
}

}  // namespace troupe
