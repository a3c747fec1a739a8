#pragma once
/// \file trip_arrays.hpp
/// Arrays of a batch that is made with one wait (one_trip.hpp), with the room that each has.
#include "gpu/sample/batch_room.hpp"
#include "gpu/sample/device_batch.hpp"
#include "gpu/sample/device_graph.hpp"
#include "gpu/sample/hop_plan.hpp"
#include "gpu/sample/pieces.hpp"
#include "gpu/sample/sized_bodies.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::gpu {

/// Candidates of one node type that are numbered together: those of the seeds or of a hop.
struct TripCandidates {
  struct Slice {
    SizedSlice slice;
    std::size_t room = 0;
  };

  std::size_t room = 0;
  Array<std::uint32_t> marks;
  Array<std::uint32_t> ranks;
  std::vector<Slice> slices = {};
};

/// Sizes of the arrays that a batch has in the end, or room in them.
struct BatchTotals {
  std::size_t seeds = 0;
  std::vector<std::uint64_t> nodes = {};  ///< By node type
  std::vector<std::uint64_t> rows = {};   ///< By edge type
  std::vector<std::uint64_t> edges = {};  ///< By edge type
};

/// Stages are the seeds and then the hops.
/// Borrows: everything that it is made with
class TripArrays {
 public:
  /// \param room   of room_for(), for the same seeds
  /// \param batch  gets the arrays that it has in the end
  TripArrays(const DeviceGraph& graph, const SamplingPlan& plan, const BatchSizes& room,
             DeviceBatch& batch, std::span<const SeedsOfType> seeds)
      : graph_(graph),
        plan_(plan),
        room_(room),
        batch_(batch),
        groups_(seeds.size()),
        hops_(static_cast<std::uint32_t>(plan.fanout.size())),
        candidates_((hops_ + std::size_t{1}) * graph.nodes.size()),
        rows_(hops_ * graph.edges.size()),
        tables_(graph.nodes.size()),
        entries_(graph.edges.size()) {
    for (const auto& group : seeds) {
      candidates(0, raw(group.type)).room += group.nodes.size();
      totals_.seeds += group.nodes.size();
    }
    totals_.nodes = room.nodes;
    for (std::size_t type = 0; type < graph.edges.size(); ++type) {
      auto& rows = totals_.rows.emplace_back();
      auto& edges = totals_.edges.emplace_back();
      for (std::uint32_t hop = 0; hop < hops_; ++hop) {
        candidates(hop + std::size_t{1}, source(type)).room += room.edges[hop][type];
        rows += rows_room(type, hop);
        edges += edges_room(type, hop);
      }
    }
    for (std::size_t type = 0; type < tables_.size(); ++type) {
      auto& bits = tables_[type].bits;
      for (bits = 1; (std::uint64_t{1} << bits) < 2 * room.nodes[type];) {
        ++bits;
      }
    }
  }

  std::size_t destination(std::size_t type) const {
    return raw(graph_.edges[type].destination_type);
  }
  std::size_t source(std::size_t type) const { return raw(graph_.edges[type].source_type); }
  std::uint64_t rows_room(std::size_t type, std::size_t hop) const {
    return room_.rows[hop][destination(type)];
  }
  std::uint64_t edges_room(std::size_t type, std::size_t hop) const {
    return room_.edges[hop][type];
  }
  std::uint64_t nodes_room(std::size_t type) const { return room_.nodes[type]; }
  const BatchTotals& room() const { return totals_; }

  /// Whether entries of rows are counted. Where none are expected there may be some.
  bool counts_edges(std::size_t type, std::uint32_t hop) const {
    return plan_.fanout[hop][type] != 0 && rows_room(type, hop) > 0;
  }
  bool wants_entries(std::size_t type) const { return graph_.edges[type].data != EdgeData{}; }

  // --- after make() ---

  /// Sizes of a hop along an edge type.
  HopSizes* sizes(std::size_t type, std::size_t hop) const {
    return sizes_.data() + place_of_hop(type, hop);
  }
  HopSizes* sizes_of_group(std::size_t group) const { return sizes_.data() + group; }
  std::size_t place_of_hop(std::size_t type, std::size_t hop) const {
    return groups_ + hop * graph_.edges.size() + type;
  }
  const Array<HopSizes>& all_sizes() const { return sizes_; }
  /// [stage][node type] nodes after it. Those of stages without candidates are not written.
  const Array<std::uint32_t>& ends() const { return ends_; }
  std::size_t place_of_end(std::size_t stage, std::size_t type) const {
    return stage * graph_.nodes.size() + type;
  }
  /// [hop][edge type] edges where they may have more than 32 bits; empty: nowhere.
  const Array<std::uint64_t>& wide() const { return wide_; }
  std::uint64_t* wide_of(std::size_t type, std::uint32_t hop) const {
    return is_wide(type, hop) ? wide_.data() + hop * graph_.edges.size() + type : nullptr;
  }
  std::uint32_t* counts(std::size_t type, std::size_t hop) const {
    return rows_[hop * graph_.edges.size() + type].counts.data();
  }
  std::uint32_t* row_offsets(std::size_t type, std::size_t hop) const {
    return rows_[hop * graph_.edges.size() + type].offsets.data();
  }
  TripCandidates& candidates(std::size_t stage, std::size_t type) {
    return candidates_[place_of_end(stage, type)];
  }
  Array<std::uint64_t>& entries(std::size_t type) { return entries_[type]; }
  /// Calls `f` with the table of a node type.
  template <class F>
  void with_table(std::size_t type, F&& f) const {
    const auto& of = tables_[type];
    if (graph_.nodes[type].id_bytes == 4) {
      f(NodeTable<std::uint32_t>{of.words.data(), nullptr, of.bits});
    } else {
      f(NodeTable<std::uint64_t>{of.words.data(), of.values.data(), of.bits});
    }
  }

  /// Gives memory to all arrays.
  template <class Stream>
  void make(Stream& on, Memory memory) {
    make_arrays(on, memory, [this](const auto& each) { this->scratch(each); });
    make_arrays(on, memory, [this](const auto& each) { this->of_batch(totals_, each); });
  }
  /// Calls `each` with each array that the batch has in the end, and its size.
  template <class Each>
  void of_batch(const BatchTotals& totals, const Each& each) {
    each(batch_.seed_index, totals.seeds);
    for (std::size_t type = 0; type < totals.nodes.size(); ++type) {
      each(batch_.nodes[type].ids, totals.nodes[type]);
    }
    for (std::size_t type = 0; type < totals.edges.size(); ++type) {
      auto& to = batch_.edges[type];
      const auto& data = graph_.edges[type].data;
      each(to.offsets, totals.rows[type] + 1);
      each(to.sources, totals.edges[type]);
      if (data.entries) {
        each(entries_[type], totals.edges[type]);
      }
      each_stored_datum(
          [&]<class T>(bool wanted, Array<T>& taken) {
            if (wanted) {
              each(taken, totals.edges[type]);
            }
          },
          data, to);
    }
  }

 private:
  struct Rows {
    Array<std::uint32_t> counts;
    Array<std::uint32_t> offsets;
  };
  struct Table {
    std::uint32_t bits = 0;
    Array<std::uint64_t> words;
    Array<std::uint32_t> values;  ///< Where ids have 8 bytes
  };

  bool is_wide(std::size_t type, std::uint32_t hop) const {
    return counts_edges(type, hop) && most_edges(rule_of(plan_, type, hop), rows_room(type, hop),
                                                 graph_.edges[type].entries) > most_candidates;
  }
  template <class Each>
  void scratch(const Each& each) {
    each(sizes_, groups_ + hops_ * graph_.edges.size());
    each(ends_, candidates_.size());
    bool wide = false;
    for (std::size_t type = 0; type < entries_.size(); ++type) {
      for (std::uint32_t hop = 0; hop < hops_; ++hop) {
        auto& at = rows_[hop * entries_.size() + type];
        const std::size_t rows = counts_edges(type, hop) ? rows_room(type, hop) : 0;
        each(at.counts, rows);
        each(at.offsets, rows > 0 ? rows + 1 : 0);
        wide = wide || is_wide(type, hop);
      }
      if (wants_entries(type) && !graph_.edges[type].data.entries) {
        each(entries_[type], totals_.edges[type]);
      }
    }
    each(wide_, wide ? hops_ * entries_.size() : 0);
    for (std::size_t type = 0; type < tables_.size(); ++type) {
      auto& of = tables_[type];
      const std::size_t slots = nodes_room(type) > 0 ? std::size_t{1} << of.bits : 0;
      each(of.words, slots);
      each(of.values, graph_.nodes[type].id_bytes == 8 ? slots : 0);
    }
    for (auto& of : candidates_) {
      each(of.marks, of.room);
      each(of.ranks, of.room > 0 ? of.room + 1 : 0);
    }
  }

  const DeviceGraph& graph_;
  const SamplingPlan& plan_;
  const BatchSizes& room_;
  DeviceBatch& batch_;
  std::size_t groups_;
  std::uint32_t hops_;
  BatchTotals totals_;
  Array<HopSizes> sizes_;  ///< Groups of seeds, then [hop][edge type]
  Array<std::uint32_t> ends_;
  Array<std::uint64_t> wide_;
  std::vector<TripCandidates> candidates_;  ///< [stage][node type]
  std::vector<Rows> rows_;                  ///< [hop][edge type]
  std::vector<Table> tables_;
  std::vector<Array<std::uint64_t>> entries_;
};

}  // namespace troupe::gpu
