#include "runtime/base/assert.hpp"
#include "runtime/wire/codec_batch_key.hpp"
#include "runtime/wire/codec_batch_lists.hpp"
#include "runtime/wire/codec_batch_walks.hpp"
#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/codec_support.hpp"
#include "runtime/wire/message_fields.hpp"
#include "runtime/wire/write_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace troupe::net {
namespace {

/// The most that a seed is charged with for the answer (docs/protocol.md, windows and limits).
constexpr std::uint64_t most_seed_bytes = std::uint64_t{64} << 10;

Result<SampleBatch> read_sample_batch(const Frame& frame, wire::SampleBatch::Reader in) {
  const SegmentReader segments(frame, "SampleBatch");
  TROUPE_RETURN_IF_ERROR(segments.at_most(3));
  SampleBatch out;
  TROUPE_ASSIGN_OR_RETURN(out.key, read_key("SampleBatch", in.getKey()));
  out.seed_type = static_cast<NodeTypeId>(in.getSeedType());
  out.flow = in.getFlow();
  const auto options = static_cast<unsigned>(in.getOptions());
  if (options > static_cast<unsigned>(wire::BatchOptions::JOB)) {
    return corrupt_message("SampleBatch",
                           fmt::format("options: expected own (0) or job (1), found {}", options));
  }
  out.options = static_cast<BatchOptions>(options);
  TROUPE_ASSIGN_OR_RETURN(const IdList seeds, segments.ids(0, in.getSeedWidth()));
  out.seeds = unpack_ids(seeds);
  TROUPE_ASSIGN_OR_RETURN(out.times, segments.pooled<std::int64_t>(1));
  TROUPE_ASSIGN_OR_RETURN(auto labels, segments.pooled<float>(2));
  const auto seed_count = out.seeds.size() / (in.getLinks() ? 2 : 1);
  if (!out.times.empty() && out.times.size() != seed_count) {
    return corrupt_message("SampleBatch", fmt::format("times: expected {} or none, found {}",
                                                      seed_count, out.times.size()));
  }
  const auto most_labels = in.getLinks() ? seed_count : 0;
  if (!labels.empty() && labels.size() != most_labels) {
    return corrupt_message("SampleBatch", fmt::format("labels: expected {} or none, found {}",
                                                      most_labels, labels.size()));
  }
  if (in.getLinks()) {
    TROUPE_RETURN_IF_ERROR(
        expect_equal("SampleBatch", "ends of links", 2 * seed_count, out.seeds.size()));
    const auto middle = out.seeds.begin() + static_cast<std::ptrdiff_t>(seed_count);
    out.links = {.edge_type = static_cast<EdgeTypeId>(in.getEdgeType()),
                 .sources = {out.seeds.begin(), middle},
                 .destinations = {middle, out.seeds.end()},
                 .times = std::exchange(out.times, {}),
                 .labels = std::move(labels)};
    out.seeds.clear();
  }
  return out;
}

/// Nodes and edges that a seed brings with it at most, if no node is reached twice.
struct Growth {
  std::uint64_t nodes = 1;
  std::uint64_t edges = 0;
};
Growth growth_of(const SampleOptions& options) {
  Growth growth;
  if (options.walks) {
    growth.nodes = saturating_mul(options.walks->per_seed, options.walks->length + 1);
    return growth;
  }
  std::uint64_t frontier = 1;
  for (const auto& of_hop : options.fanout) {
    std::uint64_t drawn = 0;
    for (const auto fanout : of_hop) {
      drawn += fanout < 0 ? assumed_degree : static_cast<std::uint64_t>(fanout);
    }
    const auto edges =
        saturating_mul(options.frontier == Frontier::fresh ? frontier : growth.nodes, drawn);
    growth.edges = saturating_add(growth.edges, edges);
    growth.nodes = saturating_add(growth.nodes, edges);
    frontier = edges;
  }
  return growth;
}

/// Of links, with the ends of the negative ones that the options give.
std::uint64_t seeds_of(const SampleBatch& message) {
  if (!message.links) {
    return message.seeds.size();
  }
  const bool known = message.sample && message.sample->links;
  const auto positives = message.links->sources.size();
  if (known && message.sample->links->shared) {
    const auto& chunks = message.sample->links->shared->chunks;
    return saturating_add(saturating_mul(positives, 2),
                          saturating_mul(chunks.chunks_of(positives), chunks.negatives));
  }
  const auto drawn = known ? message.sample->links->negatives.drawn() : 1;
  if (known && message.sample->walks) {  // pairs share their nodes
    const auto& walks = *message.sample->walks;
    const auto places = walks.per_seed * (std::uint64_t{walks.length} + 1);
    const auto pairs =
        saturating_mul(places, std::uint64_t{2} * std::min(walks.window, walks.length));
    return saturating_mul(saturating_mul(positives, pairs), saturating_add(1, drawn));
  }
  return saturating_mul(positives, saturating_add(2, drawn));
}

// ---- ready batches ----

/// Rows of a batch in their order: of the node types, then of the edge types.
std::vector<const Matrix*> feature_rows(const Batch& batch) {
  std::vector<const Matrix*> rows;
  for (const auto& of_type : batch.rows) {
    rows.push_back(&of_type.features);
  }
  for (const auto& of_type : batch.edge_features) {
    rows.push_back(&of_type);
  }
  return rows;
}

/// Those that are a segment of their own.
std::size_t rows_apart(const std::vector<const Matrix*>& rows) {
  std::vector<std::uint64_t> sizes;
  std::ranges::transform(rows, std::back_inserter(sizes),
                         [](const Matrix* of_type) { return of_type->view().size(); });
  return largest(sizes);
}

Segment pack_other_rows(const Batch& batch, std::size_t apart) {
  PooledVector<float> numbers;
  const auto add = [&](const Matrix& rows) {
    const auto flat = rows.view().flat();
    numbers.insert(numbers.end(), flat.begin(), flat.end());
  };
  for (std::size_t t = 0; t < batch.rows.size(); ++t) {
    if (t != apart) {
      add(batch.rows[t].features);
    }
  }
  add(batch.targets);
  for (std::size_t e = 0; e < batch.edge_features.size(); ++e) {
    if (batch.rows.size() + e != apart) {
      add(batch.edge_features[e]);
    }
  }
  return numbers.empty() ? Segment{} : Segment::of(std::move(numbers));
}

void write_shape(const Batch& batch, wire::ReadyBatch::Builder out) {
  const auto& sampled = *batch.sampled;
  auto nodes = out.initNodes(static_cast<unsigned>(sampled.nodes.size()));
  for (unsigned t = 0; t < nodes.size(); ++t) {
    const auto& rows = batch.rows[t];
    nodes[t].setNodes(static_cast<std::uint32_t>(sampled.nodes[t].ids.size()));
    nodes[t].setFeatureRows(static_cast<std::uint32_t>(rows.features.rows()));
    nodes[t].setFeatureCols(static_cast<std::uint32_t>(rows.features.cols()));
    nodes[t].setOriginals(static_cast<std::uint32_t>(rows.original_ids.size()));
  }
  auto edges = out.initEdges(static_cast<unsigned>(sampled.edges.size()));
  for (unsigned e = 0; e < edges.size(); ++e) {
    const auto& of_type = sampled.edges[e];
    edges[e].setDestinationType(raw(of_type.destination_type));
    edges[e].setSourceType(raw(of_type.source_type));
    edges[e].setEdges(static_cast<std::uint32_t>(of_type.sources.size()));
    edges[e].setHasEdgeIds(!of_type.edge_ids.empty());
    edges[e].setHasWeights(!of_type.weights.empty());
    edges[e].setHasTimes(!of_type.times.empty());
    edges[e].setFeatureCols(e < batch.edge_features.size()
                                ? static_cast<std::uint32_t>(batch.edge_features[e].cols())
                                : 0);
  }
}

Packer pack_lists(const Batch& batch, const Widths& widths) {
  const auto& sampled = *batch.sampled;
  Packer lists;
  lists.add(sampled.seed_index);
  for (const auto& nodes : sampled.nodes) {
    lists.add(nodes.hop_end);
  }
  for (const auto& nodes : sampled.nodes) {
    lists.add(nodes.ids, widths.ids);
  }
  for (const auto& nodes : sampled.nodes) {
    lists.add(nodes.trees);
  }
  for (const auto& rows : batch.rows) {
    lists.add(rows.original_ids, widths.originals);
  }
  for (const auto& edges : sampled.edges) {
    lists.add(edges.offsets.dense());
    lists.add(edges.sources);
  }
  for (const auto& edges : sampled.edges) {
    lists.add(edges.edge_ids, widths.edge_ids);
    lists.add(edges.weights);
    lists.add(edges.times, sizeof(std::uint64_t));
  }
  lists.add(batch.labels, sizeof(std::uint64_t));
  if (sampled.links) {
    for (const auto* ends :
         {&sampled.links->sources, &sampled.links->destinations, &sampled.links->negative_sources,
          &sampled.links->negative_destinations}) {
      lists.add(*ends);
    }
    lists.add(sampled.links->labels);
    lists.add(sampled.links->times, sizeof(std::uint64_t));
    lists.add(sampled.links->candidates);
  }
  if (sampled.walks) {
    lists.add(sampled.walks->nodes);
    lists.add(sampled.walks->restarts);
  }
  for (const auto& column : batch.columns) {
    lists.add_bytes(column.values.bytes);
  }
  return lists;
}

void write_links(const BatchLinks& links, wire::ReadyBatch::Links::Builder out) {
  out.setEdgeType(raw(links.edge_type));
  out.setSourceType(raw(links.source_type));
  out.setDestinationType(raw(links.destination_type));
  out.setPositives(static_cast<std::uint32_t>(links.sources.size()));
  out.setNegatives(static_cast<std::uint32_t>(links.negative_sources.size()));
  out.setHasLabels(!links.labels.empty());
  out.setHasTimes(!links.times.empty());
  out.setEdgesDrawn(links.edges_drawn);
  out.setCandidates(static_cast<std::uint32_t>(links.candidates.size()));
}

void write_columns(const Batch& batch, wire::ReadyBatch::Builder out) {
  auto columns = out.initColumns(static_cast<unsigned>(batch.columns.size()));
  for (unsigned i = 0; i < columns.size(); ++i) {
    const auto& column = batch.columns[i];
    columns[i].setOfEdges(column.of_edges);
    columns[i].setType(column.type);
    columns[i].setName(column.info.name);
    columns[i].setDtype(std::string(to_string(column.info.dtype)));
    auto shape = columns[i].initShape(static_cast<unsigned>(column.info.shape.size()));
    for (unsigned k = 0; k < shape.size(); ++k) {
      shape.set(k, column.info.shape[k]);
    }
  }
}

}  // namespace

void encode_by_hand(const SampleBatch& message, Frame& frame) {
  const auto& links = message.links;
  IdList seeds = pack_lists(
      links ? std::vector{&links->sources, &links->destinations} : std::vector{&message.seeds},
      [](const auto* list) -> const auto& { return *list; });
  write_message<wire::SampleBatch>(frame, [&](wire::SampleBatch::Builder out) {
    write_key(message.key, out.initKey());
    out.setSeedType(raw(message.seed_type));
    out.setOptions(message.options == BatchOptions::job ? wire::BatchOptions::JOB
                                                        : wire::BatchOptions::OWN);
    out.setSeedWidth(seeds.width_bytes);
    out.setFlow(message.flow);
    out.setLinks(links.has_value());
    out.setEdgeType(links ? raw(links->edge_type) : 0);
  });
  const auto& times = links ? links->times : message.times;
  const bool has_labels = links && !links->labels.empty();
  frame.segments = {std::move(seeds.segment)};
  if (!times.empty() || has_labels) {
    frame.segments.push_back(copy_segment(times));
  }
  if (has_labels) {
    frame.segments.push_back(copy_segment(links->labels));
  }
}

Result<SampleBatch> decode_by_hand(const Frame& frame, ReadAs<SampleBatch>) {
  return read_message<SampleBatch, wire::SampleBatch>(
      frame, "SampleBatch", [&](auto in) { return read_sample_batch(frame, in); });
}

std::uint64_t reply_bytes(const SampleBatch& message) {
  std::uint64_t seed_bytes = most_seed_bytes;
  if (message.sample && message.collect) {
    std::uint64_t cols = 0;
    for (const auto& decoder : message.collect->decoders) {
      cols = std::max(cols, decoder.cols());
    }
    const auto growth = growth_of(*message.sample);
    std::uint64_t node_bytes = saturating_add(saturating_mul(cols, sizeof(float)), 40);
    std::uint64_t edge_cols = 0;
    for (const auto& decoder : message.collect->edge_decoders) {
      edge_cols = std::max(edge_cols, decoder.cols());
    }
    // Entry numbers stay behind.
    std::uint64_t edge_bytes = saturating_add(saturating_mul(edge_cols, sizeof(float)),
                                              4 + message.sample->edge_data.stored().bytes());
    for (const auto& column : message.collect->columns) {
      auto& bytes = column.table.kind == TableName::Kind::node_column ? node_bytes : edge_bytes;
      bytes = saturating_add(bytes, column.info.row_bytes());
    }
    const auto& labels = message.collect->label_bytes;
    const auto type = raw(message.seed_type);
    const auto reached = saturating_add(saturating_mul(growth.nodes, node_bytes),
                                        saturating_mul(growth.edges, edge_bytes));
    seed_bytes =
        std::min(seed_bytes, saturating_add(reached, type < labels.size() ? labels[type] : 0));
  }
  return saturating_add(saturating_mul(seeds_of(message), seed_bytes), small_reply_bytes);
}

void encode_by_hand(const ReadyBatch& message, Frame& frame) {
  const auto& batch = message.batch;
  TROUPE_ASSERT(
      batch.sampled && batch.rows.size() == batch.sampled->nodes.size() && !batch.rows.empty(),
      "a batch has rows of every node type", batch.rows.size());
  const auto& sampled = *batch.sampled;
  const Widths widths{width_of(sampled.nodes, &BatchNodes::ids),
                      width_of(batch.rows, &BatchRows::original_ids),
                      width_of(sampled.edges, &BatchEdges::edge_ids)};
  write_message<wire::ReadyBatch>(frame, [&](wire::ReadyBatch::Builder out) {
    write_key(sampled.key, out.initKey());
    out.setFrontier(sampled.frontier == Frontier::fresh ? wire::ReadyBatch::Frontier::FRESH
                                                        : wire::ReadyBatch::Frontier::ALL);
    out.setHops(static_cast<std::uint8_t>(sampled.hops));
    out.setSeedType(raw(sampled.seed_type));
    out.setSeeds(static_cast<std::uint32_t>(sampled.seed_index.size()));
    out.setDisjoint(sampled.disjoint);
    out.setSubgraph(static_cast<wire::ReadyBatch::Subgraph>(sampled.subgraph));
    write_shape(batch, out);
    out.setIdWidth(widths.ids);
    out.setOriginalWidth(widths.originals);
    out.setEdgeIdWidth(widths.edge_ids);
    out.setHasLabels(!batch.labels.empty());
    out.setTargetCols(static_cast<std::uint32_t>(batch.targets.cols()));
    out.setHasLinks(sampled.links.has_value());
    if (sampled.links) {
      write_links(*sampled.links, out.initLinks());
    }
    out.setHasWalks(sampled.walks.has_value());
    if (sampled.walks) {
      write_walks(*sampled.walks, out.initWalks());
    }
    write_columns(batch, out);
    Segments none;
    write_struct(message.trace, out.initTrace(), none);
  });
  Packer lists = pack_lists(batch, widths);
  const auto rows = feature_rows(batch);
  const auto apart = rows_apart(rows);
  frame.segments = {lists.narrow(), lists.wide(), rows[apart]->share(),
                    pack_other_rows(batch, apart)};
}

}  // namespace troupe::net
