#pragma once
/// \file hop_stretches.hpp
/// Which stretches of neighbor lists the nodes of a hop may take entries of: where the lists lie, what
/// times allow of them, less what is left out. For one_hop.cpp only.
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/hop_checks.hpp"
#include "runtime/sample/hop_rows.hpp"
#include "runtime/sample/left_out.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

/// Frontier nodes whose memory is requested together.
inline constexpr std::size_t hop_group = 64;

/// What a choice needs of lists.
struct ListNeeds {
  bool weights = false;
  bool times = false;
  bool originals = false;
  bool entries = false;  ///< It reads entries, so it sees those that are left out too
};

/// Along one edge type.
/// Lifecycle: check(), then take() for the groups of the frontier in order
/// Threads:   one at a time. Borrows its arguments
template <class Rows>
class HopStretches {
 public:
  HopStretches(const Part& part, const HopRequest& request, const HopSection& section, Rows rows,
               ListNeeds needs)
      : part_(part),
        section_(section),
        frontier_(request.frontiers[section.frontier].nodes),
        trees_(request.frontiers[section.frontier].trees),
        times_(request.frontiers[section.frontier].times),
        time_rule_(request.time),
        rows_(std::move(rows)),
        left_out_(excluded(),
                  part.nodes_of(part.edges_of(section.edge_type).neighbour_type(request.dir)),
                  rows_.lists),
        dir_(request.dir),
        needs_(needs) {}

  std::span<const NodeId> frontier() const { return frontier_; }
  /// Nodes whose lists are taken from: of the frontier, or of those that have a list with entries.
  std::size_t size() const {
    if constexpr (Rows::indexed) {
      return rows_.at.size();
    } else {
      return frontier_.size();
    }
  }
  /// In the frontier, of the node at a place among these.
  std::size_t place(std::size_t at) const {
    if constexpr (Rows::indexed) {
      return rows_.at[at].place;
    } else {
      return at;
    }
  }
  const NeighbourLists& lists() const { return rows_.lists; }
  LeftOut& left_out() { return left_out_; }
  const LeftOut& left_out() const { return left_out_; }
  std::uint32_t tree(std::size_t at) const { return trees_.empty() ? 0 : trees_[place(at)]; }
  /// Whether times limit what is taken: not along edges without them.
  bool limited() const { return !times_.empty() && !rows_.lists.times.empty(); }
  /// First entry of the list of a node that take() or short_lists() saw.
  std::uint64_t begin_of(std::size_t at) const {
    if constexpr (Rows::indexed) {
      return rows_.at[at].begin;
    } else {
      return rows_.lists.offsets[rows_.row(frontier_[at])];
    }
  }

  /// \errors failed_precondition: the part has not what the section needs; invalid_argument: lists of
  ///   another node type
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
    if (needs_.times && lists.times.size() != lists.neighbours.size()) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no times stored", edge_type));
    }
    const auto sums = limited() ? lists.weight_sums.size() : lists.neighbours.size();
    if (needs_.weights &&
        (lists.aliases.size() != lists.neighbours.size() || sums != lists.neighbours.size())) {
      return sampling_refused(part_, Errc::failed_precondition,
                              fmt::format("edge type {} has no alias tables for direction {}",
                                          edge_type, dir_ == EdgeDir::in ? "in" : "out"));
    }
    if (needs_.originals && lists.neighbour_originals.size() != lists.neighbours.size()) {
      return sampling_refused(
          part_, Errc::failed_precondition,
          fmt::format("edge type {} has no original ids of neighbors for direction {}", edge_type,
                      dir_ == EdgeDir::in ? "in" : "out"));
    }
    return ok_status();
  }

  /// Starts to load where the lists of a group begin, unless a cache has all of
  /// that.
  void fetch(std::size_t first) const {
    constexpr std::size_t cached_bytes = std::size_t{256} << 10;
    if (Rows::indexed || rows_.lists.offsets.size_bytes() <= cached_bytes) {
      return;
    }
    for (std::size_t i = first; i < std::min(first + hop_group, frontier_.size()); ++i) {
      if (rows_.has(frontier_[i])) {
        prefetch(&rows_.lists.offsets[rows_.row(frontier_[i])]);
      }
    }
  }

  /// Sets what is known of the stretches of a group without a choice.
  /// \param group  [nodes from `first` on]
  /// \errors invalid_argument: a node that the part does not own, or has no list of; a first position
  ///   behind its list; unimplemented: a list of 2^32 neighbors or more
  Status take(std::size_t first, std::span<Stretch> group) {
    if constexpr (Rows::indexed) {
      find_indexed(first, group);
    } else if (const auto nodes = frontier_.subspan(first, group.size());
               !find_lists(nodes, group)) {
      return refused(nodes);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i].tree = tree(first + i);
      group[i].excluded = {};
      group[i].zero_weights = rows_.lists.zero_weights;
    }
    if (limited()) {
      limit(first, group);
    }
    const bool skips = first == 0 && section_.first_position > 0;
    return skips || !left_out_.nothing_before(first + group.size()) ? leave_out(first, group)
                                                                    : ok_status();
  }

  /// Entries of all lists that an index found, if they are taken from as they lie and have at most `most`
  /// each.
  std::optional<std::uint64_t> all_short(std::uint64_t most) const requires(Rows::indexed) {
    if (needs_.entries || !plain(0, size())) {
      return std::nullopt;
    }
    std::uint32_t longest = 0;
    std::uint64_t sum = 0;
    for (const auto& list : rows_.at) {
      longest = std::max(longest, list.entries);
      sum += list.entries;
    }
    return longest > most ? std::nullopt : std::optional(sum);
  }
  /// That an index found.
  std::span<const ListAt> indexed_lists() const requires(Rows::indexed) { return rows_.at; }

  /// Degrees of a group whose lists are taken from as they lie and have at most `most` entries each.
  /// Where nodes have edges of few of many types, most lists are empty.
  /// \returns their sum; nothing: it is not such a group
  std::optional<std::uint64_t> short_lists(std::size_t first, std::uint64_t most,
                                           std::span<std::uint32_t> degrees) const {
    constexpr std::size_t side_by_side = 16;
    std::uint64_t longest = most + 1;
    std::uint64_t sum = 0;
    if constexpr (Rows::indexed) {
      longest = !needs_.entries && plain(first, degrees.size()) ? 0 : most + 1;
      for (std::size_t i = 0; i < degrees.size() && longest <= most; ++i) {
        degrees[i] = rows_.at[first + i].entries;
        longest = std::max<std::uint64_t>(longest, degrees[i]);
        sum += degrees[i];
      }
    } else if constexpr (std::is_same_v<Rows, OwnedRows>) {
      longest = !needs_.entries && plain(first, degrees.size()) ? 0 : most + 1;
      // A few lists at a time: most graphs have long ones among the first, which end the attempt.
      for (std::size_t i = 0; i < degrees.size() && longest <= most; i += side_by_side) {
        for (std::size_t k = i; k < std::min(i + side_by_side, degrees.size()); ++k) {
          const std::uint64_t row = rows_.row(frontier_[first + k]);
          const std::uint64_t degree = row < rows_.count() ? rows_.lists.degree(row) : most + 1;
          longest = std::max(longest, degree);
          sum += degree;
          degrees[k] = static_cast<std::uint32_t>(degree);
        }
      }
    }
    return longest > most ? std::nullopt : std::optional(sum);
  }

  /// Starts to load sums of weights where stretches begin and end.
  void fetch_sums(std::uint64_t begin, std::uint32_t entries) const {
    const auto* const sums = rows_.lists.weight_sums.data() + begin;
    prefetch(sums - 1);
    prefetch(sums + entries - 1);
  }
  /// Sets where the weights of a stretch lie. \requires needs.weights
  void add_weights(Stretch& stretch) const {
    const auto begin = stretch.first_entry;
    stretch.zero_weights = rows_.lists.zero_weights;
    if (limited()) {
      stretch.weight_sums = &rows_.lists.weight_sums[begin];
      stretch.sum_before = begin == 0 ? 0 : rows_.lists.weight_sums[begin - 1];
    } else {
      stretch.weight_sums = nullptr;
      stretch.aliases = &rows_.lists.aliases[begin];
    }
  }

 private:
  std::span<const ExcludedEdges> excluded() const {
    if constexpr (Rows::indexed) {
      return rows_.excluded;
    } else {
      return section_.excluded;
    }
  }

  /// Whether the lists of a group are taken from as they lie: no times, nothing excluded or skipped.
  bool plain(std::size_t first, std::size_t nodes) const {
    return !limited() && rows_.count() > 0 && (first > 0 || section_.first_position == 0) &&
           left_out_.nothing_before(first + nodes);
  }

  /// Sets where the lists of a group begin, how many entries they have, and the nodes' original ids.
  /// A loop this short reads those of many nodes at once.
  /// \returns false: one of the nodes is refused
  bool find_lists(std::span<const NodeId> nodes, std::span<Stretch> group) const {
    if (rows_.count() == 0) {
      return nodes.empty();
    }
    const auto* const offsets = rows_.lists.offsets.data();
    const std::uint64_t last_row = rows_.count() - 1;
    std::uint64_t highest_row = 0;
    std::uint64_t highest_degree = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint64_t found = rows_.row_or_end(nodes[i]);
      const std::uint64_t row = std::min(found, last_row);
      const std::uint64_t degree = offsets[row + 1] - offsets[row];
      highest_row = std::max(highest_row, found);
      highest_degree = std::max(highest_degree, degree);
      group[i].original_id = rows_.original_id(nodes[i], row);
      group[i].first_entry = offsets[row];
      group[i].entries = static_cast<std::uint32_t>(degree);
    }
    return highest_row <= last_row && highest_degree <= std::numeric_limits<std::uint32_t>::max();
  }

  /// The same of lists that an index found.
  void find_indexed(std::size_t first, std::span<Stretch> group) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const ListAt& list = rows_.at[first + i];
      const NodeId node = frontier_[list.place];
      group[i].original_id = rows_.original_id(node, rows_.row(node));
      group[i].first_entry = list.begin;
      group[i].entries = list.entries;
    }
  }

  /// What is wrong with the first of the nodes that is refused.
  Error refused(std::span<const NodeId> nodes) const {
    const auto bad = std::ranges::find_if_not(nodes, [&](NodeId node) { return rows_.has(node); });
    if (bad != nodes.end()) {
      return sampling_refused(
          part_, Errc::invalid_argument,
          fmt::format("frontier node {} is not {}", raw(*bad), rows_.expected()));
    }
    const auto degree = [&](NodeId node) { return rows_.lists.degree(rows_.row(node)); };
    const auto longest = std::ranges::max(nodes, {}, degree);
    return sampling_refused(
        part_, Errc::unimplemented,
        fmt::format("node {} has degree {}, at most 2^32-1 works", raw(longest), degree(longest)));
  }

  /// Leaves what times allow of the lists of a group.
  void limit(std::size_t first, std::span<Stretch> group) {
    search_.begin(time_rule_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      search_.add(rows_.lists.times.subspan(group[i].first_entry, group[i].entries),
                  times_[place(first + i)]);
    }
    search_.search();
    for (std::size_t i = 0; i < group.size(); ++i) {
      const auto allowed = search_.allowed(i);
      group[i].first_entry += allowed.begin;
      group[i].entries = static_cast<std::uint32_t>(allowed.end - allowed.begin);
    }
  }

  /// Finds what is excluded of the stretches of a group. Choices that do not read entries see those that
  /// are left; of the first list of a section they see the rest that is requested.
  Status leave_out(std::size_t first, std::span<Stretch> group) {
    left_out_.find(first, group);
    for (std::size_t i = 0; i < group.size(); ++i) {
      auto& stretch = group[i];
      const auto excluded = left_out_.positions(first + i);
      const std::uint64_t left = stretch.entries - excluded.size();
      const std::uint64_t skipped = first + i == 0 ? section_.first_position : 0;
      if (skipped > left) {
        return sampling_refused(part_, Errc::invalid_argument,
                                fmt::format("first position {} of node {} of degree {}", skipped,
                                            raw(frontier_[place(first + i)]), left));
      }
      if (needs_.entries) {
        stretch.excluded = excluded;
        continue;
      }
      stretch.entries = static_cast<std::uint32_t>(left - skipped);
      stretch.first_entry +=
          excluded.empty() || skipped == 0 ? skipped : left_out_.skip(0, skipped);
    }
    return ok_status();
  }

  const Part& part_;
  const HopSection& section_;
  std::span<const NodeId> frontier_;
  std::span<const std::uint32_t> trees_;
  std::span<const std::int64_t> times_;
  TimeRule time_rule_;
  Rows rows_;
  LeftOut left_out_;
  EdgeDir dir_;
  ListNeeds needs_;
  StretchSearch search_;  ///< Of the group that is taken
};

}  // namespace troupe
