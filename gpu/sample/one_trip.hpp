#pragma once
/// \file one_trip.hpp
/// One batch with one wait, in arrays that are as large as those of batches before it. For
/// sample_hops.hpp only.
#include "gpu/sample/trip_arrays.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::gpu {

struct TripOptions {
  Memory memory = Memory::one_block;
  /// A batch that leaves more than this, and more than it has itself, of its room unused, that of nodes
  /// aside, gets memory of its own: else many small batches would keep the room of a large one each.
  std::uint64_t most_unused_bytes = std::uint64_t{1} << 20;
};

/// Memory of the host that kernels read a batch's seeds in, and write its sizes to: copies would be a
/// launch each, and wait for another engine of the device. A sampler keeps it for its next batch.
struct TripHost {
  Array<std::uint64_t> seeds;
  Array<HopSizes> sizes;
  Array<std::uint32_t> ends;
};

/// The host knows what there is room for. Kernels read sizes that kernels before them wrote; where
/// something does not fit they find none, and so write nowhere.
/// Lifecycle: run(), once
/// Borrows:   everything that it is made with
template <class Stream>
class OneTrip {
 public:
  /// \param seeds  of seeds_for_device()
  /// \param room   of room_for(), for the same seeds; there are hops
  OneTrip(Stream& on, const DeviceGraph& graph, const SamplingPlan& plan, const BatchSizes& room,
          BatchKey key, std::span<const SeedsOfType> seeds)
      : on_(on),
        graph_(graph),
        plan_(plan),
        seeds_(seeds),
        hops_(static_cast<std::uint32_t>(plan.fanout.size())),
        batch_(batch_to_be(graph, plan, key, seeds)),
        arrays_(graph, plan, room, batch_, seeds),
        ends_(graph.nodes.size()) {}
  OneTrip(const OneTrip&) = delete;
  OneTrip& operator=(const OneTrip&) = delete;

  /// \returns nothing: the batch does not fit
  Result<std::optional<DeviceBatch>> run(TripHost& host, const TripOptions& options) {
    arrays_.make(on_, options.memory);
    grow(host.seeds, arrays_.room().seeds);
    grow(host.sizes, arrays_.all_sizes().size());
    grow(host.ends, arrays_.ends().size());
    if (!on_.failed()) {
      launch_all(host);
    }
    TROUPE_RETURN_IF_ERROR(on_.finish());
    if (!fits(host)) {
      return std::optional<DeviceBatch>();
    }
    read_sizes(host);
    TROUPE_RETURN_IF_ERROR(trim(options));
    return std::optional<DeviceBatch>(std::move(batch_));
  }
  /// \requires a batch that fits
  const BatchSizes& sizes() const { return sizes_; }

 private:
  template <class T>
  void grow(Array<T>& array, std::size_t size) {
    if (array.size() < size && !on_.failed()) {
      array = on_.template host_array<T>(size + size / 2);
    }
  }

  void launch_all(TripHost& host) {
    if (!arrays_.wide().empty()) {
      on_.zero(arrays_.wide().data(), arrays_.wide().size_bytes());
    }
    for (std::size_t type = 0; type < graph_.nodes.size(); ++type) {
      if (arrays_.nodes_room(type) > 0) {
        arrays_.with_table(type, [&]<class Table>(const Table& table) {
          on_.for_each(std::size_t{1} << table.bits, EmptySlot<Table>{table});
        });
      }
    }
    insert_seeds(host);
    number(0);
    for (std::uint32_t hop = 0; hop < hops_; ++hop) {
      std::vector<const HopSizes*> beside(graph_.nodes.size());
      for (std::size_t type = 0; type < graph_.edges.size(); ++type) {
        sample(type, hop, std::exchange(beside[arrays_.source(type)], arrays_.sizes(type, hop)));
      }
      number(hop + std::size_t{1});
    }
    for (std::size_t type = 0; type < graph_.edges.size(); ++type) {
      take_data(type);
    }
    const auto& sizes = arrays_.all_sizes();
    const auto& ends = arrays_.ends();
    on_.for_each(std::max(sizes.size(), ends.size()),
                 ReportSizes{sizes.data(), sizes.size(), ends.data(), ends.size(),
                             host.sizes.data(), host.ends.data()});
  }

  void insert_seeds(TripHost& host) {
    std::size_t before = 0;
    std::vector<std::uint32_t> of_type(graph_.nodes.size());
    for (std::size_t group = 0; group < seeds_.size(); ++group) {
      const auto& [node_type, nodes] = seeds_[group];
      const std::size_t type = raw(node_type);
      const auto count = static_cast<std::uint32_t>(nodes.size());
      if (count == 0) {
        continue;
      }
      auto* const ids = host.seeds.data() + before;
      auto* const slots = batch_.seed_index.data() + before;
      auto* const sizes = arrays_.sizes_of_group(group);
      std::memcpy(ids, nodes.data(), count * sizeof(std::uint64_t));
      const HopSizes of_group{.fits = 1, .edges = count, .first = of_type[type]};
      arrays_.with_table(type, [&]<class Table>(const Table& table) {
        on_.for_each(count, InsertSeed<Table>{table, ids, slots, of_group, sizes});
      });
      arrays_.candidates(0, type).slices.push_back({{slots, sizes}, count});
      of_type[type] += count;
      before += count;
    }
  }

  /// \param beside  sizes of the edge type before that leads to the same nodes, or null
  void sample(std::size_t type, std::uint32_t hop, const HopSizes* beside) {
    const auto destination = arrays_.destination(type);
    const bool fresh = plan_.frontier == Frontier::fresh && hop > 0;
    const SizedRows rows{.ids = batch_.nodes[destination].ids.data(),
                         .offsets = graph_.edges[type].offsets.data(),
                         .first = fresh ? end_after(hop - std::size_t{1}, destination) : nullptr,
                         .end = end_after(hop, destination)};
    if (arrays_.counts_edges(type, hop)) {
      count(type, hop, rows);
    }
    const auto measure = measure_of(type, hop, rows, beside);
    with_draw(type, hop, [&]<class Draw>(const Draw& draw) {
      on_.for_each(std::max<std::size_t>(measure.rows_room, 1),
                   DrawSizedRow<Draw>{measure, arrays_.sizes(type, hop),
                                      batch_.edges[type].offsets.data(), draw});
    });
    if (is_drawn(type, hop) && plan_.weighted) {
      on_.for_each(
          measure.rows_room,
          DrawSizedWeightedRow{rows, rule_of(plan_, type, hop), graph_.edges[type].aliases.data(),
                               draws_of(type, hop), arrays_.sizes(type, hop)});
    }
    take_entries(type, hop, rows);
  }
  MeasureHop measure_of(std::size_t type, std::uint32_t hop, const SizedRows& rows,
                        const HopSizes* beside) const {
    const auto source = arrays_.source(type);
    const auto nodes_room = arrays_.nodes_room(source);
    return {.rows = rows,
            .row_offsets = arrays_.row_offsets(type, hop),
            .edges = arrays_.wide_of(type, hop),
            .earlier = hop > 0 ? arrays_.sizes(type, hop - std::size_t{1}) : nullptr,
            .beside = beside,
            .source_end = end_after(hop, source),
            .rows_room = static_cast<std::uint32_t>(arrays_.rows_room(type, hop)),
            .edges_room = static_cast<std::uint32_t>(arrays_.edges_room(type, hop)),
            .nodes_room = nodes_room < graph_.nodes[source].count ? nodes_room : ~std::uint64_t{0}};
  }
  void count(std::size_t type, std::uint32_t hop, const SizedRows& rows) {
    const auto& lists = graph_.edges[type];
    const auto rule = rule_of(plan_, type, hop);
    const std::size_t room = arrays_.rows_room(type, hop);
    auto* const counts = arrays_.counts(type, hop);
    if (plan_.weighted && !rule.all) {
      on_.for_each(room, CountSizedWeightedRow{rows, rule, lists.aliases.data(), lists.zero_weights,
                                               counts});
    } else {
      on_.for_each(room, CountSizedRow{rows, rule, counts});
    }
    on_.running_sum(counts, room, arrays_.row_offsets(type, hop));
    if (auto* const sum = arrays_.wide_of(type, hop); sum != nullptr) {
      on_.for_each(room, AddUpCount{counts, sum});
    }
  }
  bool is_drawn(std::size_t type, std::uint32_t hop) const {
    return !rule_of(plan_, type, hop).all && arrays_.edges_room(type, hop) > 0;
  }
  RowDraws draws_of(std::size_t type, std::uint32_t hop) const {
    return {draws_key(plan_, batch_.key, type, hop),
            graph_.nodes[arrays_.destination(type)].original_ids.data(),
            arrays_.row_offsets(type, hop), batch_.edges[type].sources.data()};
  }
  /// Whether FewDraw draws: where it writes rows of edges, else null. They lie where marks of candidates
  /// will, in memory that is not read yet.
  std::uint32_t* edge_rows(std::size_t type, std::uint32_t hop) {
    const bool few =
        is_drawn(type, hop) && !plan_.weighted && rule_of(plan_, type, hop).fanout <= most_few;
    return few ? arrays_.candidates(hop + std::size_t{1}, arrays_.source(type)).marks.data()
               : nullptr;
  }
  /// Calls `f` with what draws the positions of a row when the hop is measured.
  template <class F>
  void with_draw(std::size_t type, std::uint32_t hop, F&& f) {
    const auto rule = rule_of(plan_, type, hop);
    const auto draws = draws_of(type, hop);
    auto* const rows = edge_rows(type, hop);
    if (!is_drawn(type, hop) || plan_.weighted) {
      f(NoDraw{});
    } else if (rows == nullptr) {
      f(UniformDraw{rule, draws});
    } else if (rule.fanout <= 4) {
      f(FewDraw<4>{rule, draws, rows});
    } else if (rule.fanout <= 8) {
      f(FewDraw<8>{rule, draws, rows});
    } else {
      f(FewDraw<most_few>{rule, draws, rows});
    }
  }
  void take_entries(std::size_t type, std::uint32_t hop, const SizedRows& rows) {
    const std::size_t room = arrays_.edges_room(type, hop);
    if (room == 0) {
      return;
    }
    const auto* const neighbours = graph_.edges[type].neighbours.data();
    const auto* const sizes = arrays_.sizes(type, hop);
    auto* const slots = batch_.edges[type].sources.data();
    auto* const entries = arrays_.wants_entries(type) ? arrays_.entries(type).data() : nullptr;
    const auto source = arrays_.source(type);
    arrays_.with_table(source, [&]<class Id>(const NodeTable<Id>& table) {
      on_.for_each(room, TakeSizedEntry<Id, NodeTable<Id>>{
                             rows, rule_of(plan_, type, hop), arrays_.row_offsets(type, hop), sizes,
                             edge_rows(type, hop), reinterpret_cast<const Id*>(neighbours), table,
                             slots, entries});
    });
    arrays_.candidates(hop + std::size_t{1}, source).slices.push_back({{slots, sizes}, room});
  }

  /// Place in the ends of the nodes of a type after a stage; none: there are no nodes.
  const std::uint32_t* end_after(std::size_t stage, std::size_t type) const {
    const auto& at = ends_[type][stage];
    return at ? arrays_.ends().data() + *at : nullptr;
  }
  /// Numbers the nodes of the candidates of the seeds (stage 0) or of a hop.
  void number(std::size_t stage) {
    for (std::size_t type = 0; type < ends_.size(); ++type) {
      const auto& of = arrays_.candidates(stage, type);
      auto& end = ends_[type];
      if (of.room == 0) {
        end.push_back(stage > 0 ? end[stage - 1] : std::nullopt);
        continue;
      }
      end.push_back(arrays_.place_of_end(stage, type));
      number_type(type, of, stage > 0 ? end_after(stage - 1, type) : nullptr,
                  arrays_.ends().data() + *end.back());
    }
  }
  void number_type(std::size_t type, const TripCandidates& of, const std::uint32_t* end,
                   std::uint32_t* next_end) {
    auto* const ids = batch_.nodes[type].ids.data();
    arrays_.with_table(type, [&]<class Table>(const Table& table) {
      for (const auto& at : of.slices) {
        on_.for_each(at.room, MarkSizedFirst<Table>{table, at.slice, of.marks.data()});
      }
      on_.running_sum(of.marks.data(), of.room, of.ranks.data());
      for (const auto& at : of.slices) {
        auto* const next = &at == &of.slices.back() ? next_end : nullptr;
        on_.for_each(at.room, NumberSized<Table>{table, at.slice, of.ranks.data(), end, next, ids});
      }
    });
  }
  void take_data(std::size_t type) {
    const std::size_t room = arrays_.room().edges[type];
    const auto& lists = graph_.edges[type];
    const auto& entries = arrays_.entries(type);
    each_stored_datum(
        [&]<class T>(bool wanted, const Array<T>& values, const Array<T>& taken) {
          if (wanted && room > 0) {
            on_.for_each(room, TakeSizedDatum<T>{{values.data(), entries.data(), taken.data()},
                                                 arrays_.sizes(type, hops_ - std::size_t{1})});
          }
        },
        lists.data, lists, batch_.edges[type]);
  }

  bool fits(const TripHost& host) const {
    return std::all_of(host.sizes.data() + seeds_.size(),
                       host.sizes.data() + arrays_.all_sizes().size(),
                       [](const HopSizes& of) { return of.fits != 0; });
  }
  /// Has the numbers of nodes, rows and edges from the device.
  void read_sizes(const TripHost& host) {
    totals_.seeds = arrays_.room().seeds;
    for (std::size_t type = 0; type < ends_.size(); ++type) {
      auto& nodes = batch_.nodes[type];
      for (const auto& at : ends_[type]) {
        nodes.hop_end.push_back(at ? host.ends.data()[*at] : 0);
      }
      totals_.nodes.push_back(nodes.count());
    }
    std::vector<std::vector<std::uint64_t>> edges_by_hop(
        hops_, std::vector<std::uint64_t>(graph_.edges.size()));
    for (std::size_t type = 0; type < graph_.edges.size(); ++type) {
      auto& edges = batch_.edges[type];
      edges.row_begin = {0};
      totals_.edges.push_back(0);
      for (std::uint32_t hop = 0; hop < hops_; ++hop) {
        const auto& of = host.sizes.data()[arrays_.place_of_hop(type, hop)];
        edges.row_begin.push_back(of.row_begin + of.rows);
        edges_by_hop[hop][type] = of.edges;
        totals_.edges.back() += of.edges;
      }
      totals_.rows.push_back(edges.row_begin.back());
    }
    sizes_ = sizes_of(batch_, std::move(edges_by_hop));
  }
  /// Ids of nodes always have room for all candidates of the last hop, which are many times as many.
  static BatchTotals without_nodes(BatchTotals totals) {
    std::ranges::fill(totals.nodes, 0);
    return totals;
  }
  /// Gives the arrays their sizes, and memory of their own where options say so, which waits again.
  Status trim(const TripOptions& options) {
    std::uint64_t needed = 0;
    std::uint64_t kept = 0;
    const auto bytes_to = [](std::uint64_t& sum) {
      return
          [&sum]<class T>(const Array<T>& /*array*/, std::size_t size) { sum += size * sizeof(T); };
    };
    arrays_.of_batch(without_nodes(totals_), bytes_to(needed));
    arrays_.of_batch(without_nodes(arrays_.room()), bytes_to(kept));
    const bool copies = kept > 2 * needed + options.most_unused_bytes;
    arrays_.of_batch(totals_, [&]<class T>(Array<T>& array, std::size_t size) {
      if (size == 0) {
        array = {};
      } else if (copies) {
        const auto own = on_.template array<T>(size);
        if (!on_.failed()) {
          on_.copy(array.data(), own.data(), own.size_bytes());
        }
        array = own;
      } else {
        array = array.first(size);
      }
    });
    for (std::size_t type = 0; type < graph_.edges.size(); ++type) {
      if (graph_.edges[type].data.entries) {
        batch_.edges[type].entries = std::move(arrays_.entries(type));
      }
    }
    return copies ? on_.finish() : ok_status();
  }

  Stream& on_;
  const DeviceGraph& graph_;
  const SamplingPlan& plan_;
  std::span<const SeedsOfType> seeds_;
  std::uint32_t hops_;
  DeviceBatch batch_;
  TripArrays arrays_;
  std::vector<std::vector<std::optional<std::size_t>>>
      ends_;  ///< [node type][stage]; see end_after()
  BatchTotals totals_;
  BatchSizes sizes_;
};

}  // namespace troupe::gpu
