#pragma once
/// \file hop_sampling.hpp
/// One batch on its way, hop by hop, on a stream: what one_trip.hpp makes where nothing is known of the
/// batch's sizes yet. For sample_hops.hpp only.
#include "gpu/sample/batch_room.hpp"
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/growing_nodes.hpp"
#include "gpu/sample/hop_bodies.hpp"
#include "gpu/sample/hop_plan.hpp"
#include "gpu/sample/weighted_bodies.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

/// Lifecycle: run(), once
/// Borrows:   everything that it is made with
template <class Stream>
class HopSampling {
 public:
  HopSampling(Stream& on, const DeviceGraph& graph, const SamplingPlan& plan,
              NodesExpected& expected)
      : on_(on),
        graph_(graph),
        plan_(plan),
        nodes_(on, graph.nodes, expected),
        hop_nodes_(graph.nodes.size()),
        edges_(graph.edges.size()),
        sizes_(graph.edges.size() + (graph.edges.size() + graph.nodes.size() + 1) / 2) {}

  /// \param seeds  of seeds_for_device()
  Result<DeviceBatch> run(BatchKey key, std::span<const SeedsOfType> seeds) {
    begin(key, seeds);
    number_seeds(seeds);
    for (std::uint32_t hop = 0; hop < batch_.hops; ++hop) {
      count(hop);
      TROUPE_RETURN_IF_ERROR(read_sizes());
      TROUPE_RETURN_IF_ERROR(make_room(hop));
      draw(hop);
      number();
    }
    assemble();
    TROUPE_RETURN_IF_ERROR(read_sizes());
    for (std::size_t type = 0; type < batch_.nodes.size(); ++type) {
      batch_.nodes[type].ids = nodes_.take_ids(type);
    }
    std::vector<std::vector<std::uint64_t>> edges(batch_.hops);
    for (std::uint32_t hop = 0; hop < batch_.hops; ++hop) {
      for (const auto& of_type : edges_) {
        edges[hop].push_back(of_type.hops[hop].count);
      }
    }
    batch_sizes_ = sizes_of(batch_, std::move(edges));
    return Result<DeviceBatch>(std::move(batch_));
  }
  /// \requires run()
  const BatchSizes& sizes() const { return batch_sizes_; }

 private:
  /// Nodes of one type that the hop under way leads to.
  struct HopNodes {
    std::uint64_t candidates = 0;
    std::vector<CandidateSlice> slices = {};
  };
  /// A hop along an edge type.
  struct HopEdges {
    Array<std::uint32_t> row_offsets;  ///< Empty where nothing is drawn
    Array<std::uint32_t> own_slots;    ///< But of the last hop
    Array<std::uint64_t> own_entries;
    std::uint32_t* slots = nullptr;    ///< Positions, then slots of the table, then indices
    std::uint64_t* entries = nullptr;  ///< Null where no data of edges is wanted
    std::uint32_t first_row_node = 0;
    std::uint64_t count = 0;
  };
  struct Edges {
    std::vector<HopEdges> hops = {};
    std::uint64_t count = 0;       ///< Of all hops so far
    Array<std::uint64_t> entries;  ///< Of all hops
  };

  ListRule rule(std::size_t type, std::uint32_t hop) const { return rule_of(plan_, type, hop); }
  std::uint32_t* counts_of(std::uint64_t* sizes) const {
    return reinterpret_cast<std::uint32_t*>(sizes + edges_.size());
  }
  std::uint32_t count_read(std::size_t i) const {
    std::uint32_t count = 0;
    std::memcpy(
        &count,
        reinterpret_cast<const std::byte*>(sizes_.data() + edges_.size()) + i * sizeof count,
        sizeof count);
    return count;
  }
  HopRows rows_of(std::size_t type, const HopEdges& at) const {
    const auto destination = raw(graph_.edges[type].destination_type);
    return {.nodes = nodes_.ids(destination) + at.first_row_node,
            .offsets = graph_.edges[type].offsets.data(),
            .first = at.first_row_node,
            .end = nodes_.end(destination)};
  }
  bool wants_entries(std::size_t type) const { return graph_.edges[type].data != EdgeData{}; }
  void begin(BatchKey key, std::span<const SeedsOfType> seeds) {
    batch_ = batch_to_be(graph_, plan_, key, seeds);
    device_sizes_ = on_.template array<std::uint64_t>(sizes_.size());
    on_.zero(device_sizes_.data(), device_sizes_.size_bytes());
    if (!on_.failed()) {
      nodes_.begin(counts_of(device_sizes_.data()) + edges_.size());
    }
  }

  void number_seeds(std::span<const SeedsOfType> seeds) {
    std::size_t first = 0;
    for (const auto& group : seeds) {
      first += group.nodes.size();
    }
    batch_.seed_index = on_.template array<std::uint32_t>(std::exchange(first, 0));
    for (const auto& [node_type, group] : seeds) {
      const std::size_t type = raw(node_type);
      const auto count = static_cast<std::uint32_t>(group.size());
      const auto ids = on_.template array<std::uint64_t>(count);
      nodes_.reserve(type, nodes_.most_with(type, count));
      if (on_.failed() || count == 0) {
        continue;
      }
      on_.upload(group.data(), ids.data(), ids.size_bytes());
      auto* const slots = batch_.seed_index.data() + first;
      nodes_.with_table(type, [&]<class Table>(const Table& table) {
        on_.for_each(count, InsertCandidate<Table>{table, ids.data(), slots});
      });
      const CandidateSlice slice{slots, 0, count};
      nodes_.number(type, std::span(&slice, 1), count);
      first += count;
    }
  }

  /// Counts what a hop takes. The number of its rows is known on the device alone.
  void count(std::uint32_t hop) {
    on_.zero(device_sizes_.data(), edges_.size() * (sizeof(std::uint64_t) + sizeof(std::uint32_t)));
    for (std::size_t type = 0; type < edges_.size() && !on_.failed(); ++type) {
      auto& at = edges_[type].hops.emplace_back();
      const auto destination = raw(graph_.edges[type].destination_type);
      if (plan_.frontier == Frontier::fresh && hop > 0) {
        at.first_row_node = batch_.nodes[destination].hop_end[hop - 1];
      }
      const std::size_t rows = nodes_.most(destination) - at.first_row_node;
      if (plan_.fanout[hop][type] != 0 && rows > 0) {
        count_edges(type, at, rows, rule(type, hop));
      }
    }
  }
  /// \param rows  at most so many
  void count_edges(std::size_t type, HopEdges& at, std::size_t rows, const ListRule& rule) {
    const auto counts = on_.template array<std::uint32_t>(rows);
    at.row_offsets = on_.template array<std::uint32_t>(rows + 1);
    if (on_.failed()) {
      return;
    }
    if (plan_.weighted && !rule.all) {
      on_.for_each(rows,
                   CountWeightedRow{rows_of(type, at), rule, graph_.edges[type].aliases.data(),
                                    graph_.edges[type].zero_weights, counts.data()});
    } else {
      on_.for_each(rows, CountRow{rows_of(type, at), rule, counts.data()});
    }
    on_.running_sum(counts.data(), rows, at.row_offsets.data());
    on_.copy(at.row_offsets.data() + rows, counts_of(device_sizes_.data()) + type,
             sizeof(std::uint32_t));
    const auto most = most_edges(rule, rows, graph_.edges[type].entries);
    if (most > most_candidates) {
      on_.for_each(rows, AddUpCount{counts.data(), device_sizes_.data() + type});
    }
  }

  /// The round trip of a hop. Brings the sizes that memory is needed for.
  Status read_sizes() {
    on_.download(device_sizes_.data(), sizes_.data(), device_sizes_.size_bytes());
    TROUPE_RETURN_IF_ERROR(on_.finish());
    for (std::size_t type = 0; type < batch_.nodes.size(); ++type) {
      const std::uint32_t end = count_read(edges_.size() + type);
      batch_.nodes[type].hop_end.push_back(end);
      nodes_.set_most(type, end);
    }
    return ok_status();
  }

  Status make_room(std::uint32_t hop) {
    for (auto& nodes : hop_nodes_) {
      nodes = {};
    }
    for (std::size_t type = 0; type < edges_.size(); ++type) {
      const std::uint64_t count = sizes_[type] > 0 ? sizes_[type] : count_read(type);
      edges_[type].hops[hop].count = count;
      edges_[type].count += count;
      if (edges_[type].count > std::numeric_limits<std::uint32_t>::max()) {
        return too_many_edges(type, edges_[type].count);
      }
      hop_nodes_[raw(graph_.edges[type].source_type)].candidates += count;
    }
    for (std::size_t type = 0; type < hop_nodes_.size(); ++type) {
      const auto candidates = hop_nodes_[type].candidates;
      const auto count = nodes_.most_with(type, candidates);
      if (std::max(candidates, count) > most_candidates) {
        return too_many_candidates(type, std::max(candidates, count));
      }
      if (candidates > 0) {
        nodes_.reserve(type, count);
      }
    }
    for (std::size_t type = 0; type < edges_.size(); ++type) {
      make_room_for_edges(type, hop);
    }
    return on_.status();
  }
  /// The edges of the last hop, which are most of them, go where those of the batch lie.
  void make_room_for_edges(std::size_t type, std::uint32_t hop) {
    auto& edges = edges_[type];
    auto& at = edges.hops[hop];
    const bool last = hop + 1 == batch_.hops;
    auto& slots = last ? batch_.edges[type].sources : at.own_slots;
    auto& entries = last ? edges.entries : at.own_entries;
    const std::size_t size = last ? edges.count : at.count;
    slots = on_.template array<std::uint32_t>(size);
    entries = on_.template array<std::uint64_t>(wants_entries(type) ? size : 0);
    if (!on_.failed()) {
      at.slots = slots.data() + (size - at.count);
      at.entries = entries.empty() ? nullptr : entries.data() + (size - at.count);
    }
  }

  void draw(std::uint32_t hop) {
    for (std::size_t type = 0; type < edges_.size(); ++type) {
      const auto& at = edges_[type].hops[hop];
      const auto& lists = graph_.edges[type];
      if (at.count == 0) {
        continue;
      }
      const auto rows = rows_of(type, at);
      const auto of_hop = rule(type, hop);
      const std::size_t num_rows =
          batch_.nodes[raw(lists.destination_type)].hop_end[hop] - at.first_row_node;
      draw_positions(type, hop, rows, num_rows);
      auto& slices = hop_nodes_[raw(lists.source_type)].slices;
      const CandidateSlice slice{at.slots,
                                 slices.empty() ? 0 : slices.back().first + slices.back().count,
                                 static_cast<std::uint32_t>(at.count)};
      slices.push_back(slice);
      nodes_.with_table(raw(lists.source_type), [&]<class Id>(const NodeTable<Id>& table) {
        on_.for_each(slice.count, TakeEntry<Id, NodeTable<Id>>{
                                      rows, of_hop, at.row_offsets.data(), num_rows,
                                      reinterpret_cast<const Id*>(lists.neighbours.data()), table,
                                      slice, at.entries});
      });
    }
  }
  void draw_positions(std::size_t type, std::uint32_t hop, const HopRows& rows,
                      std::size_t num_rows) {
    const auto& at = edges_[type].hops[hop];
    const auto& lists = graph_.edges[type];
    const auto of_hop = rule(type, hop);
    const RowDraws draws{draws_key(plan_, batch_.key, type, hop),
                         graph_.nodes[raw(lists.destination_type)].original_ids.data(),
                         at.row_offsets.data(), at.slots};
    if (of_hop.all) {
      return;
    }
    if (plan_.weighted) {
      on_.for_each(num_rows, DrawWeightedRow{rows, of_hop, lists.aliases.data(), draws});
    } else {
      on_.for_each(num_rows, DrawRow{rows, of_hop, draws});
    }
  }

  void number() {
    for (std::size_t type = 0; type < hop_nodes_.size(); ++type) {
      const auto& [candidates, slices] = hop_nodes_[type];
      if (candidates > 0) {
        nodes_.number(type, slices, candidates);
      }
    }
  }

  /// Puts the hops of each edge type one after the other.
  void assemble() {
    for (std::size_t type = 0; type < edges_.size() && !on_.failed(); ++type) {
      auto& to = batch_.edges[type];
      const auto& from = edges_[type];
      to.row_begin = {0};
      for (std::uint32_t hop = 0; hop < batch_.hops; ++hop) {
        const auto end = batch_.nodes[raw(to.destination_type)].hop_end[hop];
        to.row_begin.push_back(to.row_begin.back() + end - from.hops[hop].first_row_node);
      }
      to.offsets = on_.template array<std::uint32_t>(to.row_begin.back() + std::size_t{1});
      on_.zero(to.offsets.data(), sizeof(std::uint32_t));
      if (!on_.failed()) {
        assemble_hops(from, to);
        take_data(graph_.edges[type], std::move(edges_[type].entries), to);
      }
    }
  }
  void assemble_hops(const Edges& from, DeviceBatchEdges& to) {
    std::uint32_t before = 0;
    for (std::uint32_t hop = 0; hop < batch_.hops; ++hop) {
      const auto& at = from.hops[hop];
      const std::size_t rows = to.row_begin[hop + 1] - to.row_begin[hop];
      on_.for_each(rows, PlaceOffset{at.row_offsets.data(), before,
                                     to.offsets.data() + to.row_begin[hop] + 1});
      const auto count = static_cast<std::uint32_t>(at.count);
      if (count > 0 && hop + 1 < batch_.hops) {
        on_.copy(at.slots, to.sources.data() + before, count * sizeof(std::uint32_t));
        if (at.entries != nullptr) {
          on_.copy(at.entries, from.entries.data() + before, count * sizeof(std::uint64_t));
        }
      }
      before += count;
    }
  }
  void take_data(const DeviceLists& lists, Array<std::uint64_t> entries, DeviceBatchEdges& to) {
    each_stored_datum(
        [&]<class T>(bool wanted, const Array<T>& values, Array<T>& taken) {
          if (wanted && !entries.empty()) {
            taken = on_.template array<T>(entries.size());
            on_.for_each(entries.size(), TakeDatum<T>{values.data(), entries.data(), taken.data()});
          }
        },
        lists.data, lists, to);
    if (lists.data.entries) {
      to.entries = std::move(entries);
    }
  }

  Stream& on_;
  const DeviceGraph& graph_;
  const SamplingPlan& plan_;
  DeviceBatch batch_;
  GrowingNodes<Stream> nodes_;
  std::vector<HopNodes> hop_nodes_;
  std::vector<Edges> edges_;
  /// Edges of the hop by type where they may be many, else 0; then, as counts_of() has them, edges of
  /// the hop by type, and nodes by type. In one piece, so that one copy brings them to the host.
  Array<std::uint64_t> device_sizes_;
  std::vector<std::uint64_t> sizes_;
  BatchSizes batch_sizes_;
};

}  // namespace troupe::gpu
