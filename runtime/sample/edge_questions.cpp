#include "runtime/sample/edge_questions.hpp"

#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <bit>
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

/// Finds the place of an edge in a request. Numbers that follow each other need no table; for others a
/// filter, a bit for each hash, turns down most edges that were not asked for.
class PlacesOfEdges {
 public:
  /// \param edges  ascending, none twice, below 2^64 - 1
  explicit PlacesOfEdges(const std::vector<EdgeId>& edges)
      : first_(edges.empty() ? 0 : raw(edges.front())), count_(edges.size()) {
    dense_ = edges.empty() || raw(edges.back()) - first_ == count_ - 1;
    if (dense_) {
      return;
    }
    const auto bits = std::bit_ceil(std::max<std::size_t>(64, bits_per_edge * edges.size()));
    shift_ = 64 - std::countr_zero(bits);
    maybe_.resize(bits / 64);
    index_.reserve(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const auto bit = bit_of(raw(edges[i]));
      maybe_[bit / 64] |= std::uint64_t{1} << bit % 64;
      index_.find_or_insert(raw(edges[i]), static_cast<std::uint32_t>(i));
    }
  }
  std::optional<std::uint64_t> find(std::uint64_t edge) const {
    if (dense_) {
      const auto behind = edge - first_;  // huge before the first one
      return behind < count_ ? std::optional(behind) : std::nullopt;
    }
    const auto bit = bit_of(edge);
    if ((maybe_[bit / 64] >> bit % 64 & 1) == 0) {
      return std::nullopt;
    }
    const auto found = index_.find(edge);
    return found ? std::optional<std::uint64_t>(*found) : std::nullopt;
  }

 private:
  static constexpr std::size_t bits_per_edge = 16;
  std::uint64_t bit_of(std::uint64_t edge) const { return edge * 0x9E3779B97F4A7C15U >> shift_; }

  std::uint64_t first_;
  std::uint64_t count_;
  bool dense_ = false;
  int shift_ = 0;
  std::vector<std::uint64_t> maybe_;  ///< A bit for each hash
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
  std::uint64_t row = 0;
  for (std::uint64_t entry = 0; entry < lists.edge_ids.size() && !asked.empty(); ++entry) {
    const auto place = places.find(lists.edge_ids[entry]);
    if (!place) {
      continue;
    }
    while (lists.offsets[row + 1] <= entry) {
      ++row;
    }
    const auto node = static_cast<NodeId>(raw(nodes.first) + row);
    const auto neighbour = lists.neighbours[entry];
    found.places.push_back(*place);
    found.sources.push_back(in ? neighbour : node);
    found.destinations.push_back(in ? node : neighbour);
    found.entries.push_back(entry);
  }
  return found;
}

}  // namespace troupe
