#include "runtime/base/assert.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/feature/batch_digester.hpp"
#include "runtime/graph/edge_data.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace troupe {
namespace {

/// The original ids of `places`, batch-local indices of nodes of one type.
void add_originals(DigestBuilder& digest, const BatchRows& rows,
                   std::span<const std::uint32_t> places) {
  digest.add(places.size());  // as one array, fed in pieces that stay in the cache
  std::array<OriginalId, 1024> piece;
  for (std::size_t first = 0; first < places.size(); first += piece.size()) {
    const auto of_piece = places.subspan(first, std::min(piece.size(), places.size() - first));
    std::ranges::transform(of_piece, piece.begin(),
                           [&](std::uint32_t place) { return rows.original_ids[place]; });
    digest.add_bytes(std::as_bytes(std::span(piece).first(of_piece.size())));
  }
}

/// Edges of each of the rows [first_row, end_row).
PooledVector<std::uint32_t> counts_of(const RowOffsets& offsets, std::uint32_t first_row,
                                      std::uint32_t end_row) {
  PooledVector<std::uint32_t> counts(end_row - first_row);
  if (const auto* const listed = offsets.listed()) {
    const auto& rows = listed->rows;
    const auto from = std::ranges::lower_bound(rows, first_row) - rows.begin();
    for (auto i = static_cast<std::size_t>(from); i < rows.size() && rows[i] < end_row; ++i) {
      counts[rows[i] - first_row] = listed->offsets[i + 1] - listed->offsets[i];
    }
    return counts;
  }
  const auto* const dense = offsets.data() + first_row;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    counts[i] = dense[i + 1] - dense[i];
  }
  return counts;
}

/// One hop along one edge type: neighbours per frontier node, their original ids, and the data of
/// edges that there are.
void add_hop(DigestBuilder& digest, const Batch& batch, const BatchEdges& edges,
             std::uint32_t hop) {
  const std::uint32_t first_row = edges.row_begin[hop];
  const std::uint32_t end_row = edges.row_begin[hop + 1];
  const auto counts = counts_of(edges.offsets, first_row, end_row);
  digest.add_array(std::span<const std::uint32_t>(counts));
  const std::uint32_t first = edges.offsets.before(first_row);
  const std::uint32_t size = edges.offsets.before(end_row) - first;
  add_originals(digest, batch.rows[raw(edges.source_type)],
                std::span(edges.sources).subspan(first, size));
  each_stored_datum(
      [&]<class T>(const PooledVector<T>& values) {
        if (!values.empty()) {
          digest.add_array(std::span<const T>(values).subspan(first, size));
        }
      },
      edges);
}

/// Ends of positive and negative links, labels and times.
void add_links(DigestBuilder& digest, const Batch& batch) {
  const auto& links = *batch.sampled->links;
  const auto& sources = batch.rows[raw(links.source_type)];
  const auto& destinations = batch.rows[raw(links.destination_type)];
  add_originals(digest, sources, links.sources);
  add_originals(digest, destinations, links.destinations);
  add_originals(digest, sources, links.negative_sources);
  add_originals(digest, destinations, links.negative_destinations);
  if (!links.candidates.empty()) {
    const bool tail = replaced_in(batch.sampled->key) == ReplacedEnd::tail;
    add_originals(digest, tail ? destinations : sources, links.candidates);
  }
  digest.add_array(std::span<const float>(links.labels));
  digest.add_array(std::span<const std::int64_t>(links.times));
}

/// Original ids of the nodes of walks, 2^64 - 1 where there is none, and restarts.
void add_walks(DigestBuilder& digest, const Batch& batch) {
  const auto& walks = *batch.sampled->walks;
  PooledVector<OriginalId> nodes(walks.nodes.size(), OriginalId{~std::uint64_t{0}});
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    if (walks.nodes[place] != BatchWalks::no_node) {
      const auto type = walks.column_types[place % walks.columns()];
      nodes[place] = batch.rows[raw(type)].original_ids[walks.nodes[place]];
    }
  }
  digest.add_array(std::span<const OriginalId>(nodes));
  digest.add_array(std::span<const std::uint32_t>(walks.restarts));
}

/// The first node type that has fewer or more original ids than nodes.
std::optional<std::size_t> without_original_ids(const Batch& batch) {
  for (std::size_t t = 0; t < batch.rows.size(); ++t) {
    if (batch.rows[t].original_ids.size() != batch.sampled->nodes[t].ids.size()) {
      return t;
    }
  }
  return std::nullopt;
}

}  // namespace

void BatchDigester::begin(const Batch& batch) {
  if (std::exchange(begun_, true)) {
    return;
  }
  const SampledBatch& sampled = *batch.sampled;
  TROUPE_ASSERT(batch.rows.size() == sampled.nodes.size(), "rows of node types", batch.rows.size(),
                sampled.nodes.size());
  const auto type = without_original_ids(batch);
  TROUPE_ASSERT(!type, "a digest needs original ids: type", type.value_or(0));
  if (sampled.links) {
    add_links(digest_, batch);
  } else {
    add_originals(digest_, batch.rows[raw(sampled.seed_type)], sampled.seed_index);
  }
  if (sampled.walks) {
    add_walks(digest_, batch);
  }
  for (std::uint32_t hop = 0; hop < sampled.hops; ++hop) {
    for (const auto& edges : sampled.edges) {
      add_hop(digest_, batch, edges, hop);
    }
  }
}

/// Rows of `type_`, as one array of all of them.
void BatchDigester::feed_up_to(const Batch& batch, std::size_t rows) {
  const auto features = batch.rows[type_].features.view();
  if (!std::exchange(sized_, true)) {
    digest_.add(features.size());
  }
  if (rows > rows_) {
    digest_.add_bytes(std::as_bytes(
        features.flat().subspan(rows_ * features.cols, (rows - rows_) * features.cols)));
    rows_ = rows;
  }
}

void BatchDigester::feed_rows(const Batch& batch, std::size_t type, std::size_t rows) {
  begin(batch);
  if (mode_ != DigestMode::full) {
    return;
  }
  while (type_ < type) {
    feed_up_to(batch, batch.rows[type_].features.rows());
    ++type_;
    rows_ = 0;
    sized_ = false;
  }
  if (type < batch.rows.size()) {
    feed_up_to(batch, rows);
  }
}

BatchDigest BatchDigester::finish(const Batch& batch) {
  feed_rows(batch, batch.rows.size(), 0);
  if (mode_ == DigestMode::full) {
    for (const auto& rows : batch.edge_features) {
      if (rows.cols() > 0) {
        digest_.add_array(rows.view().flat());
      }
    }
    for (const auto& column : batch.columns) {
      digest_.add(column.values.bytes.size());
      digest_.add_bytes(column.values.bytes);
    }
    digest_.add_array(std::span<const std::int64_t>(batch.labels));
    digest_.add_array(batch.targets.view().flat());
  }
  return {mode_, digest_.digest()};
}

Digest digest_batch(const Batch& batch, DigestMode mode) {
  return mode == DigestMode::off ? Digest{} : BatchDigester(mode).finish(batch).value;
}

Digest digest_of_trained(const Batch& batch, DigestMode mode) {
  return batch.digest.mode == mode ? batch.digest.value : digest_batch(batch, mode);
}

Status check_original_ids(const Batch& batch) {
  const auto type = without_original_ids(batch);
  if (!type) {
    return ok_status();
  }
  return Error(Errc::data_corruption,
               fmt::format("batch {} of epoch {}: expected original ids of {} nodes of type {}, "
                           "found {}",
                           batch.sampled->key.number, batch.sampled->key.epoch,
                           batch.sampled->nodes[*type].ids.size(), *type,
                           batch.rows[*type].original_ids.size()));
}

}  // namespace troupe
