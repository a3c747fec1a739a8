#include "runtime/graph/store_layout.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"
#include "runtime/wire/codec_batch_key.hpp"
#include "runtime/wire/codec_batch_lists.hpp"
#include "runtime/wire/codec_batch_walks.hpp"
#include "runtime/wire/codec_by_hand.hpp"
#include "runtime/wire/message_fields.hpp"
#include "runtime/wire/read_fields.hpp"

#include <algorithm>

namespace troupe::net {
namespace {

Result<Widths> read_widths(wire::ReadyBatch::Reader in) {
  const Widths widths{in.getIdWidth(), in.getOriginalWidth(), in.getEdgeIdWidth()};
  for (const unsigned width : {widths.ids, widths.originals, widths.edge_ids}) {
    if (width != 4 && width != 8) {
      return corrupt_batch(fmt::format("width of ids: expected 4 or 8 bytes, found {}", width));
    }
  }
  return widths;
}

// ---- what was sampled ----

struct Shape {
  std::vector<std::uint32_t> nodes;      ///< by node type
  std::vector<std::uint32_t> originals;  ///< by node type
  std::vector<std::uint32_t> feature_rows;
  std::vector<std::uint32_t> feature_cols;
  std::vector<std::uint32_t> edge_feature_cols;  ///< by edge type
};

Shape read_shape(wire::ReadyBatch::Reader in) {
  Shape shape;
  for (const auto of_type : in.getNodes()) {
    shape.nodes.push_back(of_type.getNodes());
    shape.originals.push_back(of_type.getOriginals());
    shape.feature_rows.push_back(of_type.getFeatureRows());
    shape.feature_cols.push_back(of_type.getFeatureCols());
  }
  for (const auto of_type : in.getEdges()) {
    shape.edge_feature_cols.push_back(of_type.getFeatureCols());
  }
  return shape;
}

Result<SampledBatch> read_header(wire::ReadyBatch::Reader in) {
  SampledBatch out;
  TROUPE_ASSIGN_OR_RETURN(out.key, read_key(ready_batch_name, in.getKey()));
  const auto frontier = static_cast<unsigned>(in.getFrontier());
  if (frontier > static_cast<unsigned>(wire::ReadyBatch::Frontier::ALL)) {
    return corrupt_batch(
        fmt::format("frontier: expected fresh (0) or all (1), found {}", frontier));
  }
  out.frontier = static_cast<Frontier>(frontier);
  out.disjoint = in.getDisjoint();
  out.hops = in.getHops();
  const auto subgraph = static_cast<unsigned>(in.getSubgraph());
  if (subgraph > static_cast<unsigned>(wire::ReadyBatch::Subgraph::INDUCED) ||
      (subgraph > 0 && out.hops != 1)) {
    return corrupt_batch(fmt::format(
        "subgraph: expected directional (0), or bidirectional (1) or induced (2) with one hop, "
        "found {} with {} hops",
        subgraph, out.hops));
  }
  out.subgraph = static_cast<Subgraph>(subgraph);
  if (in.getNodes().size() > most_types || in.getEdges().size() > most_types) {
    return corrupt_batch(
        fmt::format("types: expected at most {}, found {} of nodes and {} of edges", most_types,
                    in.getNodes().size(), in.getEdges().size()));
  }
  if (in.getSeedType() >= in.getNodes().size()) {
    return corrupt_batch(fmt::format("seed type: expected one of {} node types, found {}",
                                     in.getNodes().size(), in.getSeedType()));
  }
  out.seed_type = static_cast<NodeTypeId>(in.getSeedType());
  return out;
}

/// Ends of hops ascend to the number of nodes; only the seeds' types have nodes before the first hop.
Status check_ends(const SampledBatch& batch, std::size_t type, std::uint64_t nodes) {
  const auto& ends = batch.nodes[type].hop_end;
  if (!std::ranges::is_sorted(ends) || ends.back() != nodes) {
    return corrupt_batch(
        fmt::format("ends of hops of node type {}: expected them to rise to {}, found {} "
                    "at the end",
                    type, nodes, ends.back()));
  }
  const bool has_seeds =
      type == raw(batch.seed_type) || (batch.links && type == raw(batch.links->destination_type));
  const std::uint64_t most = has_seeds ? batch.seed_index.size() : 0;
  if (ends.front() > most) {
    return corrupt_batch(
        fmt::format("nodes of type {} before the first hop: expected at most {}, found "
                    "{}",
                    type, most, ends.front()));
  }
  return ok_status();
}

Status check_below(std::span<const std::uint32_t> places, std::uint64_t end,
                   std::string_view what) {
  const auto most = places.empty() ? 0 : std::ranges::max(places);
  if (!places.empty() && most >= end) {
    return corrupt_batch(fmt::format("{}: expected indices below {}, found {}", what, end, most));
  }
  return ok_status();
}

Status read_nodes(Unpacker& lists, const Shape& shape, std::uint32_t seeds, unsigned width,
                  SampledBatch& out) {
  TROUPE_ASSIGN_OR_RETURN(out.seed_index, lists.take<std::uint32_t>("seeds", seeds));
  for (std::size_t t = 0; t < out.nodes.size(); ++t) {
    TROUPE_ASSIGN_OR_RETURN(out.nodes[t].hop_end,
                            lists.take<std::uint32_t>("ends of hops", std::uint64_t{out.hops} + 1));
    TROUPE_RETURN_IF_ERROR(check_ends(out, t, shape.nodes[t]));
  }
  for (std::size_t t = 0; t < out.nodes.size(); ++t) {
    TROUPE_ASSIGN_OR_RETURN(out.nodes[t].ids,
                            lists.take<NodeId>("node ids", shape.nodes[t], width));
  }
  for (std::size_t t = 0; out.disjoint && t < out.nodes.size(); ++t) {
    TROUPE_ASSIGN_OR_RETURN(out.nodes[t].trees, lists.take<std::uint32_t>("trees", shape.nodes[t]));
    TROUPE_RETURN_IF_ERROR(check_below(out.nodes[t].trees, out.seed_index.size(), "trees"));
  }
  auto seeds_end = out.nodes[raw(out.seed_type)].hop_end.front();
  if (out.links) {
    seeds_end = std::max(seeds_end, out.nodes[raw(out.links->destination_type)].hop_end.front());
  }
  return check_below(out.seed_index, seeds_end, "seeds");
}

Status check_links(wire::ReadyBatch::Links::Reader in, const SampledBatch& out) {
  const std::uint64_t positives = in.getPositives();
  const auto types = out.nodes.size();
  const auto node_type = std::max(in.getSourceType(), in.getDestinationType());
  if (in.getSourceType() != raw(out.seed_type) || node_type >= types) {
    return corrupt_batch(
        fmt::format("links: expected sources of type {} and node types below {}, "
                    "found {} and {}",
                    raw(out.seed_type), types, in.getSourceType(), in.getDestinationType()));
  }
  if (positives == 0 ? in.getNegatives() != 0 : in.getNegatives() % positives != 0) {
    return corrupt_batch(fmt::format("links: expected a multiple of {} negative ones, found {}",
                                     positives, in.getNegatives()));
  }
  return ok_status();
}

/// Their types and sizes; the lists come last.
Status read_link_types(wire::ReadyBatch::Reader in, SampledBatch& out) {
  if (!in.getHasLinks()) {
    return ok_status();
  }
  const auto links = in.getLinks();
  TROUPE_RETURN_IF_ERROR(check_links(links, out));
  auto& to = out.links.emplace();
  to.edge_type = static_cast<EdgeTypeId>(links.getEdgeType());
  to.source_type = static_cast<NodeTypeId>(links.getSourceType());
  to.destination_type = static_cast<NodeTypeId>(links.getDestinationType());
  to.edges_drawn = links.getEdgesDrawn();
  return ok_status();
}

Status read_links(Unpacker& lists, wire::ReadyBatch::Reader in, SampledBatch& out) {
  if (!out.links) {
    return ok_status();
  }
  const auto from = in.getLinks();
  auto& links = *out.links;
  struct Ends {
    PooledVector<std::uint32_t>& list;
    std::uint32_t size;
    NodeTypeId type;
  };
  for (const auto& [list, size, type] :
       {Ends{links.sources, from.getPositives(), links.source_type},
        Ends{links.destinations, from.getPositives(), links.destination_type},
        Ends{links.negative_sources, from.getNegatives(), links.source_type},
        Ends{links.negative_destinations, from.getNegatives(), links.destination_type}}) {
    TROUPE_ASSIGN_OR_RETURN(list, lists.take<std::uint32_t>("ends of links", size));
    TROUPE_RETURN_IF_ERROR(
        check_below(list, out.nodes[raw(type)].hop_end.front(), "ends of links"));
  }
  TROUPE_ASSIGN_OR_RETURN(
      links.labels,
      lists.take<float>("labels of links", from.getHasLabels() ? from.getPositives() : 0));
  TROUPE_ASSIGN_OR_RETURN(
      links.times,
      lists.take<std::int64_t>("times of links", from.getHasTimes() ? from.getPositives() : 0,
                               sizeof(std::uint64_t)));
  TROUPE_ASSIGN_OR_RETURN(links.candidates,
                          lists.take<std::uint32_t>("candidates", from.getCandidates()));
  const bool tail = replaced_in(out.key) == ReplacedEnd::tail;
  const auto type = tail ? links.destination_type : links.source_type;
  return check_below(links.candidates, out.nodes[raw(type)].hop_end.front(), "candidates");
}

/// Rows of each hop: one for each node of the frontier, or of the batch where it is closed.
Status set_row_begin(const SampledBatch& batch, BatchEdges& edges) {
  const auto& ends = batch.nodes[raw(edges.destination_type)].hop_end;
  if (batch.subgraph != Subgraph::directional) {
    edges.row_begin = {0, ends.back()};
    return ok_status();
  }
  std::uint64_t rows = 0;
  edges.row_begin = {0};
  for (std::uint32_t hop = 0; hop < batch.hops; ++hop) {
    const bool from_start = batch.frontier == Frontier::all || hop == 0;
    rows += ends[hop] - (from_start ? 0 : ends[hop - 1]);
    if (rows >> 32 != 0) {
      return corrupt_batch(fmt::format("rows: expected fewer than 2^32, found {}", rows));
    }
    edges.row_begin.push_back(static_cast<std::uint32_t>(rows));
  }
  return ok_status();
}

/// Offsets rise from 0 to the number of edges; a hop's neighbours are known when it is over.
Status check_edges(const SampledBatch& batch, const BatchEdges& edges) {
  const auto& offsets = edges.offsets;
  if (offsets.front() != 0 || !std::ranges::is_sorted(offsets) ||
      offsets.back() != edges.sources.size()) {
    return corrupt_batch(fmt::format("offsets: expected them to rise from 0 to {}, found {} to {}",
                                     edges.sources.size(), offsets.front(), offsets.back()));
  }
  const auto& ends = batch.nodes[raw(edges.source_type)].hop_end;
  for (std::uint32_t hop = 0; hop < batch.hops; ++hop) {
    const auto first = offsets[edges.row_begin[hop]];
    const auto end = offsets[edges.row_begin[hop + 1]];
    TROUPE_RETURN_IF_ERROR(check_below(std::span(edges.sources).subspan(first, end - first),
                                       ends[hop + 1], fmt::format("neighbours of hop {}", hop)));
  }
  return ok_status();
}

Status read_edges(Unpacker& lists, wire::ReadyBatch::Reader in, unsigned width, SampledBatch& out) {
  for (const auto of_type : in.getEdges()) {
    auto& edges = out.edges.emplace_back();
    edges.destination_type = static_cast<NodeTypeId>(of_type.getDestinationType());
    edges.source_type = static_cast<NodeTypeId>(of_type.getSourceType());
    const auto types = std::max(of_type.getDestinationType(), of_type.getSourceType());
    if (types >= out.nodes.size()) {
      return corrupt_batch(
          fmt::format("edges: expected node types below {}, found {}", out.nodes.size(), types));
    }
    TROUPE_RETURN_IF_ERROR(set_row_begin(out, edges));
    TROUPE_ASSIGN_OR_RETURN(
        edges.offsets,
        lists.take<std::uint32_t>("offsets", std::uint64_t{edges.row_begin.back()} + 1));
    TROUPE_ASSIGN_OR_RETURN(edges.sources,
                            lists.take<std::uint32_t>("neighbours", of_type.getEdges()));
    TROUPE_RETURN_IF_ERROR(check_edges(out, edges));
  }
  for (std::size_t e = 0; e < out.edges.size(); ++e) {
    const auto of_type = in.getEdges()[static_cast<unsigned>(e)];
    TROUPE_ASSIGN_OR_RETURN(
        out.edges[e].edge_ids,
        lists.take<EdgeId>("edge ids", of_type.getHasEdgeIds() ? of_type.getEdges() : 0, width));
    TROUPE_ASSIGN_OR_RETURN(
        out.edges[e].weights,
        lists.take<float>("weights", of_type.getHasWeights() ? of_type.getEdges() : 0));
    TROUPE_ASSIGN_OR_RETURN(
        out.edges[e].times,
        lists.take<std::int64_t>("times", of_type.getHasTimes() ? of_type.getEdges() : 0,
                                 sizeof(std::uint64_t)));
  }
  return ok_status();
}

// ---- what was collected ----

/// Rows are of all nodes, of the distinct seeds alone, or there are none.
Status check_count(const SampledBatch& batch, std::size_t type, std::string_view what,
                   std::uint64_t found) {
  const auto nodes = batch.nodes[type].ids.size();
  const auto seeds = batch.nodes[type].hop_end.front();
  if (found != 0 && found != nodes && found != seeds) {
    return corrupt_batch(fmt::format("{} of node type {}: expected 0, {} or {}, found {}", what,
                                     type, seeds, nodes, found));
  }
  return ok_status();
}

/// Rows of edges, which come last.
Status read_edge_features(const Shape& shape, std::size_t apart, RowCutter& largest_rows,
                          RowCutter& other_rows, Batch& out) {
  const auto& cols = shape.edge_feature_cols;
  if (std::ranges::all_of(cols, [](std::uint32_t of_type) { return of_type == 0; })) {
    return ok_status();
  }
  out.edge_features.resize(cols.size());
  for (std::size_t e = 0; e < cols.size(); ++e) {
    TROUPE_ASSIGN_OR_RETURN(
        out.edge_features[e],
        (out.rows.size() + e == apart ? largest_rows : other_rows)
            .take(cols[e] == 0 ? 0 : out.sampled->edges[e].sources.size(), cols[e]));
  }
  return ok_status();
}

Status read_features(const Frame& frame, const Shape& shape, std::uint32_t target_cols,
                     Batch& out) {
  const SegmentReader segments(frame, ready_batch_name);
  std::vector<std::uint64_t> sizes;
  for (std::size_t t = 0; t < out.rows.size(); ++t) {
    TROUPE_RETURN_IF_ERROR(check_count(*out.sampled, t, "feature rows", shape.feature_rows[t]));
    sizes.push_back(std::uint64_t{shape.feature_rows[t]} * shape.feature_cols[t]);
  }
  for (std::size_t e = 0; e < shape.edge_feature_cols.size(); ++e) {
    sizes.push_back(out.sampled->edges[e].sources.size() * shape.edge_feature_cols[e]);
  }
  const auto apart = largest(sizes);
  TROUPE_ASSIGN_OR_RETURN(auto first, segments.elements(2, sizeof(float)));
  TROUPE_ASSIGN_OR_RETURN(auto second, segments.elements(3, sizeof(float)));
  RowCutter largest_rows(std::move(first), "segment 2");
  RowCutter other_rows(std::move(second), "segment 3");
  for (std::size_t t = 0; t < out.rows.size(); ++t) {
    TROUPE_ASSIGN_OR_RETURN(out.rows[t].features,
                            (t == apart ? largest_rows : other_rows)
                                .take(shape.feature_rows[t], shape.feature_cols[t]));
  }
  if (target_cols > 0) {
    TROUPE_ASSIGN_OR_RETURN(out.targets,
                            other_rows.take(out.sampled->seed_index.size(), target_cols));
  }
  TROUPE_RETURN_IF_ERROR(read_edge_features(shape, apart, largest_rows, other_rows, out));
  TROUPE_RETURN_IF_ERROR(largest_rows.all_taken());
  return other_rows.all_taken();
}

Result<ColumnInfo> read_column_info(wire::ReadyBatch::Column::Reader in) {
  ColumnInfo info;
  TROUPE_ASSIGN_OR_RETURN(info.name, read_text(ready_batch_name, in.getName(), 100));
  TROUPE_ASSIGN_OR_RETURN(const auto dtype, read_text(ready_batch_name, in.getDtype(), 16));
  info.dtype = parse_dtype(dtype).value_or(DType::boolean);  // which no column has
  for (const auto extent : in.getShape()) {
    info.shape.push_back(extent);
    if (info.shape.size() > store_layout::most_extents) {
      break;
    }
  }
  const auto fault = store_layout::fault_of(info);
  return fault.empty() ? Result<ColumnInfo>(std::move(info))
                       : corrupt_batch(fmt::format("columns: expected {}", fault));
}

/// The last lists of segment 1.
Status read_columns(Unpacker& lists, wire::ReadyBatch::Reader in, const SampledBatch& sampled,
                    Batch& out) {
  TROUPE_RETURN_IF_ERROR(check_entries(ready_batch_name, "columns", in.getColumns().size()));
  for (const auto from : in.getColumns()) {
    BatchColumn column;
    column.of_edges = from.getOfEdges();
    column.type = from.getType();
    const auto types = column.of_edges ? sampled.edges.size() : sampled.nodes.size();
    if (column.type >= types) {
      return corrupt_batch(
          fmt::format("columns: expected a type below {}, found {}", types, column.type));
    }
    TROUPE_ASSIGN_OR_RETURN(column.info, read_column_info(from));
    column.rows = column.of_edges ? sampled.edges[column.type].sources.size()
                                  : sampled.nodes[column.type].ids.size();
    TROUPE_ASSIGN_OR_RETURN(column.values,
                            lists.take_bytes("columns", column.rows * column.info.row_bytes()));
    out.columns.push_back(std::move(column));
  }
  return ok_status();
}

Result<ReadyBatch> read_ready_batch(const Frame& frame, wire::ReadyBatch::Reader in) {
  const SegmentReader segments(frame, ready_batch_name);
  TROUPE_RETURN_IF_ERROR(segments.at_most(max_segments));
  TROUPE_ASSIGN_OR_RETURN(auto narrow, segments.elements(0, sizeof(std::uint32_t)));
  TROUPE_ASSIGN_OR_RETURN(auto wide, segments.elements(1, sizeof(std::uint64_t)));
  Unpacker lists(std::move(narrow), std::move(wide));
  TROUPE_ASSIGN_OR_RETURN(const Widths widths, read_widths(in));
  TROUPE_ASSIGN_OR_RETURN(SampledBatch sampled, read_header(in));
  const Shape shape = read_shape(in);
  sampled.nodes.resize(shape.nodes.size());
  TROUPE_RETURN_IF_ERROR(read_link_types(in, sampled));
  TROUPE_RETURN_IF_ERROR(read_nodes(lists, shape, in.getSeeds(), widths.ids, sampled));

  ReadyBatch out;
  out.batch.rows.resize(sampled.nodes.size());
  for (std::size_t t = 0; t < out.batch.rows.size(); ++t) {
    TROUPE_RETURN_IF_ERROR(check_count(sampled, t, "original ids", shape.originals[t]));
    TROUPE_ASSIGN_OR_RETURN(
        out.batch.rows[t].original_ids,
        lists.take<OriginalId>("original ids", shape.originals[t], widths.originals));
  }
  TROUPE_RETURN_IF_ERROR(read_edges(lists, in, widths.edge_ids, sampled));
  if (in.getHasLabels()) {
    TROUPE_ASSIGN_OR_RETURN(
        out.batch.labels,
        lists.take<std::int64_t>("labels", sampled.seed_index.size(), sizeof(std::uint64_t)));
  }
  TROUPE_RETURN_IF_ERROR(read_links(lists, in, sampled));
  TROUPE_RETURN_IF_ERROR(read_walks(lists, in, sampled));
  TROUPE_RETURN_IF_ERROR(read_columns(lists, in, sampled, out.batch));
  TROUPE_RETURN_IF_ERROR(lists.all_taken());
  out.batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  TROUPE_RETURN_IF_ERROR(read_features(frame, shape, in.getTargetCols(), out.batch));
  TROUPE_RETURN_IF_ERROR(read_struct(out.trace, in.getTrace(), ready_batch_name, segments));
  return out;
}

}  // namespace

Result<ReadyBatch> decode_by_hand(const Frame& frame, ReadAs<ReadyBatch>) {
  return read_message<ReadyBatch, wire::ReadyBatch>(
      frame, ready_batch_name, [&](auto in) { return read_ready_batch(frame, in); });
}

}  // namespace troupe::net
