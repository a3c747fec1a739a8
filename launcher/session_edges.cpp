// Facts about edges, asked of the parts' holders.
#include "launcher/session_state.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

Result<const EdgeTypeInfo*> edge_type_of(const GraphInfo& graph, EdgeTypeId type) {
  if (raw(type) >= graph.edge_types.size()) {
    return Error(Errc::invalid_argument, fmt::format("edge type: expected < {}, got {}",
                                                     graph.edge_types.size(), raw(type)));
  }
  return &graph.edge_types[raw(type)];
}

}  // namespace

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
  const auto end = type->end_of_edge_ids();
  const auto stranger = std::ranges::find_if(edges, [end](EdgeId id) { return raw(id) >= end; });
  if (stranger != edges.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("edges: expected original ids of type {} below {}, got {}", type->name,
                             end, raw(*stranger)));
  }
  EdgeNodes all;
  for (std::size_t first = 0; first < edges.size(); first += edge_lookup_piece) {
    const auto piece = edges.subspan(first, std::min(edge_lookup_piece, edges.size() - first));
    EdgeLookup lookup(*host.book, *type, edge_type, piece);
    const Ref<FindEdges> question(lookup.question());
    AskHolders<FindEdges> asked;
    for (std::uint32_t part = 0; part < host.book->parts(); ++part) {
      asked.questions.emplace_back(static_cast<PartId>(part), question);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto found, s.ask<HolderReplies<EdgesFound>>(std::move(asked)));
    for (std::size_t i = 0; i < found->replies.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(lookup.answer(static_cast<PartId>(i), *found->replies[i]));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto ends, std::move(lookup).take());
    all.sources.insert(all.sources.end(), ends.sources.begin(), ends.sources.end());
    all.destinations.insert(all.destinations.end(), ends.destinations.begin(),
                            ends.destinations.end());
  }
  return all;
}

}  // namespace troupe
