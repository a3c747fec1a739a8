#pragma once
/// \file section_sampler.hpp
/// Samples along one edge type of a hop: plans what a reply has room for, then draws and copies it. For
/// one_hop.cpp only.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/choice/choices.hpp"
#include "runtime/sample/choice/within.hpp"
#include "runtime/sample/hop_stretches.hpp"
#include "runtime/sample/reply_data.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace troupe {

/// Nodes of a section that a reply covers: where their lists lie and how many
/// entries of each it takes, at most.
struct SectionPlan {
  struct Row {
    std::uint64_t begin;        ///< First entry of the list, or of the rest that is requested
    std::uint64_t original_id;  ///< Of the node
    std::uint32_t entries;      ///< From there to the end of the list
    bool whole;                 ///< The entries from `begin` are taken as they lie, without a
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

/// Memory that the sections of a request use one after the other.
struct SectionScratch {
  std::array<Stretch, hop_group> group;                ///< That is planned or drawn
  PooledVector<std::uint32_t> positions;               ///< Of one group, row after row
  std::array<PooledVector<std::uint64_t>, 2> entries;  ///< Of two groups
};

/// Ids that are copied of a short list, however many it has.
inline constexpr std::size_t copied_at_once = 4;

/// Lifecycle: check(), plan(), write()
/// Threads:   one at a time. Borrows its arguments
template <class Rows>
class SectionSampler {
 public:
  SectionSampler(const Part& part, const HopRequest& request, const HopSection& section, Rows rows,
                 const ChoiceKind& kind, SectionScratch& scratch)
      : section_(section),
        needs_(needs_of(section, kind)),
        stretches_(part, request, section, std::move(rows), needs_),
        scratch_(scratch) {
    const ChoiceOptions options{.fanout = static_cast<std::uint32_t>(std::max(section.fanout, 0)),
                                .replace = request.replace,
                                .neighbours = stretches_.lists().neighbours,
                                .neighbour_originals = stretches_.lists().neighbour_originals};
    if (section.within) {
      choice_ = make_within(options, request.frontiers[*section.within].nodes);
    } else if (section.fanout != all_neighbours) {
      choice_ = kind.make(options);
    }
  }

  unsigned width_bytes() const { return ids().width_bytes(); }
  const IdSpan& ids() const { return stretches_.lists().neighbours; }
  EdgeData edge_data() const { return section_.edge_data; }
  const SectionPlan& planned() const { return plan_; }
  /// All lists that an index found are taken whole: the plan has no rows and no counts.
  bool all_whole() const { return all_whole_; }
  /// That an index found.
  std::span<const ListAt> indexed_lists() const requires(Rows::indexed) {
    return stretches_.indexed_lists();
  }
  /// Nothing of the section needs another request.
  bool complete() const {
    return all_whole_ || (plan_.counts.size() == stretches_.size() && plan_.resume_position == 0);
  }
  /// Nodes of the frontier that the plan covers: the first so many.
  std::size_t covered() const {
    if (complete()) {
      return stretches_.frontier().size();
    }
    const std::size_t rows = plan_.counts.size();
    return plan_.resume_position != 0 ? stretches_.place(rows - 1) + 1 : stretches_.place(rows);
  }
  /// In the frontier, of the node of a planned row.
  std::size_t place(std::size_t row) const { return stretches_.place(row); }
  /// \errors those of HopStretches::check()
  Status check() const { return stretches_.check(); }

  /// One pass over the offsets: checks the nodes and finds out what fits, so
  /// that the reply is allocated once.
  /// \errors those of HopStretches::take()
  Status plan(Room room) {
    const std::size_t nodes = stretches_.size();
    if constexpr (Rows::indexed) {
      if (plan_all_whole(room)) {
        return ok_status();
      }
    }
    plan_.counts.reserve(nodes);
    for (std::size_t first = 0; first < nodes; first += hop_group) {
      const auto group = std::span(scratch_.group).first(std::min(hop_group, nodes - first));
      stretches_.fetch(first + hop_group);
      if (plan_whole_lists(first, group.size(), room)) {
        continue;
      }
      plan_.rows.reserve(plan_.rows.size() + nodes - first);
      plan_.first_rows.push_back(plan_.rows.size());
      TROUPE_RETURN_IF_ERROR(stretches_.take(first, group));
      plan_group(group);
      if (!cover(group, room)) {
        return ok_status();
      }
    }
    return ok_status();
  }

  /// Draws and copies the planned rows, group by group: the entries of one are
  /// read while those of the next are drawn. \returns the entries written
  /// \param out  with room for `copied_at_once` ids more, which may be written
  template <class IdT>
  std::uint64_t write(std::span<const IdT> ids, IdT* out, const DataPlaces& data) {
    if constexpr (Rows::indexed) {
      if (all_whole_) {
        return copy_indexed(ids, out);
      }
    }
    if (!choice_) {
      return copy_lists(ids, out, data);
    }
    auto& entries = scratch_.entries;
    std::uint64_t written = 0;
    const auto copy = [&](const PooledVector<std::uint64_t>& from) {
      pick(ids.data(), from, out + written);
      each_stored_datum(
          [&]<class T>(std::span<const T> values, T* to) {
            if (to != nullptr) {
              pick(values.data(), from, to + written);
            }
          },
          stretches_.lists(), data);
      if (data.entries != nullptr) {
        std::ranges::copy(from, data.entries + written);
      }
      written += from.size();
    };
    fetch_sums(0);
    for (std::size_t first = 0, group = 0; first < plan_.counts.size();
         first += hop_group, ++group) {
      fetch_sums(first + hop_group);
      draw_group(ids, first, entries[group % 2]);
      copy(entries[(group + 1) % 2]);
      entries[(group + 1) % 2].clear();
    }
    for (auto& last : entries) {  // one of them is empty
      copy(last);
      last.clear();
    }
    return written;
  }

 private:
  static ListNeeds needs_of(const HopSection& section, const ChoiceKind& kind) {
    if (section.within || section.fanout <= 0) {
      return {.entries = section.within.has_value()};
    }
    return {.weights = kind.needs_weights,
            .times = kind.needs_times,
            .originals = kind.needs_originals,
            .entries = reads_entries(kind)};
  }

  bool takes_whole_lists(std::size_t i) const {
    return plan_.first_rows[i / hop_group] == SectionPlan::whole_lists;
  }
  /// Of the planned node at place `i`.
  SectionPlan::Row row_of(std::size_t i) const {
    if (takes_whole_lists(i)) {
      return {stretches_.begin_of(i), 0, plan_.counts[i], true};
    }
    return plan_.rows[plan_.first_rows[i / hop_group] + i % hop_group];
  }

  /// Entries of the longest list that is taken without a choice.
  std::uint64_t longest_whole() const {
    return choice_ ? choice_->whole_up_to()
                   : std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
  }

  /// Plans all lists at once, if nothing is to be known of them but where they lie.
  /// \returns false: nothing was planned
  bool plan_all_whole(Room room) requires(Rows::indexed) {
    if (section_.edge_data != EdgeData{}) {
      return false;
    }
    const auto edges = stretches_.all_short(longest_whole());
    all_whole_ = edges && *edges <= room.edges;
    plan_.edges = all_whole_ ? *edges : 0;
    return all_whole_;
  }

  /// Plans a group without a choice, if all of its lists are short.
  /// \returns false: nothing was planned
  bool plan_whole_lists(std::size_t first, std::size_t nodes, Room room) {
    std::array<std::uint32_t, hop_group> degrees;
    const auto edges =
        stretches_.short_lists(first, longest_whole(), std::span(degrees).first(nodes));
    if (!edges || *edges > room.edges - std::min(plan_.edges, room.edges)) {
      return false;
    }
    plan_.first_rows.push_back(SectionPlan::whole_lists);
    plan_.counts.insert(plan_.counts.end(), degrees.begin(),
                        degrees.begin() + static_cast<std::ptrdiff_t>(nodes));
    plan_.edges += *edges;
    return true;
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

  /// Adds the nodes of a group to the plan.
  /// \returns whether the reply has room for more
  bool cover(std::span<const Stretch> group, Room room) {
    const std::size_t before = plan_.counts.size();
    std::uint64_t edges = plan_.edges;
    plan_.rows.resize(plan_.rows.size() + group.size());
    plan_.counts.resize(before + group.size());
    auto* const rows = plan_.rows.data() + plan_.rows.size() - group.size();
    for (std::size_t i = 0; i < group.size(); ++i) {
      rows[i] = {group[i].first_entry, group[i].original_id, group[i].entries, group[i].whole};
      plan_.counts[before + i] = group[i].taken;
      edges += group[i].taken;
    }
    if (edges <= room.edges) {
      plan_.edges = edges;
      return true;
    }
    plan_.rows.resize(plan_.rows.size() - group.size());
    plan_.counts.resize(before);
    return std::ranges::all_of(group, [&](const auto& stretch) { return cover(stretch, room); });
  }

  /// Adds a node to the plan.
  /// \returns whether the reply has room for more
  bool cover(const Stretch& stretch, Room room) {
    std::uint32_t count = stretch.taken;
    const bool passes_alone = choice_ && room.empty_reply && plan_.edges == 0;
    if (count > room.edges - std::min(plan_.edges, room.edges) && !passes_alone) {
      if (choice_ || plan_.edges >= room.edges) {
        return false;
      }
      count = static_cast<std::uint32_t>(room.edges - plan_.edges);
      plan_.resume_position = (plan_.counts.empty() ? section_.first_position : 0) + count;
    }
    plan_.rows.push_back(
        {stretch.first_entry, stretch.original_id, stretch.entries, stretch.whole});
    plan_.counts.push_back(count);
    plan_.edges += count;
    return plan_.resume_position == 0;
  }

  /// Copies every planned list as it lies.
  template <class IdT>
  std::uint64_t copy_lists(std::span<const IdT> ids, IdT* out, const DataPlaces& data) {
    const bool all_left = stretches_.left_out().none_in(0, plan_.counts.size());
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < plan_.counts.size(); ++i) {
      if (plan_.counts[i] == 0) {
        continue;
      }
      if (i + 1 < plan_.counts.size()) {
        prefetch(ids.data() + row_of(i + 1).begin);
      }
      const auto begin = row_of(i).begin;
      const auto positions = all_left ? std::span<const std::uint32_t>()
                                      : stretches_.left_out().first_kept(i, plan_.counts[i]);
      const auto copy = [&]<class T>(std::span<const T> list, T* to) {
        if (to != nullptr && positions.empty()) {
          std::copy_n(list.data() + begin, plan_.counts[i], to + written);
        } else if (to != nullptr) {
          std::ranges::transform(positions, to + written,
                                 [&](std::uint32_t position) { return list[begin + position]; });
        }
      };
      copy(ids, out);
      each_stored_datum(copy, stretches_.lists(), data);
      if (data.entries != nullptr) {
        write_entries(begin, plan_.counts[i], positions, data.entries + written);
      }
      written += plan_.counts[i];
    }
    return written;
  }

  /// The same of all lists that an index found. Most have few entries, whose number cannot be guessed: as
  /// many are copied of each list, and the next list overwrites what was too much.
  template <class IdT>
  std::uint64_t copy_indexed(std::span<const IdT> ids, IdT* out) const requires(Rows::indexed) {
    constexpr std::size_t ahead = 8;
    const auto lists = stretches_.indexed_lists();
    IdT* to = out;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      prefetch(ids.data() + lists[std::min(i + ahead, lists.size() - 1)].begin);
      const auto [place, begin, entries] = lists[i];
      const IdT* const from = ids.data() + begin;
      if (entries <= copied_at_once && begin + copied_at_once <= ids.size()) {
        std::copy_n(from, copied_at_once, to);
      } else {
        std::copy_n(from, entries, to);
      }
      to += entries;
    }
    return static_cast<std::uint64_t>(to - out);
  }

  /// \param positions  of the entries after `begin`; empty: the first ones
  static void write_entries(std::uint64_t begin, std::uint32_t count,
                            std::span<const std::uint32_t> positions, std::uint64_t* to) {
    for (std::uint32_t k = 0; k < count; ++k) {
      to[k] = begin + (positions.empty() ? k : positions[k]);
    }
  }

  /// Starts to load sums of weights where the rows of a group begin and end, among which a choice is made.
  void fetch_sums(std::size_t first) const {
    if (!needs_.weights || !stretches_.limited() || first >= plan_.counts.size() ||
        takes_whole_lists(first)) {
      return;
    }
    for (std::size_t i = first; i < std::min(first + hop_group, plan_.counts.size()); ++i) {
      if (const auto row = row_of(i); !row.whole) {
        stretches_.fetch_sums(row.begin, row.entries);
      }
    }
  }

  /// Finds out which entries the rows of a group take, and starts to load them.
  template <class IdT>
  void draw_group(std::span<const IdT> ids, std::size_t first,
                  PooledVector<std::uint64_t>& entries) {
    const std::size_t end = std::min(first + hop_group, plan_.counts.size());
    const auto counts = std::span(plan_.counts).subspan(first, end - first);
    entries.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    std::uint64_t* out = entries.data();
    if (takes_whole_lists(first)) {
      for (std::size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] > 0) {
          out = add_first(ids, stretches_.begin_of(first + i), counts[i], out);
        }
      }
      return;
    }
    const auto* const rows = plan_.rows.data() + plan_.first_rows[first / hop_group];
    const auto drawn = drawn_of(first, rows, counts.size());
    std::size_t most_drawn = 0;
    for (const auto& stretch : drawn) {
      most_drawn += stretch.taken;
    }
    auto& positions = scratch_.positions;
    positions.resize(std::max(positions.size(), most_drawn));
    if (!drawn.empty()) {
      choice_->choose(section_.key, drawn, std::span(positions).first(most_drawn));
    }
    const bool all_left = needs_.entries || stretches_.left_out().none_in(first, end);
    const std::uint32_t* position = positions.data();
    const Stretch* stretch = drawn.data();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto& row = rows[i];
      counts[i] = row.whole ? counts[i] : (stretch++)->taken;
      if (all_left && row.whole) {
        out = add_first(ids, row.begin, counts[i], out);
      } else if (all_left) {
        out = add_drawn(ids, row.begin, {position, counts[i]}, out);
        position += counts[i];
      } else {
        TruePositions true_position(stretches_.left_out().positions(first + i));
        for (std::uint32_t k = 0; k < counts[i]; ++k, ++out) {
          *out = row.begin + true_position(row.whole ? k : *position++);
          prefetch(ids.data() + *out);
        }
      }
    }
    entries.resize(static_cast<std::size_t>(out - entries.data()));
  }

  /// The stretches of a planned group that a choice draws from.
  std::span<Stretch> drawn_of(std::size_t first, const SectionPlan::Row* rows, std::size_t count) {
    const bool plain = !needs_.weights && stretches_.left_out().none_in(first, first + count);
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto& stretch = scratch_.group[drawn];
      drawn += rows[i].whole ? 0 : 1;
      stretch.original_id = rows[i].original_id;
      stretch.first_entry = rows[i].begin;
      stretch.tree = stretches_.tree(first + i);
      stretch.entries = rows[i].entries;
      stretch.taken = plan_.counts[first + i];
      stretch.excluded = {};
      if (!plain && !rows[i].whole) {
        stretch.excluded = stretches_.left_out().positions(first + i);
        if (needs_.weights) {
          stretches_.add_weights(stretch);
        }
      }
    }
    return std::span(scratch_.group).first(drawn);
  }

  /// Writes the first entries of a list, and starts to load the ids there. \returns behind them
  template <class IdT>
  static std::uint64_t* add_first(std::span<const IdT> ids, std::uint64_t begin,
                                  std::uint32_t count, std::uint64_t* out) {
    for (std::uint32_t k = 0; k < count; ++k) {
      *out++ = begin + k;
      prefetch(ids.data() + begin + k);
    }
    return out;
  }
  template <class IdT>
  static std::uint64_t* add_drawn(std::span<const IdT> ids, std::uint64_t begin,
                                  std::span<const std::uint32_t> positions, std::uint64_t* out) {
    for (const std::uint32_t position : positions) {
      *out++ = begin + position;
      prefetch(ids.data() + begin + position);
    }
    return out;
  }

  template <class T>
  static void pick(const T* lists, std::span<const std::uint64_t> entries, T* out) {
    for (const std::uint64_t entry : entries) {
      *out++ = lists[entry];
    }
  }

  const HopSection& section_;
  ListNeeds needs_;
  HopStretches<Rows> stretches_;
  std::unique_ptr<Choice> choice_;  ///< Null: all entries are taken
  SectionPlan plan_;
  bool all_whole_ = false;
  SectionScratch& scratch_;
};

}  // namespace troupe
