#include "runtime/sample/one_hop.hpp"

#include "runtime/base/section_cutter.hpp"
#include "runtime/sample/choice/within.hpp"
#include "runtime/sample/hop_checks.hpp"
#include "runtime/sample/hop_rows.hpp"
#include "runtime/sample/left_out.hpp"
#include "runtime/sample/reply_data.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t group_nodes = 64;  // frontier nodes whose memory is requested together

/// Nodes of a section that a reply covers: where their lists lie and how many
/// entries of each it takes, at most.
struct SectionPlan {
  struct Row {
    std::uint64_t begin;    ///< First entry of the list, or of the rest that is requested
    std::uint32_t entries;  ///< From there to the end of the list
    bool whole;             ///< The entries from `begin` are taken as they lie, without a
                            ///< choice
  };
  /// Of a group whose lists are all taken whole: it has no rows.
  static constexpr std::size_t whole_lists = ~std::size_t{0};

  PooledVector<Row> rows;
  PooledVector<std::size_t> first_rows;  ///< Of each group of nodes
  PooledVector<std::uint32_t> counts;    ///< Of each node
  std::uint64_t edges = 0;
  std::uint64_t resume_position = 0;
};

/// Edges that a reply may still hold.
struct Room {
  std::uint64_t edges;
  bool empty_reply;  ///< Nothing is in it yet: one list passes whatever its
                     ///< length
};

/// Samples along one edge type.
template <class Rows>
class SectionSampler {
 public:
  SectionSampler(const Part& part, const HopRequest& request, const HopSection& section,
                 const ChoiceKind& kind)
      : part_(part),
        section_(section),
        frontier_(request.frontiers[section.frontier].nodes),
        trees_(request.frontiers[section.frontier].trees),
        times_(request.frontiers[section.frontier].times),
        time_rule_(request.time),
        rows_(part, request.frontiers[section.frontier].node_type, section.edge_type, request.dir),
        left_out_(part, section, request.dir, rows_.lists),
        dir_(request.dir) {
    ChoiceOptions options{.fanout = static_cast<std::uint32_t>(std::max(section.fanout, 0)),
                          .replace = request.replace,
                          .neighbours = rows_.lists.neighbours,
                          .neighbour_originals = rows_.lists.neighbour_originals};
    if (section.within) {
      choice_ = make_within(options, request.frontiers[*section.within].nodes);
      reads_entries_ = true;
    } else if (section.fanout != all_neighbours) {
      choice_ = kind.make(options);
      needs_weights_ = kind.needs_weights && section.fanout > 0;
      needs_times_ = kind.needs_times && section.fanout > 0;
      needs_originals_ = kind.needs_originals && section.fanout > 0;
      reads_entries_ = reads_entries(kind) && section.fanout > 0;
    }
  }

  unsigned width_bytes() const { return rows_.lists.neighbours.width_bytes(); }
  const SectionPlan& planned() const { return plan_; }
  /// Nothing of the section needs another request.
  bool complete() const {
    return plan_.counts.size() == frontier_.size() && plan_.resume_position == 0;
  }

  Status check() const {
    const auto edge_type = raw(section_.edge_type);
    const auto& lists = rows_.lists;
    const auto other = dir_ == EdgeDir::in ? CompleteFor::out : CompleteFor::in;
    if (!lists.present() || part_.complete_for == other) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no whole lists for direction {}",
                                          edge_type, dir_ == EdgeDir::in ? "in" : "out"));
    }
    if (lists.offsets.size() != rows_.count() + 1) {
      return sampling_refused(part_, Errc::invalid_argument,
                              fmt::format("edge type {} has lists for {} "
                                          "nodes, its frontier's node type {}",
                                          edge_type, lists.offsets.size() - 1, rows_.count()));
    }
    TROUPE_RETURN_IF_ERROR(try_each_stored_datum(
        [&](bool wanted, const auto& of_lists, std::string_view name) -> Status {
          if (wanted && of_lists.size() != lists.neighbours.size()) {
            return sampling_refused(part_, Errc::failed_precondition,
                                    fmt::format("edge type {} has no {} stored", edge_type, name));
          }
          return ok_status();
        },
        section_.edge_data, lists, edge_data_names));
    if (section_.edge_data.entries && !rows_.has_entries) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no features beside "
                                          "these lists: they lie beside "
                                          "the main lists of the nodes' owner",
                                          edge_type));
    }
    if (needs_times_ && lists.times.size() != lists.neighbours.size()) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no times stored", edge_type));
    }
    const auto sums = limited() ? lists.weight_sums.size() : lists.neighbours.size();
    if (needs_weights_ &&
        (lists.aliases.size() != lists.neighbours.size() || sums != lists.neighbours.size())) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no alias tables for direction {}",
                                          edge_type, dir_ == EdgeDir::in ? "in" : "out"));
    }
    if (needs_originals_ && lists.neighbour_originals.size() != lists.neighbours.size()) {
      return sampling_refused(
          part_, Errc::failed_precondition,
          fmt::format("edge type {} has no original ids of neighbors for direction {}", edge_type,
                      dir_ == EdgeDir::in ? "in" : "out"));
    }
    return ok_status();
  }

  /// One pass over the offsets: checks the nodes and finds out what fits, so
  /// that the reply is allocated once.
  Status plan(Room room) {
    plan_.counts.reserve(frontier_.size());
    for (std::size_t first = 0; first < frontier_.size(); first += group_nodes) {
      const auto nodes = frontier_.subspan(first, std::min(group_nodes, frontier_.size() - first));
      fetch_offsets(first + group_nodes);
      if (plan_whole_lists(first, nodes, room)) {
        continue;
      }
      plan_.rows.reserve(plan_.rows.size() + frontier_.size() - first);
      plan_.first_rows.push_back(plan_.rows.size());
      std::array<std::uint64_t, group_nodes> begins{};
      std::array<Stretch, group_nodes> stretches{};
      search_times(first, nodes);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::uint64_t skipped = first + i == 0 ? section_.first_position : 0;
        TROUPE_ASSIGN_OR_RETURN(const List list, list_of(first + i, skipped));
        begins[i] = list.begin;
        stretches[i].entries = list.entries;
        stretches[i].excluded = list.excluded;
        stretches[i].first_entry = list.begin;
        stretches[i].tree = trees_.empty() ? 0 : trees_[first + i];
        stretches[i].zero_weights = rows_.lists.zero_weights;
      }
      plan_group(std::span(stretches).first(nodes.size()));
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!cover(begins[i], stretches[i], room)) {
          return ok_status();
        }
      }
    }
    return ok_status();
  }

  /// Draws and copies the planned rows, group by group: the entries of one are
  /// read while those of the next are drawn. \returns the entries written
  template <class IdT>
  std::uint64_t write(std::span<const IdT> ids, IdT* out, const DataPlaces& data) {
    if (!choice_) {
      return copy_lists(ids, out, data);
    }
    std::array<PooledVector<std::uint64_t>, 2> entries;
    std::uint64_t written = 0;
    const auto copy = [&](const PooledVector<std::uint64_t>& from) {
      pick(ids.data(), from, out + written);
      each_stored_datum(
          [&]<class T>(std::span<const T> values, T* to) {
            if (to != nullptr) {
              pick(values.data(), from, to + written);
            }
          },
          rows_.lists, data);
      if (data.entries != nullptr) {
        std::ranges::copy(from, data.entries + written);
      }
      written += from.size();
    };
    fetch(0);
    for (std::size_t first = 0, group = 0; first < plan_.counts.size();
         first += group_nodes, ++group) {
      fetch(first + group_nodes);
      draw_group(ids, first, entries[group % 2]);
      copy(entries[(group + 1) % 2]);
      entries[(group + 1) % 2].clear();
    }
    copy(entries[0]);
    copy(entries[1]);
    return written;
  }

  const IdSpan& ids() const { return rows_.lists.neighbours; }
  EdgeData edge_data() const { return section_.edge_data; }

 private:
  /// A list, or the rest of it that is requested.
  struct List {
    std::uint64_t begin;
    std::uint32_t entries;
    std::span<const std::uint32_t> excluded;  ///< Of those that count among the entries
  };
  Result<List> list_of(std::size_t at, std::uint64_t skipped) {
    const NodeId node = frontier_[at];
    if (!rows_.has(node)) {
      return sampling_refused(
          part_, Errc::invalid_argument,
          fmt::format("frontier node {} is not {}", raw(node), rows_.expected()));
    }
    const std::uint64_t row = rows_.row(node);
    const std::uint64_t degree = rows_.lists.degree(row);
    const auto allowed = limited() ? search_.allowed(at % group_nodes) : AllowedEntries{0, degree};
    if (degree > std::numeric_limits<std::uint32_t>::max()) {
      return sampling_refused(
          part_, Errc::unimplemented,
          fmt::format("node {} has degree {}, at most 2^32-1 works", raw(node), degree));
    }
    const std::uint64_t begin = rows_.lists.offsets[row] + allowed.begin;
    const std::uint64_t end = rows_.lists.offsets[row] + allowed.end;
    const auto excluded = left_out_.find(at, begin, end);
    const std::uint64_t entries = end - begin - excluded.size();
    if (skipped > entries) {
      return sampling_refused(
          part_, Errc::invalid_argument,
          fmt::format("first position {} of node {} of degree {}", skipped, raw(node), entries));
    }
    if (reads_entries_) {
      return List{begin, static_cast<std::uint32_t>(end - begin), excluded};
    }
    if (excluded.empty()) {
      return List{begin + skipped, static_cast<std::uint32_t>(entries - skipped), {}};
    }
    return List{begin + left_out_.skip(skipped), static_cast<std::uint32_t>(entries - skipped), {}};
  }

  bool takes_whole_lists(std::size_t i) const {
    return plan_.first_rows[i / group_nodes] == SectionPlan::whole_lists;
  }
  /// Of the planned node at place `i`.
  SectionPlan::Row row_of(std::size_t i) const {
    if (takes_whole_lists(i)) {
      return {rows_.lists.offsets[rows_.row(frontier_[i])], plan_.counts[i], true};
    }
    return plan_.rows[plan_.first_rows[i / group_nodes] + i % group_nodes];
  }
  /// Starts to load where the lists of a group begin, unless a cache has all of
  /// that.
  void fetch_offsets(std::size_t first) const {
    constexpr std::size_t cached_bytes = std::size_t{256} << 10;
    if (rows_.lists.offsets.size_bytes() <= cached_bytes) {
      return;
    }
    for (std::size_t i = first; i < std::min(first + group_nodes, frontier_.size()); ++i) {
      if (rows_.has(frontier_[i])) {
        __builtin_prefetch(&rows_.lists.offsets[rows_.row(frontier_[i])]);
      }
    }
  }

  /// Whether times limit what is taken: not along edges without them.
  bool limited() const { return !times_.empty() && !rows_.lists.times.empty(); }

  /// Finds out what of their lists the nodes of a group may take.
  void search_times(std::size_t first, std::span<const NodeId> nodes) {
    if (!limited()) {
      return;
    }
    search_.begin(time_rule_);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::span<const std::int64_t> times;  // none of a node that list_of() refuses
      if (rows_.has(nodes[i])) {
        const std::uint64_t row = rows_.row(nodes[i]);
        times = rows_.lists.times.subspan(rows_.lists.offsets[row], rows_.lists.degree(row));
      }
      search_.add(times, times_[first + i]);
    }
    search_.search();
  }

  /// Plans a group without a choice, if all of its lists are short: where nodes
  /// have edges of few of many types, most lists are empty. \returns false:
  /// nothing was planned
  bool plan_whole_lists(std::size_t first, std::span<const NodeId> nodes, Room room) {
    if constexpr (std::is_same_v<Rows, OwnedRows>) {
      const bool plain = !limited() && !reads_entries_ && rows_.count() > 0 &&
                         (first > 0 || section_.first_position == 0) &&
                         left_out_.nothing_before(first + nodes.size());
      const std::uint64_t most = choice_ ? choice_->whole_up_to()
                                         : std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
      std::array<std::uint32_t, group_nodes> counts;
      std::uint64_t longest = plain ? 0 : most + 1;
      std::uint64_t edges = 0;
      // A few lists at a time: most graphs have long ones among the first, which end the attempt.
      constexpr std::size_t side_by_side = 16;
      for (std::size_t i = 0; i < nodes.size() && longest <= most; i += side_by_side) {
        for (std::size_t k = i; k < std::min(i + side_by_side, nodes.size()); ++k) {
          const std::uint64_t row = rows_.row(nodes[k]);
          const bool its = row < rows_.count();
          const std::uint64_t degree = its ? rows_.lists.degree(row) : most + 1;
          longest = std::max(longest, degree);
          edges += degree;
          counts[k] = static_cast<std::uint32_t>(degree);
        }
      }
      if (longest > most || edges > room.edges - std::min(plan_.edges, room.edges)) {
        return false;
      }
      plan_.first_rows.push_back(SectionPlan::whole_lists);
      plan_.counts.insert(plan_.counts.end(), counts.begin(),
                          counts.begin() + static_cast<std::ptrdiff_t>(nodes.size()));
      plan_.edges += edges;
      return true;
    }
    return false;
  }

  void plan_group(std::span<Stretch> group) {
    if (choice_) {
      return choice_->plan(section_.key, group);
    }
    for (auto& stretch : group) {
      stretch.taken = stretch.entries;
      stretch.whole = true;
    }
  }

  /// Adds a node to the plan.
  /// \returns whether the reply has room for more
  bool cover(std::uint64_t begin, const Stretch& stretch, Room room) {
    std::uint32_t count = stretch.taken;
    const bool passes_alone = choice_ && room.empty_reply && plan_.edges == 0;
    if (count > room.edges - std::min(plan_.edges, room.edges) && !passes_alone) {
      if (choice_ || plan_.edges >= room.edges) {
        return false;
      }
      count = static_cast<std::uint32_t>(room.edges - plan_.edges);
      plan_.resume_position = (plan_.counts.empty() ? section_.first_position : 0) + count;
    }
    plan_.rows.push_back({begin, stretch.entries, stretch.whole});
    plan_.counts.push_back(count);
    plan_.edges += count;
    return plan_.resume_position == 0;
  }

  /// Copies every planned list as it lies.
  template <class IdT>
  std::uint64_t copy_lists(std::span<const IdT> ids, IdT* out, const DataPlaces& data) {
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < plan_.counts.size(); ++i) {
      if (plan_.counts[i] == 0) {
        continue;
      }
      if (i + 1 < plan_.counts.size()) {
        __builtin_prefetch(ids.data() + row_of(i + 1).begin);
      }
      const auto begin = row_of(i).begin;
      const auto positions = left_out_.first_kept(i, plan_.counts[i]);
      const auto copy = [&]<class T>(std::span<const T> list, T* to) {
        if (to != nullptr && positions.empty()) {
          std::copy_n(list.data() + begin, plan_.counts[i], to + written);
        } else if (to != nullptr) {
          std::ranges::transform(positions, to + written,
                                 [&](std::uint32_t position) { return list[begin + position]; });
        }
      };
      copy(ids, out);
      each_stored_datum(copy, rows_.lists, data);
      if (data.entries != nullptr) {
        write_entries(begin, plan_.counts[i], positions, data.entries + written);
      }
      written += plan_.counts[i];
    }
    return written;
  }

  /// \param positions  of the entries after `begin`; empty: the first ones
  static void write_entries(std::uint64_t begin, std::uint32_t count,
                            std::span<const std::uint32_t> positions, std::uint64_t* to) {
    for (std::uint32_t k = 0; k < count; ++k) {
      to[k] = begin + (positions.empty() ? k : positions[k]);
    }
  }

  /// Starts to load what is known of the rows of a group among which a choice
  /// is made.
  void fetch(std::size_t first) const {
    if (first >= plan_.counts.size() || takes_whole_lists(first)) {
      return;
    }
    for (std::size_t i = first; i < std::min(first + group_nodes, plan_.counts.size()); ++i) {
      const auto row = row_of(i);
      if (!row.whole) {
        __builtin_prefetch(&rows_.original_id(frontier_[i]));
        if (needs_weights_ && limited()) {
          const auto* const sums = rows_.lists.weight_sums.data() + row.begin;
          __builtin_prefetch(sums - 1);
          __builtin_prefetch(sums + row.entries - 1);
        }
      }
    }
  }

  /// Finds out which entries the rows of a group take, and starts to load them.
  template <class IdT>
  void draw_group(std::span<const IdT> ids, std::size_t first,
                  PooledVector<std::uint64_t>& entries) {
    const std::size_t end = std::min(first + group_nodes, plan_.counts.size());
    if (takes_whole_lists(first)) {
      for (std::size_t i = first; i < end; ++i) {
        for (std::uint32_t k = 0; k < plan_.counts[i]; ++k) {
          entries.push_back(row_of(i).begin + k);
          __builtin_prefetch(ids.data() + entries.back());
        }
      }
      return;
    }
    const auto* const rows = plan_.rows.data() + plan_.first_rows[first / group_nodes];
    std::array<Stretch, group_nodes> stretches;
    std::size_t drawn = 0;
    std::size_t most_drawn = 0;
    std::size_t most = 0;
    for (std::size_t i = first; i < end; ++i) {
      most += plan_.counts[i];
      if (const auto& row = rows[i - first]; !row.whole) {
        auto& stretch = stretches[drawn++];
        stretch = {.original_id = rows_.original_id(frontier_[i]),
                   .excluded = left_out_.positions(i),
                   .first_entry = row.begin,
                   .tree = trees_.empty() ? 0 : trees_[i],
                   .entries = row.entries,
                   .taken = plan_.counts[i],
                   .zero_weights = rows_.lists.zero_weights};
        add_weights(stretch, row.begin);
        most_drawn += plan_.counts[i];
      }
    }
    positions_.resize(std::max(positions_.size(), most_drawn));
    if (drawn > 0) {
      choice_->choose(section_.key, std::span(stretches).first(drawn),
                      std::span(positions_).first(most_drawn));
    }
    entries.resize(most);
    constexpr std::span<const std::uint32_t> none;
    const bool all_left = reads_entries_ || left_out_.none();
    std::uint64_t* out = entries.data();
    const std::uint32_t* position = positions_.data();
    const Stretch* stretch = stretches.data();
    for (std::size_t i = first; i < end; ++i) {
      const auto& row = rows[i - first];
      const std::uint32_t count = row.whole ? plan_.counts[i] : (stretch++)->taken;
      plan_.counts[i] = count;
      TruePositions true_position(all_left ? none : left_out_.positions(i));
      for (std::uint32_t k = 0; k < count; ++k, ++out) {
        *out = row.begin + true_position(row.whole ? k : *position++);
        __builtin_prefetch(ids.data() + *out);
      }
    }
    entries.resize(static_cast<std::size_t>(out - entries.data()));
  }

  /// Where the weights of a stretch lie that begins at an entry.
  void add_weights(Stretch& stretch, std::uint64_t begin) const {
    if (needs_weights_ && limited()) {
      stretch.weight_sums = &rows_.lists.weight_sums[begin];
      stretch.sum_before = begin == 0 ? 0 : rows_.lists.weight_sums[begin - 1];
    } else if (needs_weights_) {
      stretch.aliases = &rows_.lists.aliases[begin];
    }
  }

  template <class T>
  static void pick(const T* lists, std::span<const std::uint64_t> entries, T* out) {
    for (const std::uint64_t entry : entries) {
      *out++ = lists[entry];
    }
  }

  const Part& part_;
  const HopSection& section_;
  std::span<const NodeId> frontier_;
  std::span<const std::uint32_t> trees_;
  std::span<const std::int64_t> times_;
  TimeRule time_rule_;
  const Rows rows_;
  LeftOut left_out_;
  EdgeDir dir_;
  bool needs_weights_ = false;
  bool needs_times_ = false;
  bool needs_originals_ = false;
  bool reads_entries_ = false;
  std::unique_ptr<Choice> choice_;  ///< Null: all entries are taken
  StretchSearch search_;            ///< Of the group that is planned
  SectionPlan plan_;
  PooledVector<std::uint32_t> positions_;  ///< Of one group, row after row
};

/// Plans as many sections as the reply has room for.
template <class Rows>
Status plan_sections(std::vector<SectionSampler<Rows>>& samplers, std::uint64_t max_edges) {
  Room room{std::max<std::uint64_t>(max_edges, 1), true};
  for (std::size_t i = 0; i < samplers.size(); ++i) {
    TROUPE_RETURN_IF_ERROR(samplers[i].plan(room));
    const auto& plan = samplers[i].planned();
    room.edges -= std::min(room.edges, plan.edges);
    room.empty_reply = room.empty_reply && plan.edges == 0;
    if (!samplers[i].complete()) {
      const std::size_t answered = i + (plan.counts.empty() ? 0 : 1);
      while (samplers.size() > answered) {
        samplers.pop_back();
      }
    }
  }
  return ok_status();
}

template <class Rows>
HopReply write_sections(std::vector<SectionSampler<Rows>>& samplers) {
  std::uint64_t bytes = 0;
  std::size_t nodes = 0;
  DataWriter data;
  for (const auto& sampler : samplers) {
    const auto size = sampler.planned().edges * sampler.width_bytes();
    bytes = section_begin(bytes, size) + size;
    data.plan(sampler.edge_data(), sampler.planned().edges);
    nodes += sampler.planned().counts.size();
  }
  Buffer ids(bytes);
  data.allocate();
  HopReply reply;
  reply.sections.reserve(samplers.size());
  reply.counts.reserve(nodes);
  bytes = 0;
  for (auto& sampler : samplers) {
    const auto begin = section_begin(bytes, sampler.planned().edges);
    std::ranges::fill(ids.bytes().subspan(bytes, begin - bytes), std::byte{});
    const auto places = data.places(sampler.edge_data());
    const auto written = sampler.ids().visit([&]<class IdT>(std::span<const IdT> list) {
      return sampler.write(list, reinterpret_cast<IdT*>(ids.data() + begin), places);
    });
    data.advance(sampler.edge_data(), written);
    bytes = written == 0 ? bytes : begin + written * sampler.width_bytes();
    const auto& plan = sampler.planned();
    reply.counts.insert(reply.counts.end(), plan.counts.begin(), plan.counts.end());
    reply.sections.push_back({.nodes = plan.counts.size(),
                              .width_bytes = static_cast<std::uint8_t>(sampler.width_bytes()),
                              .resume_position = plan.resume_position,
                              .edge_data = sampler.edge_data()});
  }
  // A choice may have taken less than planned.
  reply.neighbours = std::move(ids).freeze();
  reply.neighbours.bytes = reply.neighbours.bytes.first(bytes);
  reply.edge_data = std::move(data).freeze();
  return reply;
}

template <class Rows>
Result<HopReply> sample(const Part& part, const HopRequest& request, const ChoiceKind& kind) {
  std::vector<SectionSampler<Rows>> samplers;
  samplers.reserve(request.sections.size());
  for (const auto& section : request.sections) {
    samplers.emplace_back(part, request, section, kind);
    TROUPE_RETURN_IF_ERROR(samplers.back().check());
  }
  TROUPE_RETURN_IF_ERROR(plan_sections(samplers, request.max_edges));
  return write_sections(samplers);
}

}  // namespace

Result<HopReply> sample_one_hop(const Part& part, const HopRequest& request, ListsOf lists_of,
                                std::span<const ChoiceKind> kinds) {
  TROUPE_RETURN_IF_ERROR(check_hop_request(part, request, kinds));
  const auto& kind = kinds[request.choice];
  return lists_of == ListsOf::owned ? sample<OwnedRows>(part, request, kind)
                                    : sample<HaloRows>(part, request, kind);
}

}  // namespace troupe
