#include "runtime/sample/links/graph_questions.hpp"

#include "runtime/sample/links/list_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>

namespace troupe {
namespace {

Error cannot_say(const Part& part, Errc code, const std::string& what) {
  return {code, fmt::format("links in part {}: {}", raw(part.id), what)};
}

Result<std::span<const EdgeEnd>> ends_of(const Part& part, const FindNodes& request) {
  if (raw(request.edge_type) >= part.edges.size()) {
    return cannot_say(part, Errc::invalid_argument,
                      fmt::format("expected an edge type below {}, got {}", part.edges.size(),
                                  raw(request.edge_type)));
  }
  const auto& edges = part.edges_of(request.edge_type);
  const auto type = request.out ? edges.source_type : edges.destination_type;
  if (type != request.node_type) {
    return cannot_say(part, Errc::invalid_argument,
                      fmt::format("expected nodes of type {} at the ends of edge type {}, got {}",
                                  raw(type), raw(request.edge_type), raw(request.node_type)));
  }
  const auto ends = edges.ends(request.out ? EdgeDir::out : EdgeDir::in);
  if (ends.empty() && !request.places.empty()) {
    return cannot_say(part, Errc::failed_precondition,
                      fmt::format("the ends of edge type {} are not loaded, which negatives by "
                                  "degree are drawn with",
                                  raw(request.edge_type)));
  }
  return ends;
}

}  // namespace

Result<NodesFound> find_nodes(const Part& part, const FindNodes& request) {
  if (raw(request.node_type) >= part.nodes.size()) {
    return cannot_say(part, Errc::invalid_argument,
                      fmt::format("expected a node type below {}, got {}", part.nodes.size(),
                                  raw(request.node_type)));
  }
  const auto& directory = part.nodes_of(request.node_type).directory;
  if (directory.empty() && !request.places.empty()) {
    return cannot_say(part, Errc::failed_precondition,
                      "its store has no directory of nodes, which negative links are found with; "
                      "try: partition the graph again");
  }
  std::span<const EdgeEnd> ends;
  if (request.by_edge) {
    TROUPE_ASSIGN_OR_RETURN(ends, ends_of(part, request));
  }
  const auto end = request.by_edge ? (ends.empty() ? 0 : ends.back().edges_end) : directory.size();
  NodesFound found;
  found.nodes.reserve(request.places.size());
  for (const auto place : request.places) {
    const auto at = request.by_edge ? place_of_edge(ends, place) : std::optional(place);
    if (!at || *at >= directory.size()) {
      return cannot_say(part, Errc::invalid_argument,
                        fmt::format("expected places below {} of its slice of the directory of "
                                    "node type {}, got {}",
                                    end, raw(request.node_type), place));
    }
    found.nodes.push_back(directory[*at]);
  }
  return found;
}

Result<EdgesThere> has_edges(const Part& part, const HasEdges& request) {
  const bool in = !request.out;
  const auto dir = in ? EdgeDir::in : EdgeDir::out;
  if (raw(request.edge_type) >= part.edges.size()) {
    return cannot_say(part, Errc::invalid_argument,
                      fmt::format("expected an edge type below {}, got {}", part.edges.size(),
                                  raw(request.edge_type)));
  }
  if (request.nodes.size() != request.neighbours.size()) {
    return cannot_say(part, Errc::invalid_argument,
                      fmt::format("expected as many neighbors as nodes, got {} and {}",
                                  request.neighbours.size(), request.nodes.size()));
  }
  const auto& edges = part.edges_of(request.edge_type);
  const auto& lists = edges.lists(dir);
  if (!lists.present() || part.complete_for == (in ? CompleteFor::out : CompleteFor::in)) {
    return cannot_say(part, Errc::failed_precondition,
                      fmt::format("edge type {} has no whole lists for direction {}",
                                  raw(request.edge_type), in ? "in" : "out"));
  }
  const auto& nodes = part.nodes_of(in ? edges.destination_type : edges.source_type);
  const ListSearch search(part.nodes_of(edges.neighbour_type(dir)), lists);
  EdgesThere there;
  there.has.reserve(request.nodes.size());
  std::array<ListSearch::Search, ListSearch::side_by_side> group;
  for (std::size_t first = 0; first < request.nodes.size(); first += group.size()) {
    const auto searches =
        std::span(group).first(std::min(group.size(), request.nodes.size() - first));
    for (std::size_t i = 0; i < searches.size(); ++i) {
      const auto node = request.nodes[first + i];
      if (!nodes.owns(node)) {
        return cannot_say(part, Errc::invalid_argument,
                          fmt::format("node {} is not in [{}, {})", raw(node), raw(nodes.first),
                                      raw(nodes.first) + nodes.count));
      }
      const auto row = nodes.local(node);
      searches[i] = {.begin = lists.offsets[row],
                     .end = lists.offsets[row + 1],
                     .node = request.neighbours[first + i]};
    }
    search.start(searches);
    for (const auto& one : searches) {
      there.has.push_back(search.found(one) ? 1 : 0);
    }
  }
  return there;
}

}  // namespace troupe
