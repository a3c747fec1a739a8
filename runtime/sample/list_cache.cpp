#include "runtime/sample/list_cache.hpp"

#include "runtime/graph/alias_tables.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace troupe {
namespace {

bool has_lists(const GraphInfo& graph, NodeTypeId type, EdgeDir dir) {
  return std::ranges::any_of(graph.edge_types,
                             [&](const auto& edges) { return edges.list_type(dir) == type; });
}

/// What finding a node takes: a bit in each of two ranked sets, and their counts.
std::uint64_t index_bytes(std::uint64_t nodes) {
  return 2 * RankedSet({}, nodes).bytes();
}

/// Bytes of one node beside its lists.
constexpr std::uint64_t node_bytes = 2 * sizeof(std::uint64_t);

/// Owned values that a part of `owners` looks at.
template <class T>
std::span<const T> keep(std::vector<T> values, std::vector<std::shared_ptr<const void>>& owners) {
  auto kept = std::make_shared<const std::vector<T>>(std::move(values));
  const std::span<const T> view(*kept);
  owners.push_back(std::move(kept));
  return view;
}

/// Places in `ids` by ascending id.
std::vector<std::size_t> sorted_places(const std::vector<std::uint64_t>& ids) {
  std::vector<std::size_t> places(ids.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::sort(places, {}, [&](std::size_t place) { return ids[place]; });
  return places;
}

template <class To>
std::vector<To> pick(const std::vector<std::uint64_t>& values,
                     const std::vector<std::size_t>& places) {
  std::vector<To> picked;
  picked.reserve(places.size());
  for (const auto place : places) {
    picked.push_back(static_cast<To>(values[place]));
  }
  return picked;
}

/// The lists at `places`, one after the other.
template <class To>
std::vector<To> pick_lists(const auto& values, const std::vector<std::uint64_t>& offsets,
                           const std::vector<std::size_t>& places) {
  std::vector<To> picked;
  picked.reserve(values.size());
  for (const auto place : places) {
    for (auto i = offsets[place]; i < offsets[place + 1]; ++i) {
      picked.push_back(static_cast<To>(values[i]));
    }
  }
  return picked;
}

std::shared_ptr<const SampleOptions> one_hop_of(const SampleOptions& options, std::size_t types) {
  auto fetch = options;
  fetch.fanout = {std::vector<std::int32_t>(types, all_neighbours)};
  fetch.replace = false;
  fetch.edge_data = kept_data(options);
  fetch.entries_of.clear();
  fetch.frontier = Frontier::fresh;
  fetch.disjoint = false;
  fetch.subgraph = Subgraph::directional;
  fetch.walks.reset();
  fetch.time.reset();
  return std::make_shared<const SampleOptions>(std::move(fetch));
}

}  // namespace

EdgeData kept_data(const SampleOptions& options) {
  const bool times = options.time || choice_kinds()[options.choice].needs_times;
  return options.edge_data.stored() |
         EdgeData{.weights = !list_tables(options).aliases.empty(), .times = times};
}

std::uint64_t ListPiece::count() const {
  std::uint64_t sum = 0;
  for (const auto& range : ranges) {
    sum += range.count;
  }
  return sum;
}

PooledVector<NodeId> ListPiece::nodes() const {
  PooledVector<NodeId> ids;
  for (const auto& range : ranges) {
    for (std::uint64_t i = 0; i < range.count; ++i) {
      ids.push_back(static_cast<NodeId>(raw(range.first) + i));
    }
  }
  return ids;
}

std::vector<ListPiece> list_pieces(const GraphInfo& graph, const PartitionBook& book,
                                   const PartHeat& heat, EdgeDir dir, const std::vector<bool>& here,
                                   const PieceLimits& limits) {
  struct Bucket {
    double heat = 0;
    std::size_t type = 0;
    ListPiece::Range nodes;
  };
  std::vector<Bucket> buckets;
  for (std::size_t t = 0; t < heat.mean.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    for (std::size_t p = 0; has_lists(graph, type, dir) && p < heat.mean[t].size(); ++p) {
      const auto range = book.range(type, static_cast<PartId>(p));
      for (std::size_t b = 0; !here[p] && b < heat.mean[t][p].size(); ++b) {
        const auto begin = PartHeat::bucket_begin(range.size(), b);
        const auto end = PartHeat::bucket_begin(range.size(), b + 1);
        if (end > begin && heat.mean[t][p][b] > 0) {
          buckets.push_back({heat.mean[t][p][b],
                             t,
                             {static_cast<NodeId>(raw(range.first) + begin), end - begin}});
        }
      }
    }
  }
  std::ranges::sort(buckets, [](const Bucket& a, const Bucket& b) {
    return std::tuple(-a.heat, a.type, raw(a.nodes.first)) <
           std::tuple(-b.heat, b.type, raw(b.nodes.first));
  });
  std::vector<ListPiece> pieces;
  std::vector<ListPiece> open(graph.node_types.size());
  for (std::size_t t = 0; t < open.size(); ++t) {
    open[t].type = static_cast<NodeTypeId>(t);
  }
  std::uint64_t all = 0;
  for (auto [hot, type, nodes] : buckets) {
    if (all > limits.budget_bytes / node_bytes) {
      break;
    }
    all += nodes.count;
    auto& piece = open[type];
    for (auto room = limits.nodes - piece.count(); nodes.count > 0; room = limits.nodes) {
      const auto taken = std::min(room, nodes.count);
      piece.ranges.push_back({nodes.first, taken});
      nodes = {static_cast<NodeId>(raw(nodes.first) + taken), nodes.count - taken};
      if (taken == room) {
        pieces.push_back(std::exchange(piece, {piece.type}));
      }
    }
  }
  std::ranges::copy_if(open, std::back_inserter(pieces),
                       [](const auto& piece) { return !piece.ranges.empty(); });
  return pieces;
}

ListCacheBuilder::ListCacheBuilder(std::shared_ptr<const GraphInfo> graph,
                                   const SampleOptions& options, std::uint64_t budget_bytes)
    : graph_(std::move(graph)),
      fetch_(one_hop_of(options, graph_->edge_types.size())),
      weighted_(list_tables(options).aliases),
      left_(budget_bytes),
      nodes_(graph_->node_types.size()),
      edges_(graph_->edge_types.size()) {}

std::uint64_t ListCacheBuilder::bytes_of(const ListPiece& piece, const SampledBatch& batch) const {
  const auto count = piece.count();
  auto bytes = count * node_bytes;
  if (nodes_[raw(piece.type)].ids.empty()) {
    bytes += index_bytes(graph_->node_types[raw(piece.type)].count);
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const auto& type = graph_->edge_types[e];
    if (type.list_type(fetch_->dir) == piece.type) {
      const auto end = graph_->node_types[raw(type.neighbour_type(fetch_->dir))].count;
      const bool drawn =
          std::ranges::find(weighted_, static_cast<EdgeTypeId>(e)) != weighted_.end();
      const std::uint64_t each = id_width_bytes(end) +
                                 (fetch_->edge_data & edge_data_of(type)).bytes() +
                                 (drawn ? alias_bytes : 0);
      bytes += count * sizeof(std::uint64_t) + batch.edges[e].sources.size() * each;
    }
  }
  return bytes;
}

bool ListCacheBuilder::add(const ListPiece& piece, const SampledBatch& batch,
                           std::span<const OriginalId> original_ids) {
  const auto bytes = bytes_of(piece, batch);
  if (bytes > left_) {
    return false;
  }
  left_ -= bytes;
  auto& nodes = nodes_[raw(piece.type)];
  for (const auto id : piece.nodes()) {
    nodes.ids.push_back(raw(id));
  }
  for (const auto id : original_ids) {
    nodes.original_ids.push_back(raw(id));
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const auto& type = graph_->edge_types[e];
    if (type.list_type(fetch_->dir) != piece.type) {
      continue;
    }
    auto& edges = edges_[e];
    const auto& sampled = batch.edges[e];
    const auto& ids = batch.nodes[raw(type.neighbour_type(fetch_->dir))].ids;
    const auto before = edges.neighbours.size();
    const auto& offsets = sampled.offsets.dense();
    for (std::size_t i = 1; i <= original_ids.size(); ++i) {
      edges.offsets.push_back(before + offsets[i]);
    }
    for (const auto source : sampled.sources) {
      edges.neighbours.push_back(raw(ids[source]));
    }
    each_stored_datum(
        []<class T>(std::vector<T>& to, const auto& from) {
          std::ranges::transform(from, std::back_inserter(to),
                                 [](auto value) { return static_cast<T>(value); });
        },
        edges, sampled);
  }
  return true;
}

Result<std::shared_ptr<const Part>> ListCacheBuilder::take(PartId id) && {
  auto part = std::make_shared<Part>();
  part->id = id;
  part->complete_for = fetch_->dir == EdgeDir::in ? CompleteFor::in : CompleteFor::out;
  part->nodes.resize(nodes_.size());
  part->edges.resize(edges_.size());
  std::vector<std::vector<std::size_t>> places;
  for (std::size_t t = 0; t < nodes_.size(); ++t) {
    places.push_back(sorted_places(nodes_[t].ids));
    auto& to = part->nodes[t];
    to.halo_ids = keep(pick<std::uint64_t>(nodes_[t].ids, places[t]), part->owners);
    to.halo_original_ids =
        keep(pick<std::uint64_t>(nodes_[t].original_ids, places[t]), part->owners);
    if (!to.halo_ids.empty()) {
      to.halo = RankedSet(to.halo_ids, graph_->node_types[t].count);
      to.halo_listed = to.halo;
    }
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const auto& type = graph_->edge_types[e];
    const auto& order = places[raw(type.list_type(fetch_->dir))];
    part->edges[e].source_type = type.source;
    part->edges[e].destination_type = type.destination;
    auto from = std::exchange(edges_[e], {});
    NeighbourLists lists;
    std::vector<std::uint64_t> offsets = {0};
    for (const auto place : order) {
      offsets.push_back(offsets.back() + from.offsets[place + 1] - from.offsets[place]);
    }
    lists.offsets = keep(std::move(offsets), part->owners);
    const auto end = graph_->node_types[raw(type.neighbour_type(fetch_->dir))].count;
    if (id_width_bytes(end) == 4) {
      lists.neighbours =
          keep(pick_lists<std::uint32_t>(from.neighbours, from.offsets, order), part->owners);
    } else {
      lists.neighbours =
          keep(pick_lists<std::uint64_t>(from.neighbours, from.offsets, order), part->owners);
    }
    each_stored_datum(
        [&]<class T>(std::span<const T>& to, const std::vector<T>& values) {
          if (!values.empty()) {
            to = keep(pick_lists<T>(values, from.offsets, order), part->owners);
          }
        },
        lists, from);
    auto& to = part->edges[e];
    (fetch_->dir == EdgeDir::in ? to.halo_in : to.halo_out) = lists;
  }
  return with_alias_tables(*part, weighted_, fetch_->dir);
}

}  // namespace troupe
