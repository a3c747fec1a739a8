// Facts about edges, asked of the parts' holders.
#include "launcher/session_state.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

namespace troupe {
namespace {

Result<const EdgeTypeInfo*> edge_type_of(const GraphInfo& graph, EdgeTypeId type) {
  if (raw(type) >= graph.edge_types.size()) {
    return Error(Errc::invalid_argument, fmt::format("edge type: expected < {}, got {}",
                                                     graph.edge_types.size(), raw(type)));
  }
  return &graph.edge_types[raw(type)];
}

Status check_edges(const EdgeTypeInfo& type, std::span<const EdgeId> edges) {
  const auto end = type.end_of_edge_ids();
  const auto stranger = std::ranges::find_if(edges, [end](EdgeId id) { return raw(id) >= end; });
  if (stranger == edges.end()) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("edges: expected original ids of type {} below {}, got {}", type.name,
                           end, raw(*stranger)));
}

/// Every part is asked which of the edges it has.
Status ask_all_parts(Session::State& s, EdgeLookup& lookup) {
  const Ref<FindEdges> question(lookup.question());
  AskHolders<FindEdges> asked;
  for (std::uint32_t part = 0; part < s.place.host->book->parts(); ++part) {
    asked.questions.emplace_back(static_cast<PartId>(part), question);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto found, s.ask<HolderReplies<EdgesFound>>(std::move(asked)));
  for (std::size_t i = 0; i < found->replies.size(); ++i) {
    TROUPE_RETURN_IF_ERROR(lookup.answer(static_cast<PartId>(i), *found->replies[i]));
  }
  return ok_status();
}

/// Rows of one part that are asked for, and where they stand in the list of all.
struct EdgeRowsOfPart {
  std::vector<std::uint64_t> rows;
  std::vector<std::size_t> at;
};

/// A table of edges, where rows of it lie, and where they go.
struct WantedEdgeRows {
  TableName table;
  EdgePlaces places;
  std::uint64_t row_bytes = 0;
  std::span<std::byte> values;  ///< [places, row_bytes]
};

/// Reads rows [first, first + count).
Status read_edge_rows(Session::State& s, const WantedEdgeRows& wanted, std::size_t first,
                      std::size_t count) {
  const auto row_bytes = wanted.row_bytes;
  std::map<PartId, EdgeRowsOfPart> by_part;
  for (std::size_t i = first; i < first + count; ++i) {
    auto& of_part = by_part[wanted.places.parts[i]];
    of_part.rows.push_back(wanted.places.entries[i]);
    of_part.at.push_back(i);
  }
  AskHolders<RowRequest> asked;
  for (auto& [part, of_part] : by_part) {
    RowRequest request;
    request.tables.push_back({wanted.table, std::move(of_part.rows), row_bytes});
    asked.questions.emplace_back(part, Ref<RowRequest>(std::move(request)));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto got, s.ask<HolderReplies<RowReply>>(std::move(asked)));
  std::size_t question = 0;
  for (const auto& [part, of_part] : by_part) {
    TROUPE_ASSIGN_OR_RETURN(const auto tables, tables_of(*got->replies[question++]));
    const bool fits = tables.size() == 1 && tables.front().row_bytes == row_bytes &&
                      tables.front().rows.size() == of_part.at.size() * row_bytes;
    if (!fits) {
      return Error(Errc::data_corruption,
                   fmt::format("rows of edges from part {}: expected {} of {} bytes, got others",
                               raw(part), of_part.at.size(), row_bytes));
    }
    for (std::size_t i = 0; i < of_part.at.size(); ++i) {
      std::ranges::copy(
          tables.front().rows.subspan(i * row_bytes, row_bytes),
          wanted.values.begin() + static_cast<std::ptrdiff_t>(of_part.at[i] * row_bytes));
    }
  }
  return ok_status();
}

/// Of one request for rows, about.
constexpr std::uint64_t edge_rows_bytes = std::uint64_t{4} << 20;

}  // namespace

Result<BatchColumn> Session::State::read_edge_column(const std::string& name,
                                                     std::span<const EdgeId> edges,
                                                     EdgeTypeId edge_type) {
  const auto& host = *place.host;
  TROUPE_ASSIGN_OR_RETURN(const auto* const type, edge_type_of(*host.graph, edge_type));
  TROUPE_RETURN_IF_ERROR(check_edges(*type, edges));
  const auto found = std::ranges::find(type->columns, name, &ColumnInfo::name);
  if (found == type->columns.end()) {
    return Error(Errc::not_found, fmt::format("column \"{}\" of edge type {}: the graph has none",
                                              name, type->name));
  }
  const TableName table{TableName::Kind::edge_column, raw(edge_type),
                        static_cast<std::uint16_t>(found - type->columns.begin())};
  const auto row_bytes = found->row_bytes();
  Buffer values(edges.size() * row_bytes);
  for (std::size_t first = 0; first < edges.size(); first += edge_lookup_piece) {
    const auto piece = edges.subspan(first, std::min(edge_lookup_piece, edges.size() - first));
    EdgeLookup lookup(*host.book, *type, edge_type, piece);
    TROUPE_RETURN_IF_ERROR(ask_all_parts(*this, lookup));
    TROUPE_ASSIGN_OR_RETURN(auto places, std::move(lookup).take_places());
    const WantedEdgeRows wanted{
        table, std::move(places), row_bytes,
        values.bytes().subspan(first * row_bytes, piece.size() * row_bytes)};
    const auto at_once = std::max<std::uint64_t>(1, edge_rows_bytes / row_bytes);
    for (std::size_t row = 0; row < piece.size(); row += at_once) {
      const auto count = std::min<std::size_t>(at_once, piece.size() - row);
      TROUPE_RETURN_IF_ERROR(read_edge_rows(*this, wanted, row, count));
    }
  }
  return BatchColumn{.of_edges = true,
                     .type = raw(edge_type),
                     .info = *found,
                     .rows = edges.size(),
                     .values = std::move(values).freeze()};
}

Result<std::vector<std::uint64_t>> Session::degrees(std::span<const NodeId> nodes,
                                                    EdgeTypeId edge_type, EdgeDir dir) {
  auto& s = *state_;
  const auto& host = *s.place.host;
  TROUPE_ASSIGN_OR_RETURN(const auto* const type, edge_type_of(*host.graph, edge_type));
  const auto node_type = type->list_type(dir);
  TROUPE_RETURN_IF_ERROR(s.check_nodes(nodes, node_type));
  std::vector<std::uint64_t> all;
  all.reserve(nodes.size());
  for (std::size_t first = 0; first < nodes.size(); first += edge_lookup_piece) {
    const auto piece = nodes.subspan(first, std::min(edge_lookup_piece, nodes.size() - first));
    DegreeLookup lookup(*host.book, node_type, {edge_type, dir == EdgeDir::out}, piece);
    AskHolders<CountEdges> asked;
    for (const auto& [part, request] : lookup.questions()) {
      asked.questions.emplace_back(part, Ref<CountEdges>(request));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto found, s.ask<HolderReplies<EdgesCounted>>(std::move(asked)));
    for (std::size_t i = 0; i < found->replies.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(lookup.answer(i, *found->replies[i]));
    }
    const auto degrees = std::move(lookup).degrees();
    all.insert(all.end(), degrees.begin(), degrees.end());
  }
  return all;
}

Result<EdgeNodes> Session::find_edges(std::span<const EdgeId> edges, EdgeTypeId edge_type) {
  auto& s = *state_;
  const auto& host = *s.place.host;
  TROUPE_ASSIGN_OR_RETURN(const auto* const type, edge_type_of(*host.graph, edge_type));
  TROUPE_RETURN_IF_ERROR(check_edges(*type, edges));
  EdgeNodes all;
  for (std::size_t first = 0; first < edges.size(); first += edge_lookup_piece) {
    const auto piece = edges.subspan(first, std::min(edge_lookup_piece, edges.size() - first));
    EdgeLookup lookup(*host.book, *type, edge_type, piece);
    TROUPE_RETURN_IF_ERROR(ask_all_parts(s, lookup));
    TROUPE_ASSIGN_OR_RETURN(const auto ends, std::move(lookup).take());
    all.sources.insert(all.sources.end(), ends.sources.begin(), ends.sources.end());
    all.destinations.insert(all.destinations.end(), ends.destinations.begin(),
                            ends.destinations.end());
  }
  return all;
}

Result<DistTensor> Session::column(const std::string& name, EdgeTypeId edge_type) {
  auto& s = *state_;
  const auto& types = s.place.host->graph->edge_types;
  if (raw(edge_type) >= types.size()) {
    return tensor_error(
        name, fmt::format("expected an edge type < {}, got {}", types.size(), raw(edge_type)));
  }
  const auto& type = types[raw(edge_type)];
  const auto found = std::ranges::find(type.columns, name, &ColumnInfo::name);
  if (found == type.columns.end()) {
    return Error(Errc::not_found,
                 fmt::format("column \"{}\" of edge type {}: the graph has none", name, type.name));
  }
  auto tensor = std::make_shared<DistTensor::State>();
  tensor->session = &s;
  tensor->options = {
      .of = TensorOf::edges, .edge_type = edge_type, .dtype = found->dtype, .shape = found->shape};
  tensor->info = *found;
  tensor->rows = type.end_of_edge_ids();
  tensor->column = true;
  return DistTensor(std::move(tensor));
}

}  // namespace troupe
