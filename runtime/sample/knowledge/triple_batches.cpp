#include "runtime/sample/knowledge/triple_batches.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace troupe {

Result<std::uint64_t> count_relations(const SplitInfo& split, std::span<const LinkList> roles) {
  for (const auto& [role, links] : split.links) {
    if (links.relations != 0) {
      return links.relations;
    }
    if (!links.has_labels && links.count > 0) {
      return Error(
          Errc::invalid_argument,
          fmt::format("split \"{}\": expected {} links with relations as labels, found none",
                      split.name, role));
    }
  }
  std::uint64_t relations = 0;
  for (const auto& links : roles) {
    for (const float label : links.labels()) {
      const bool whole = label >= 0 && label < static_cast<float>(store_layout::most_relations) &&
                         label == std::trunc(label);
      if (!whole) {
        return Error(
            Errc::invalid_argument,
            fmt::format("split \"{}\": expected relations as labels of links, whole numbers "
                        "below {}, found {}",
                        split.name, store_layout::most_relations, label));
      }
      relations = std::max(relations, static_cast<std::uint64_t>(label) + 1);
    }
  }
  return relations;
}

TripleBatches::TripleBatches(SeedOrder order, const GraphInfo& graph, std::uint64_t job_seed,
                             const ChunkOptions& options, CandidateNodes tails,
                             CandidateNodes heads)
    : order_(std::move(order)),
      job_seed_(job_seed),
      options_(options),
      tails_(std::move(tails)),
      heads_(std::move(heads)) {
  TROUPE_ASSERT(order_.links() != nullptr, "an order of triples");
  TROUPE_ASSERT(options_.triples >= 1, "triples of a chunk", options_.triples);
  TROUPE_ASSERT(
      options_.negatives == 0 || (nodes_drawn_from(tails_) > 0 && nodes_drawn_from(heads_) > 0),
      "nodes to draw candidates from", nodes_drawn_from(tails_), nodes_drawn_from(heads_));
  const auto& type = graph.edge_types[raw(order_.links()->edge_type())];
  tail_type_ = type.destination;
  head_type_ = type.source;
}

TripleBatch TripleBatches::batch(const BatchKey& key) const {
  const auto seeds = order_.seeds_of(key.epoch, key.number);
  const auto& links = *seeds.links;
  TROUPE_ASSERT(links.labels.size() == links.sources.size(), "relations of links",
                links.labels.size(), links.sources.size());
  TripleBatch batch;
  batch.replaced = replaced_in(key);
  batch.heads.assign(links.sources.begin(), links.sources.end());
  batch.tails.assign(links.destinations.begin(), links.destinations.end());
  for (const float label : links.labels) {
    batch.relations.push_back(static_cast<std::uint32_t>(label));
  }
  batch.chunks = options_.chunks_of(batch.heads.size());
  const bool tail = batch.replaced == ReplacedEnd::tail;
  batch.candidates = chunk_candidates(job_seed_, key, tail ? tail_type_ : head_type_, batch.chunks,
                                      options_.negatives, tail ? tails_ : heads_);
  return batch;
}

}  // namespace troupe
