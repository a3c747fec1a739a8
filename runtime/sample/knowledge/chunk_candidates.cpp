#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/random_node.hpp"

#include <numeric>

namespace troupe {
namespace {

/// The global id of the rank's node at a place.
NodeId own_node(const CandidateNodes& nodes, std::uint64_t place) {
  for (const auto& range : nodes.own) {
    if (place < range.count) {
      return advance(range.first, place);
    }
    place -= range.count;
  }
  TROUPE_ASSERT(false, "place among a rank's nodes", place);
  return {};
}

}  // namespace

std::uint64_t nodes_drawn_from(const CandidateNodes& nodes) {
  return std::accumulate(
      nodes.own.begin(), nodes.own.end(), nodes.local() ? std::uint64_t{0} : nodes.count,
      [](std::uint64_t sum, const NodeRange& range) { return sum + range.count; });
}

std::vector<std::uint64_t> chunk_candidates(std::uint64_t job_seed, const BatchKey& key,
                                            NodeTypeId type, std::uint64_t chunks,
                                            std::uint32_t negatives, const CandidateNodes& nodes) {
  const auto below = nodes_drawn_from(nodes);
  const auto stream = stream_key(job_seed, {.domain = Domain::negatives,
                                            .type = raw(type),
                                            .hop = 0,
                                            .epoch = key.stream_epoch(),
                                            .batch = key.number});
  std::vector<std::uint64_t> candidates;
  candidates.reserve(chunks * negatives);
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t number = 0; number < negatives; ++number) {
      const auto drawn = random_original_id({stream, chunk, number}, below);
      candidates.push_back(nodes.local() ? raw(own_node(nodes, drawn)) : drawn);
    }
  }
  return candidates;
}

}  // namespace troupe
