#include "runtime/partition/hotness.hpp"

#include "runtime/base/permutation.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/edges_of_part.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

namespace troupe {
namespace {

/// -log(1 - p) as a whole number, so that sums do not depend on their order.
using Logs = std::uint64_t;
constexpr double log_unit = 0x1p-36;
constexpr double largest_log = 24;    ///< of one factor: 1 - e^-24 is 1 in float32
constexpr Logs full = Logs{1} << 62;  ///< a sum from which on p is 1; no further terms are added

Logs to_logs(double p) {
  const double log = p >= 1 ? largest_log : std::min(largest_log, -std::log1p(-p));
  return static_cast<Logs>(std::llround(log / log_unit));
}
double to_probability(Logs logs) {
  return -std::expm1(-static_cast<double>(logs) * log_unit);
}

constexpr std::uint64_t chunk_nodes = 2048;

void for_each_chunk(std::uint64_t nodes, Executor& executor,
                    const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  executor.parallel_for((nodes + chunk_nodes - 1) / chunk_nodes, [&](std::size_t chunk) {
    const auto begin = chunk * chunk_nodes;
    body(begin, std::min(begin + chunk_nodes, nodes));
  });
}

/// How likely one entry of a list is among those drawn.
double entry_probability(std::uint64_t degree, std::int32_t fanout, bool replace) {
  if (fanout < 0) {
    return 1;
  }
  const auto d = static_cast<double>(degree);
  if (replace) {
    return -std::expm1(fanout * std::log1p(-1 / d));
  }
  return std::min(1.0, fanout / d);
}

class HotnessSearch {
 public:
  HotnessSearch(const GraphStore& graph, const HotnessOptions& options, Executor& executor)
      : info_(graph.info()), graph_(graph.graph()), options_(options), executor_(executor) {
    for (const auto& type : info_.node_types) {
      seen_.emplace_back(type.count, 0.0F);
      frontier_.emplace_back(type.count, 0.0F);
      sums_.emplace_back(type.count, 0);
    }
  }

  void start(const HotnessSeeds& seeds) {
    const auto p =
        std::min(1.0, static_cast<double>(options_.batch_size) / static_cast<double>(seeds.count));
    for (std::size_t type = 0; type < seeds.ids.size(); ++type) {
      for (const auto id : seeds.ids[type]) {
        const double before = seen_[type][id];
        const double now = before == 0 ? p : 1 - (1 - before) * (1 - p);
        seen_[type][id] = frontier_[type][id] = static_cast<float>(now);
      }
    }
    for (std::size_t type = 0; type < seeds.times.size(); ++type) {
      for_each_chunk(seen_[type].size(), executor_, [&](std::uint64_t begin, std::uint64_t end) {
        for (auto id = begin; id < end; ++id) {
          if (const auto times = seeds.times[type][id]; times > 0) {
            seen_[type][id] = frontier_[type][id] =
                static_cast<float>(-std::expm1(times * std::log1p(-p)));
          }
        }
      });
    }
  }

  Hotness run() {
    for (const auto& fanouts : options_.fanout) {
      for (std::size_t e = 0; e < info_.edge_types.size(); ++e) {
        follow(e, fanouts.size() == 1 ? fanouts.front() : fanouts[e]);
      }
      end_hop();
    }
    return std::move(seen_);
  }

 private:
  using DegreeOf = std::function<std::uint64_t(std::uint64_t)>;

  void follow(std::size_t e, std::int32_t fanout) {
    if (fanout == 0) {
      return;
    }
    const auto& type = info_.edge_types[e];
    const auto& lists = graph_->edges[e].in;
    const bool in = options_.dir == EdgeDir::in;
    const auto from = raw(in ? type.destination : type.source);
    const auto to = raw(in ? type.source : type.destination);
    const auto degree = in ? in_degrees(lists) : out_degrees(lists, from);
    const auto terms = terms_of(from, degree, fanout);
    const Spread spread{from, to, fanout, in, degree, terms};
    const auto owners = info_.node_types[raw(type.destination)].count;
    lists.neighbours.visit([&](auto ids) {
      for_each_chunk(owners, executor_, [&](std::uint64_t begin, std::uint64_t end) {
        for (auto v = begin; v < end; ++v) {
          for_each_neighbour(lists, ids, v, [&](std::uint64_t u, std::uint64_t edges) {
            add_edges(spread, v, u, edges);
          });
        }
      });
    });
  }

  /// What all edges of one type share during a hop.
  struct Spread {
    std::size_t from;  ///< Node type of the askers
    std::size_t to;    ///< Node type of the nodes that they reach
    std::int32_t fanout;
    bool in;                         ///< Askers own the lists
    const DegreeOf& degree;          ///< Of an asker
    const std::vector<Logs>& terms;  ///< terms_of() the askers
  };

  /// `edges` parallel entries of the list of `v` name `u`.
  void add_edges(const Spread& by, std::uint64_t v, std::uint64_t u, std::uint64_t edges) {
    if (by.from == by.to && u == v) {
      return;  // leads to no other node
    }
    const auto asker = by.in ? v : u;
    add(sums_[by.to][by.in ? u : v],
        edges == 1 ? by.terms[asker]
                   : term_of(frontier_[by.from][asker], by.degree(asker), by.fanout, edges));
  }

  /// Calls `f` with each distinct node of a list, and how often it stands there.
  template <class Ids, class F>
  static void for_each_neighbour(const NeighbourLists& lists, Ids ids, std::uint64_t row, F f) {
    const auto end = lists.offsets[row + 1];
    for (auto i = lists.offsets[row]; i < end;) {
      auto next = i + 1;
      while (next < end && ids[next] == ids[i]) {
        ++next;
      }
      f(std::uint64_t{ids[i]}, next - i);
      i = next;
    }
  }

  static void add(Logs& sum, Logs term) {
    if (term == 0) {
      return;
    }
    std::atomic_ref<Logs> shared(sum);
    if (shared.load(std::memory_order_relaxed) < full) {
      shared.fetch_add(term, std::memory_order_relaxed);
    }
  }

  static DegreeOf in_degrees(const NeighbourLists& lists) {
    return [&lists](std::uint64_t v) { return lists.degree(v); };
  }
  DegreeOf out_degrees(const NeighbourLists& lists, std::size_t type) const {
    std::vector<std::uint64_t> degrees(info_.node_types[type].count, 0);
    lists.neighbours.visit([&](auto ids) {
      for (const auto id : ids) {
        ++degrees[id];
      }
    });
    return [degrees = std::move(degrees)](std::uint64_t v) { return degrees[v]; };
  }

  /// What a node in the frontier with `p` adds to one that `parallel` entries of its list name.
  Logs term_of(double p, std::uint64_t degree, std::int32_t fanout, std::uint64_t parallel) const {
    const double entry = entry_probability(degree, fanout, options_.replace);
    return to_logs(p * (1 - std::pow(1 - entry, static_cast<double>(parallel))));
  }

  /// What each node adds to those that its list names once.
  std::vector<Logs> terms_of(std::size_t type, const DegreeOf& degree, std::int32_t fanout) const {
    std::vector<Logs> terms(frontier_[type].size(), 0);
    for_each_chunk(terms.size(), executor_, [&](std::uint64_t begin, std::uint64_t end) {
      for (auto v = begin; v < end; ++v) {
        const auto d = frontier_[type][v] > 0 ? degree(v) : 0;
        terms[v] = d > 0 ? term_of(frontier_[type][v], d, fanout, 1) : 0;
      }
    });
    return terms;
  }

  void end_hop() {
    for (std::size_t type = 0; type < seen_.size(); ++type) {
      for_each_chunk(seen_[type].size(), executor_, [&](std::uint64_t begin, std::uint64_t end) {
        for (auto v = begin; v < end; ++v) {
          const auto before = static_cast<double>(seen_[type][v]);
          const auto now = 1 - (1 - before) * (1 - to_probability(sums_[type][v]));
          seen_[type][v] = static_cast<float>(now);
          frontier_[type][v] = static_cast<float>(options_.all_nodes ? now : now - before);
          sums_[type][v] = 0;
        }
      });
    }
  }

  const GraphInfo& info_;
  std::shared_ptr<const Part> graph_;
  const HotnessOptions& options_;
  Executor& executor_;
  Hotness seen_;      ///< how likely a node is in the batch so far
  Hotness frontier_;  ///< how likely the next hop asks for it
  std::vector<std::vector<Logs>> sums_;
};

Status check(const GraphInfo& info, const HotnessOptions& options) {
  if (options.batch_size == 0) {
    return Error(Errc::invalid_argument, "hotness: expected a batch size of at least 1, got 0");
  }
  const auto unknown = [](const auto& types) {
    return [&types](auto type) { return raw(type) >= types.size(); };
  };
  if (std::ranges::any_of(options.edges, unknown(info.edge_types)) ||
      (options.nodes && unknown(info.node_types)(*options.nodes))) {
    return Error(Errc::invalid_argument,
                 fmt::format("hotness: expected types below {} of edges, or {} of nodes",
                             info.edge_types.size(), info.node_types.size()));
  }
  for (const auto& fanouts : options.fanout) {
    const bool fits = fanouts.size() == 1 || fanouts.size() == info.edge_types.size();
    if (!fits || std::ranges::any_of(fanouts, [](std::int32_t fanout) { return fanout < -1; })) {
      return Error(Errc::invalid_argument,
                   fmt::format("hotness: expected per hop one fanout or {}, each -1 (all) or more, "
                               "got {}",
                               info.edge_types.size(), fmt::join(fanouts, ", ")));
    }
  }
  return ok_status();
}

Status check(const GraphInfo& info, const HotnessSeeds& seeds) {
  if (seeds.count == 0) {
    return Error(Errc::invalid_argument, "hotness: expected seeds, got none");
  }
  for (std::size_t type = 0; type < seeds.ids.size(); ++type) {
    const auto count = type < info.node_types.size() ? info.node_types[type].count : 0;
    if (!seeds.ids[type].empty() && std::ranges::max(seeds.ids[type]) >= count) {
      return Error(Errc::invalid_argument, fmt::format("hotness: expected seeds below {}, got {}",
                                                       count, std::ranges::max(seeds.ids[type])));
    }
  }
  return ok_status();
}

/// The shares of seeds that nodes are dealt out to by how many times each is one.
std::vector<HotnessSeeds> empty_shares(const GraphInfo& info, std::uint32_t shares) {
  HotnessSeeds none;
  for (const auto& type : info.node_types) {
    none.times.emplace_back(type.count, 0);
  }
  return std::vector<HotnessSeeds>(shares, none);
}

/// Calls `f` with each share and the position of a seed in it. \param type  of the seeds, in the key
template <class F>
void deal(std::uint64_t count, std::uint32_t shares, std::uint64_t seed, std::uint16_t type,
          std::uint8_t hop, F f) {
  const Permutation permutation(
      stream_key(seed, {.domain = Domain::generators, .type = type, .hop = hop}), count);
  for (std::uint64_t i = 0; i < count; ++i) {
    f(i % shares, permutation(i));
  }
}

std::vector<HotnessSeeds> deal_nodes(const GraphInfo& info, NodeTypeId type, std::uint32_t shares,
                                     std::uint64_t seed) {
  auto dealt = empty_shares(info, shares);
  deal(info.node_types[raw(type)].count, shares, seed, raw(type), 5,
       [&](std::size_t share, std::uint64_t node) {
         dealt[share].times[raw(type)][node] = 1;
         ++dealt[share].count;
       });
  return dealt;
}

/// Edges have no positions to be found by, so each is dealt out as it comes.
std::vector<HotnessSeeds> deal_edges(const GraphStore& graph, std::span<const EdgeTypeId> types,
                                     std::uint32_t shares, std::uint64_t seed) {
  const auto& info = graph.info();
  auto dealt = empty_shares(info, shares);
  std::uint64_t count = 0;
  for (const auto type : types) {
    count += info.edge_types[raw(type)].count;
  }
  const Permutation permutation(
      stream_key(seed, {.domain = Domain::generators, .type = raw(types.front()), .hop = 4}),
      count);
  std::uint64_t edge = 0;
  for (const auto type : types) {
    const auto from = info.edge_types[raw(type)].source;
    const auto to = info.edge_types[raw(type)].destination;
    each_edge_of(*graph.graph(), type, [&](NodeId source, NodeId destination) {
      auto& share = dealt[shares == 1 ? 0 : permutation(edge) % shares];
      ++share.times[raw(to)][raw(destination)];
      if (from != to || source != destination) {
        ++share.times[raw(from)][raw(source)];
      }
      ++share.count;
      ++edge;
    });
  }
  return dealt;
}

}  // namespace

Result<std::vector<HotnessSeeds>> deal_training_seeds(const GraphStore& graph,
                                                      const std::string& split,
                                                      const HotnessOptions& options,
                                                      std::uint32_t shares, std::uint64_t seed) {
  const auto& info = graph.info();
  TROUPE_RETURN_IF_ERROR(check(info, options));
  if (options.nodes) {
    return deal_nodes(info, *options.nodes, shares, seed);
  }
  if (!options.edges.empty()) {
    return deal_edges(graph, options.edges, shares, seed);
  }
  const auto* const of_split = info.find_split(split);
  const bool has_links = of_split != nullptr && of_split->links.contains("train");
  const bool has_nodes = of_split != nullptr && of_split->roles.contains("train");
  if ((of_split != nullptr || info.splits.empty()) && !has_links && !has_nodes) {
    return Error(Errc::not_found,
                 fmt::format("hotness: split \"{}\" has no training nodes and no training links: "
                             "order nodes by \"degree\", and partition by another method",
                             split));
  }
  std::vector<HotnessSeeds> dealt(shares);
  for (auto& share : dealt) {
    share.ids.resize(info.node_types.size());
  }
  const auto add = [&dealt](std::size_t share, NodeTypeId type, OriginalId id) {
    dealt[share].ids[raw(type)].push_back(raw(id));
  };
  if (has_links && (options.links || !has_nodes)) {
    TROUPE_ASSIGN_OR_RETURN(const auto list, graph.links(split, "train"));
    deal(list.size(), shares, seed, static_cast<std::uint16_t>(raw(list.edge_type())), 3,
         [&](std::size_t share, std::uint64_t position) {
           const auto link = list.at(position);
           const auto& type = info.edge_types[raw(list.edge_type_at(position))];
           const auto source = list.pairs_of().value_or(type.source);
           const auto destination = list.pairs_of().value_or(type.destination);
           add(share, source, link.original_source);
           if (source != destination || link.original_source != link.original_destination) {
             add(share, destination, link.original_destination);
           }
           ++dealt[share].count;
         });
  } else {
    TROUPE_ASSIGN_OR_RETURN(const auto list, graph.seeds(split, "train"));
    deal(list.original.size(), shares, seed, raw(list.node_type), 2,
         [&](std::size_t share, std::uint64_t position) {
           add(share, list.node_type, list.original[position]);
           ++dealt[share].count;
         });
  }
  return dealt;
}

Result<Hotness> node_hotness(const GraphStore& graph, const HotnessSeeds& seeds,
                             const HotnessOptions& options, Executor& executor) {
  TROUPE_RETURN_IF_ERROR(check(graph.info(), options));
  TROUPE_RETURN_IF_ERROR(check(graph.info(), seeds));
  HotnessSearch search(graph, options, executor);
  search.start(seeds);
  return search.run();
}

Result<Hotness> node_hotness(const GraphStore& graph, const std::string& split,
                             const HotnessOptions& options, Executor& executor) {
  TROUPE_ASSIGN_OR_RETURN(const auto all, deal_training_seeds(graph, split, options, 1, 0));
  return node_hotness(graph, all.front(), options, executor);
}

}  // namespace troupe
