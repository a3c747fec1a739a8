#pragma once
/// \file drive.hpp
/// Drives a BatchBuilder with parts in memory, and a slow, obvious sampler on the edge list to
/// compare it with.
#include "runtime/partition/hotness.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "tests/runtime/sample/weighted_reference.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace troupe::testing {

/// A batch by original ids: what must not depend on the partitioning.
struct PlainBatch {
  std::vector<std::uint32_t> seed_index;
  struct Nodes {
    std::vector<std::uint64_t> originals;
    std::vector<std::uint32_t> hop_end;
    std::vector<std::uint32_t> trees;
    friend bool operator==(const Nodes&, const Nodes&) = default;
  };
  struct Edges {
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint32_t> sources;
    std::vector<std::uint64_t> edge_ids;
    std::vector<float> weights;
    std::vector<std::int64_t> times;
    std::vector<std::uint32_t> row_begin;
    friend bool operator==(const Edges&, const Edges&) = default;
  };
  std::vector<Nodes> nodes;
  std::vector<Edges> edges;
  /// Original ids of ends, of batches of links.
  struct Links {
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    std::vector<std::uint64_t> negative_sources;
    std::vector<std::uint64_t> negative_destinations;
    std::uint64_t edges_drawn = 0;
    friend bool operator==(const Links&, const Links&) = default;
  };
  std::optional<Links> links;
  friend bool operator==(const PlainBatch&, const PlainBatch&) = default;
};

/// In memory of the standard allocator, to be compared.
template <class T>
std::vector<T> plain_list(const PooledVector<T>& list) {
  return {list.begin(), list.end()};
}

template <class List>
std::string list_text(const List& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

inline std::string text_of(const PlainBatch& batch) {
  std::string text = "seed_index " + list_text(batch.seed_index) + "\n";
  if (batch.links) {
    const auto& links = *batch.links;
    text += fmt::format(
        "links: sources {} | destinations {}\n  negative sources {} | destinations "
        "{} | edges drawn {}\n",
        list_text(links.sources), list_text(links.destinations), list_text(links.negative_sources),
        list_text(links.negative_destinations), links.edges_drawn);
  }
  for (std::size_t t = 0; t < batch.nodes.size(); ++t) {
    text += fmt::format("nodes {}: {} | hop_end {}\n", t, list_text(batch.nodes[t].originals),
                        list_text(batch.nodes[t].hop_end));
    if (const auto trees = list_text(batch.nodes[t].trees); !trees.empty()) {
      text += fmt::format("  trees {}\n", trees);
    }
  }
  for (std::size_t t = 0; t < batch.edges.size(); ++t) {
    const auto& edges = batch.edges[t];
    text += fmt::format("edges {}: row_begin {}\n  offsets {}\n  sources {}\n  edge ids {}\n", t,
                        list_text(edges.row_begin), list_text(edges.offsets),
                        list_text(edges.sources), list_text(edges.edge_ids));
    for (const auto& [name, values] : {std::pair("weights", list_text(edges.weights)),
                                       std::pair("times", list_text(edges.times))}) {
      text += values.empty() ? "" : fmt::format("  {} {}\n", name, values);
    }
  }
  return text;
}

inline void PrintTo(const PlainBatch& batch, std::ostream* out) {
  *out << '\n' << text_of(batch);
}

inline PlainBatch plain(const SampledBatch& batch, const CutGraph& cut) {
  PlainBatch result;
  result.seed_index = plain_list(batch.seed_index);
  for (std::size_t t = 0; t < batch.nodes.size(); ++t) {
    auto& nodes = result.nodes.emplace_back();
    for (const NodeId id : batch.nodes[t].ids) {
      nodes.originals.push_back(cut.original(id, t));
    }
    nodes.hop_end = plain_list(batch.nodes[t].hop_end);
    nodes.trees = plain_list(batch.nodes[t].trees);
  }
  for (const auto& from : batch.edges) {
    auto& edges = result.edges.emplace_back();
    edges.offsets = plain_list(from.offsets.dense());
    edges.sources = plain_list(from.sources);
    for (const EdgeId id : from.edge_ids) {
      edges.edge_ids.push_back(raw(id));
    }
    edges.weights = plain_list(from.weights);
    edges.times = plain_list(from.times);
    edges.row_begin = plain_list(from.row_begin);
  }
  if (batch.links) {
    const auto& links = *batch.links;
    const auto originals = [&](std::span<const std::uint32_t> places, NodeTypeId type) {
      std::vector<std::uint64_t> ids;
      for (const auto place : places) {
        ids.push_back(result.nodes[raw(type)].originals[place]);
      }
      return ids;
    };
    result.links = PlainBatch::Links{originals(links.sources, links.source_type),
                                     originals(links.destinations, links.destination_type),
                                     originals(links.negative_sources, links.source_type),
                                     originals(links.negative_destinations, links.destination_type),
                                     links.edges_drawn};
  }
  return result;
}

/// How replies arrive: in the order of the questions, last first, or by a pseudo-random choice.
enum class Arrival { in_order, reversed, shuffled };

inline SampledBatch drive(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                          const std::vector<std::uint64_t>& seeds, std::uint16_t seed_type = 0,
                          Arrival arrival = Arrival::in_order,
                          const std::vector<std::int64_t>& times = {}) {
  BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), key,
                       static_cast<NodeTypeId>(seed_type), cut.globals(seeds, seed_type), {},
                       nullptr, times);
  std::vector<HopQuestion> open;
  std::uint64_t state = 1;
  while (!builder.done()) {
    for (auto& question : builder.questions()) {
      open.push_back(std::move(question));
    }
    if (open.empty()) {
      ADD_FAILURE() << "the builder waits but asks nothing";
      return {};
    }
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::size_t at = arrival == Arrival::in_order   ? 0
                           : arrival == Arrival::reversed ? open.size() - 1
                                                          : (state >> 33U) % open.size();
    const HopQuestion question = std::move(open[at]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    const auto reply = sample_one_hop(*cut.parts[raw(question.part)], question.request);
    EXPECT_OK(reply);
    const auto taken = builder.answer(question.id, *reply);
    EXPECT_OK(taken);
    if (!taken) {
      return {};
    }
  }
  EXPECT_TRUE(open.empty());
  return std::move(builder).take();
}

inline PlainBatch drive_plain(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                              const std::vector<std::uint64_t>& seeds, std::uint16_t seed_type = 0,
                              Arrival arrival = Arrival::in_order,
                              const std::vector<std::int64_t>& times = {}) {
  return plain(drive(cut, options, key, seeds, seed_type, arrival, times), cut);
}

/// Floyd's algorithm as the paper has it, and the rules of design section 4, without any care for
/// speed.
inline std::vector<std::uint32_t> reference_positions(DrawStream stream, std::uint32_t degree,
                                                      std::int64_t fanout, bool replace) {
  std::multiset<std::uint32_t> taken;
  const bool whole = fanout < 0 || (!replace && degree <= fanout);
  if (whole) {
    for (std::uint32_t i = 0; i < degree; ++i) {
      taken.insert(i);
    }
  } else if (replace) {
    for (std::int64_t i = 0; i < fanout && degree > 0; ++i) {
      taken.insert(stream.below(degree));
    }
  } else {
    for (auto j = static_cast<std::uint32_t>(degree - fanout); j < degree; ++j) {
      const std::uint32_t t = stream.below(j + 1);
      taken.insert(taken.contains(t) ? j : t);
    }
  }
  return {taken.begin(), taken.end()};
}

/// Samples a batch from the edge list, node by node.
class ReferenceSampler {
 public:
  ReferenceSampler(const TestGraph& graph, const SampleOptions& options, BatchKey key)
      : graph_(graph), options_(options), key_(key) {}

  /// \param times  [seeds], or empty: options.seed_time
  PlainBatch sample(const std::vector<std::uint64_t>& seeds, std::uint16_t seed_type = 0,
                    std::vector<std::int64_t> times = {}) {
    std::vector<Seed> of_type;
    for (const auto seed : seeds) {
      of_type.push_back({seed_type, seed});
    }
    return sample_seeds(of_type, std::move(times));
  }

  struct Seed {
    std::uint16_t type;
    std::uint64_t original;
  };
  /// An edge type, a node in whose lists its edges lie, and the other end of those that are left out.
  struct Excluded {
    std::size_t edge_type;
    std::uint64_t node;
    std::uint64_t neighbor;
    friend auto operator<=>(const Excluded&, const Excluded&) = default;
  };
  PlainBatch sample_seeds(const std::vector<Seed>& seeds, std::vector<std::int64_t> times,
                          std::set<Excluded> excluded = {}) {
    times_ = std::move(times);
    excluded_ = std::move(excluded);
    batch_.nodes.resize(graph_.nodes.size());
    batch_.edges.resize(graph_.edges.size());
    for (auto& edges : batch_.edges) {
      edges.offsets = {0};
      edges.row_begin = {0};
    }
    for (std::uint32_t i = 0; i < seeds.size(); ++i) {
      batch_.seed_index.push_back(
          number(seeds[i].type, seeds[i].original, options_.disjoint ? i : 0));
    }
    end_hop();
    for (std::size_t hop = 0; hop < options_.fanout.size(); ++hop) {
      for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
        sample_hop(hop, e);
      }
      end_hop();
    }
    if (options_.subgraph == Subgraph::induced) {
      close_induced();
    } else if (options_.subgraph == Subgraph::bidirectional) {
      close_bidirectional();
    }
    return batch_;
  }

 private:
  std::optional<std::uint32_t> known(std::size_t type, std::uint64_t original,
                                     std::uint32_t tree) const {
    const auto& nodes = batch_.nodes[type];
    for (std::uint32_t i = 0; i < nodes.originals.size(); ++i) {
      if (nodes.originals[i] == original && (!options_.disjoint || nodes.trees[i] == tree)) {
        return i;
      }
    }
    return std::nullopt;
  }

  bool is_sampled(std::size_t e) const {
    return std::ranges::any_of(options_.fanout, [e](const auto& hop) { return hop[e] != 0; });
  }

  void close_hops() {
    for (auto& nodes : batch_.nodes) {
      nodes.hop_end = {nodes.hop_end.front(), nodes.hop_end.back()};
    }
  }

  void close_induced() {
    for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
      const auto& type = graph_.edges[e];
      const bool in = options_.dir == EdgeDir::in;
      const auto& rows = batch_.nodes[in ? type.destination : type.source];
      PlainBatch::Edges closed;
      closed.offsets = {0};
      for (std::uint32_t row = 0; row < rows.originals.size(); ++row) {
        const auto node = rows.originals[row];
        const auto tree = options_.disjoint ? rows.trees[row] : 0;
        for (const auto& entry : allowed(type, list_of(type, node, in), tree)) {
          const auto there = known(in ? type.source : type.destination, entry.neighbor, tree);
          if (is_sampled(e) && there && !excluded_.contains({e, node, entry.neighbor})) {
            closed.sources.push_back(*there);
            add_data(type, entry.edge, closed);
          }
        }
        closed.offsets.push_back(static_cast<std::uint32_t>(closed.sources.size()));
      }
      closed.row_begin = {0, static_cast<std::uint32_t>(rows.originals.size())};
      batch_.edges[e] = std::move(closed);
    }
    close_hops();
  }

  /// Drawn edges as (row node, entry, position).
  struct Drawn {
    std::uint32_t node;
    std::uint32_t entry;
    std::size_t at;
  };
  std::vector<Drawn> drawn(std::size_t e) const {
    std::vector<Drawn> all;
    const auto& edges = batch_.edges[e];
    for (std::size_t hop = 0; hop + 1 < edges.row_begin.size(); ++hop) {
      for (auto row = edges.row_begin[hop]; row < edges.row_begin[hop + 1]; ++row) {
        const auto node = options_.frontier == Frontier::all ? row - edges.row_begin[hop] : row;
        for (auto at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
          all.push_back({node, edges.sources[at], at});
        }
      }
    }
    return all;
  }

  void close_bidirectional() {
    std::vector<PlainBatch::Edges> closed(batch_.edges.size());
    for (std::size_t e = 0; e < batch_.edges.size(); ++e) {
      const auto& type = graph_.edges[e];
      const auto rows = batch_.nodes[options_.dir == EdgeDir::in ? type.destination : type.source]
                            .originals.size();
      std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
      std::vector<std::vector<std::uint32_t>> entries(rows);
      std::vector<std::vector<std::uint64_t>> ids(rows);
      for (const auto& [node, entry, at] : drawn(e)) {
        pairs.insert({node, entry});
        entries[node].push_back(entry);
        ids[node].push_back(batch_.edges[e].edge_ids[at]);
      }
      for (std::size_t from = 0; from < batch_.edges.size(); ++from) {
        for (const auto& [node, entry, at] : options_.reverse_of[from] == static_cast<EdgeTypeId>(e)
                                                 ? drawn(from)
                                                 : std::vector<Drawn>()) {
          if (pairs.insert({entry, node}).second) {
            entries[entry].push_back(node);
            ids[entry].push_back(type.edges.size() + batch_.edges[from].edge_ids[at]);
          }
        }
      }
      closed[e].offsets = {0};
      for (std::size_t row = 0; row < rows; ++row) {
        auto& edges = closed[e];
        edges.sources.insert(edges.sources.end(), entries[row].begin(), entries[row].end());
        edges.edge_ids.insert(edges.edge_ids.end(), ids[row].begin(), ids[row].end());
        edges.offsets.push_back(static_cast<std::uint32_t>(edges.sources.size()));
      }
      closed[e].row_begin = {0, static_cast<std::uint32_t>(rows)};
    }
    batch_.edges = std::move(closed);
    close_hops();
  }

  void add_data(const TestEdgeType& type, std::uint64_t edge, PlainBatch::Edges& edges) const {
    if (options_.edge_data.edge_ids) {
      edges.edge_ids.push_back(edge);
    }
    if (options_.edge_data.weights && !type.weights.empty()) {
      edges.weights.push_back(type.weights[edge]);
    }
    if (options_.edge_data.times && !type.times.empty()) {
      edges.times.push_back(type.times[edge]);
    }
  }

  std::uint32_t number(std::size_t type, std::uint64_t original, std::uint32_t tree) {
    auto& [known, hop_end, trees] = batch_.nodes[type];
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] == original && (!options_.disjoint || trees[i] == tree)) {
        return static_cast<std::uint32_t>(i);
      }
    }
    known.push_back(original);
    if (options_.disjoint) {
      trees.push_back(tree);
    }
    return static_cast<std::uint32_t>(known.size() - 1);
  }

  void end_hop() {
    for (auto& nodes : batch_.nodes) {
      nodes.hop_end.push_back(static_cast<std::uint32_t>(nodes.originals.size()));
    }
  }

  void sample_hop(std::size_t hop, std::size_t e) {
    const auto& type = graph_.edges[e];
    const bool in = options_.dir == EdgeDir::in;
    const std::size_t asked = in ? type.destination : type.source;
    const std::size_t found = in ? type.source : type.destination;
    auto& edges = batch_.edges[e];
    const auto& ends = batch_.nodes[asked].hop_end;
    const std::size_t end = ends[hop];
    const bool fresh = options_.frontier == Frontier::fresh && hop > 0;
    for (std::size_t i = fresh ? ends[hop - 1] : 0; i < end; ++i) {
      const std::uint64_t node = batch_.nodes[asked].originals[i];
      const std::uint32_t tree = options_.disjoint ? batch_.nodes[asked].trees[i] : 0;
      const auto& kind = choice_kinds()[options_.choice];
      const bool by_weight = kind.needs_weights && options_.fanout[hop][e] >= 0;
      const auto whole = list_of(type, node, in);
      auto list = allowed(type, whole, tree);
      const auto is_excluded = [&](const Entry& entry) {
        return excluded_.contains({e, node, entry.neighbor});
      };
      std::set<std::uint32_t> left_out;
      for (std::uint32_t k = 0; k < list.size() && by_weight; ++k) {
        if (is_excluded(list[k])) {
          left_out.insert(k);
        }
      }
      if (!by_weight) {
        std::erase_if(list, is_excluded);
      }
      const auto key =
          stream_key(options_.job_seed,
                     {.domain = kind.name == "labor" ? Domain::labor : Domain::neighbours,
                      .type = static_cast<std::uint16_t>(e),
                      .hop = options_.shared ? std::uint8_t{0} : static_cast<std::uint8_t>(hop),
                      .epoch = key_.stream_epoch(),
                      .batch = key_.number});
      if (kind.name == "labor" && options_.fanout[hop][e] >= 0) {
        list = labor_entries(list, key, tree, options_.fanout[hop][e]);
      }
      for (const auto position :
           options_.time && !type.times.empty() && by_weight
               ? reference_by_sums(DrawStream(key, node, tree), units_of(type, whole, list),
                                   options_.fanout[hop][e], options_.replace, left_out)
               : positions(type, list, DrawStream(key, node, tree), options_.fanout[hop][e],
                           left_out)) {
        edges.sources.push_back(number(found, list[position].neighbor, tree));
        add_data(type, list[position].edge, edges);
      }
      edges.offsets.push_back(static_cast<std::uint32_t>(edges.sources.size()));
    }
    edges.row_begin.push_back(static_cast<std::uint32_t>(edges.offsets.size() - 1));
  }

  struct Entry {
    std::int64_t time;  ///< 0 without times
    std::uint64_t neighbor;
    std::uint64_t edge;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  using List = std::vector<Entry>;

  /// What LABOR takes of a list.
  static List labor_entries(const List& list, StreamKey key, std::uint32_t tree,
                            std::int64_t fanout) {
    List some;
    const auto size = static_cast<std::int64_t>(list.size());
    for (const auto& entry : list) {
      const std::uint64_t word = DrawStream(key, entry.neighbor, tree).next();
      if (size <= fanout || word < (static_cast<std::uint64_t>(fanout) << 32) / list.size()) {
        some.push_back(entry);
      }
    }
    return some;
  }

  /// What of a list the time of a tree allows.
  List allowed(const TestEdgeType& type, const List& list, std::uint32_t tree) const {
    if (!options_.time || type.times.empty()) {
      return list;
    }
    const auto& [inclusive, window] = *options_.time;
    const std::int64_t at = times_.empty() ? options_.seed_time : times_[tree];
    List some;
    for (const auto& entry : list) {
      const auto age = static_cast<__int128>(at) - entry.time;
      const bool in_window = window == 0 || age <= static_cast<__int128>(window);
      if (in_window && (inclusive ? age >= 0 : age > 0)) {
        some.push_back(entry);
      }
    }
    return some;
  }

  std::vector<std::uint32_t> positions(const TestEdgeType& type, const List& list,
                                       const DrawStream& stream, std::int32_t fanout,
                                       const std::set<std::uint32_t>& left_out) const {
    if (choice_kinds()[options_.choice].name == "labor" && fanout >= 0) {
      return reference_positions(stream, static_cast<std::uint32_t>(list.size()), -1, false);
    }
    if (choice_kinds()[options_.choice].needs_times && fanout >= 0) {
      std::vector<std::uint32_t> last;
      const auto size = static_cast<std::int64_t>(list.size());
      for (auto i = std::max<std::int64_t>(0, size - fanout); i < size; ++i) {
        last.push_back(static_cast<std::uint32_t>(i));
      }
      return last;
    }
    if (fanout < 0 || !choice_kinds()[options_.choice].needs_weights) {
      return reference_positions(stream, static_cast<std::uint32_t>(list.size()), fanout,
                                 options_.replace);
    }
    Weights weights;
    for (const auto& entry : list) {
      weights.push_back(type.weights[entry.edge]);
    }
    return reference_weighted(stream, alias_table(weights), fanout, options_.replace, left_out);
  }

  /// Integer weights of a stretch of a list.
  static std::vector<std::uint64_t> units_of(const TestEdgeType& type, const List& whole,
                                             const List& stretch) {
    double most = 0;
    for (const auto& entry : whole) {
      most = std::max(most, static_cast<double>(type.weights[entry.edge]));
    }
    std::vector<std::uint64_t> units;
    for (const auto& entry : stretch) {
      const auto weight = static_cast<double>(type.weights[entry.edge]);
      const auto share = weight > 0 ? static_cast<std::uint64_t>(weight / most * 0x1p31) : 0;
      units.push_back(weight > 0 ? std::max<std::uint64_t>(1, share) : 0);
    }
    return units;
  }

  static List list_of(const TestEdgeType& type, std::uint64_t node, bool in) {
    List list;
    for (std::uint64_t e = 0; e < type.edges.size(); ++e) {
      const auto& edge = type.edges[e];
      if ((in ? edge.destination : edge.source) == node) {
        list.push_back(
            {type.times.empty() ? 0 : type.times[e], in ? edge.source : edge.destination, e});
      }
    }
    std::ranges::sort(list);
    return list;
  }

  const TestGraph& graph_;
  const SampleOptions& options_;
  BatchKey key_;
  std::vector<std::int64_t> times_;
  std::set<Excluded> excluded_;
  PlainBatch batch_;
};

/// Options for one edge type.
inline SampleOptions fanouts(const std::vector<std::int32_t>& per_hop) {
  SampleOptions options;
  options.fanout = fanout_of_hops(per_hop);
  options.edge_data.edge_ids = true;
  options.job_seed = 42;
  return options;
}

}  // namespace troupe::testing
