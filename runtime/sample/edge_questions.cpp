#include "runtime/sample/edge_questions.hpp"

#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>

namespace troupe {
namespace {

constexpr std::uint64_t largest_id = ~std::uint64_t{0};
constexpr std::uint64_t largest_number = ~std::uint32_t{0};

Error no_answer(const Part& part, Errc code, const std::string& what) {
  return {code, fmt::format("edges in part {}: {}", raw(part.id), what)};
}

Result<const PartEdges*> edges_asked_for(const Part& part, EdgeTypeId type) {
  if (raw(type) >= part.edges.size()) {
    return no_answer(
        part, Errc::invalid_argument,
        fmt::format("expected an edge type below {}, got {}", part.edges.size(), raw(type)));
  }
  return &part.edges_of(type);
}

/// Places in a request by edge: numbers that follow each other need no table.
class PlacesOfEdges {
 public:
  explicit PlacesOfEdges(const std::vector<EdgeId>& edges)
      : first_(edges.empty() ? 0 : raw(edges.front())), count_(edges.size()) {
    dense_ = edges.empty() || raw(edges.back()) - first_ == count_ - 1;
    if (dense_) {
      return;
    }
    span_ = raw(edges.back()) - first_;
    index_.reserve(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      index_.find_or_insert(raw(edges[i]) - first_, static_cast<std::uint32_t>(i));
    }
  }
  std::optional<std::uint64_t> find(std::uint64_t edge) const {
    const auto behind = edge - first_;  // huge before the first one
    if (dense_) {
      return behind < count_ ? std::optional(behind) : std::nullopt;
    }
    const auto found = behind <= span_ ? index_.find(behind) : std::nullopt;
    return found ? std::optional<std::uint64_t>(*found) : std::nullopt;
  }

 private:
  std::uint64_t first_;
  std::uint64_t count_;
  std::uint64_t span_ = 0;
  bool dense_ = false;
  IdIndex index_;
};

}  // namespace

Result<EdgesCounted> count_edges(const Part& part, const CountEdges& request) {
  TROUPE_ASSIGN_OR_RETURN(const auto* const edges, edges_asked_for(part, request.edge_type));
  const auto dir = request.out ? EdgeDir::out : EdgeDir::in;
  const auto& lists = edges->lists(dir);
  if (!lists.present() || part.complete_for == (request.out ? CompleteFor::in : CompleteFor::out)) {
    return no_answer(part, Errc::failed_precondition,
                     fmt::format("edge type {} has no whole lists for direction {}\n"
                                 "try: partition the graph with --complete-for both",
                                 raw(request.edge_type), to_string(dir)));
  }
  const auto& nodes = part.nodes_of(request.out ? edges->source_type : edges->destination_type);
  EdgesCounted counted;
  counted.degrees.reserve(request.nodes.size());
  for (const auto node : request.nodes) {
    if (!nodes.owns(node)) {
      return no_answer(part, Errc::invalid_argument,
                       fmt::format("node {} is not in [{}, {})", raw(node), raw(nodes.first),
                                   raw(nodes.first) + nodes.count));
    }
    counted.degrees.push_back(lists.degree(nodes.local(node)));
  }
  return counted;
}

Result<EdgesFound> find_edges(const Part& part, const FindEdges& request) {
  TROUPE_ASSIGN_OR_RETURN(const auto* const edges, edges_asked_for(part, request.edge_type));
  const auto& asked = request.edges;
  const auto bad = std::ranges::adjacent_find(asked, std::greater_equal<>());
  const bool fits = asked.empty() || (bad == asked.end() && raw(asked.back()) != largest_id &&
                                      asked.size() < largest_number);
  if (!fits) {
    return no_answer(part, Errc::invalid_argument,
                     fmt::format("expected below 2^32 edges that ascend to below 2^64 - 1, got {} "
                                 "from {} to {}",
                                 asked.size(), raw(asked.front()), raw(asked.back())));
  }
  const bool in = edges->in.present();
  const auto dir = in ? EdgeDir::in : EdgeDir::out;
  const auto& lists = edges->lists(dir);
  if (lists.edge_ids.empty() && !lists.neighbours.empty()) {
    return no_answer(part, Errc::failed_precondition,
                     fmt::format("edge type {} has no original edge ids\n"
                                 "try: import and partition the graph again",
                                 raw(request.edge_type)));
  }
  const auto& nodes = part.nodes_of(in ? edges->destination_type : edges->source_type);
  const PlacesOfEdges places(asked);
  EdgesFound found;
  for (std::uint64_t entry = 0; entry < lists.edge_ids.size() && !asked.empty(); ++entry) {
    const auto place = places.find(lists.edge_ids[entry]);
    if (!place) {
      continue;
    }
    const auto behind = std::ranges::upper_bound(lists.offsets, entry);
    const auto row = static_cast<std::uint64_t>(behind - lists.offsets.begin() - 1);
    const auto node = static_cast<NodeId>(raw(nodes.first) + row);
    const auto neighbour = lists.neighbours[entry];
    found.places.push_back(*place);
    found.sources.push_back(in ? neighbour : node);
    found.destinations.push_back(in ? node : neighbour);
  }
  return found;
}

}  // namespace troupe
