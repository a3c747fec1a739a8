#pragma once
/// \file left_out.hpp
/// Entries of the lists of a hop that are not drawn, because their edges are excluded. For one_hop.cpp
/// only.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/choice/choice.hpp"
#include "runtime/sample/hop_request.hpp"
#include "runtime/sample/links/list_search.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// Turns positions among the entries of a stretch that are left into positions among all.
class TruePositions {
 public:
  /// \param excluded  ascending
  explicit TruePositions(std::span<const std::uint32_t> excluded) : excluded_(excluded) {}

  /// \requires no position is below the one before it
  std::uint64_t operator()(std::uint64_t kept) {
    while (before_ < excluded_.size() && excluded_[before_] <= kept + before_) {
      ++before_;
    }
    return kept + before_;
  }

 private:
  std::span<const std::uint32_t> excluded_;
  std::size_t before_ = 0;  ///< Excluded entries before the position
};

/// Finds the entries that are left out of a section's lists.
/// Lifecycle: find() for the groups of a frontier in order; then the rest
/// Threads:   one at a time. Borrows its arguments
class LeftOut {
 public:
  /// \param excluded    ascending
  /// \param neighbours  nodes of the neighbors' type
  LeftOut(std::span<const ExcludedEdges> excluded, const PartNodes& neighbours,
          const NeighbourLists& lists)
      : excluded_(excluded), search_(neighbours, lists) {}

  /// Whether nothing is left out of the lists of the places below `end` that find() has not seen.
  bool nothing_before(std::size_t end) const {
    return next_ == excluded_.size() || excluded_[next_].place >= end;
  }
  /// Whether find() has found nothing for the places [begin, end).
  bool none_in(std::size_t begin, std::size_t end) const {
    const auto found = std::ranges::lower_bound(rows_, begin, {}, &Row::place);
    return found == rows_.end() || found->place >= end;
  }

  /// Finds what is left out of the stretches of the nodes from the place `first` on.
  void find(std::size_t first, std::span<const Stretch> group) {
    while (next_ < excluded_.size() && excluded_[next_].place < first) {
      ++next_;
    }
    const std::size_t begin = next_;
    searches_.clear();
    for (; !nothing_before(first + group.size()); ++next_) {
      const auto& stretch = group[excluded_[next_].place - first];
      searches_.push_back({.begin = stretch.first_entry,
                           .end = stretch.first_entry + stretch.entries,
                           .node = excluded_[next_].neighbour});
    }
    search_.start(searches_);
    for (std::size_t i = 0; i < searches_.size();) {
      i = add(begin, i);
    }
  }

  /// Lets the stretch of a place begin behind so many of the entries that are left.
  /// \requires find() has found some for it
  /// \returns the position where it begins
  std::uint64_t skip(std::size_t place, std::uint64_t kept) {
    const auto row = std::ranges::lower_bound(rows_, place, {}, &Row::place);
    const auto begin = static_cast<std::uint32_t>(TruePositions(of(*row))(kept));
    for (; row->begin < row->end && positions_[row->begin] < begin; ++row->begin) {
    }
    for (std::size_t i = row->begin; i < row->end; ++i) {
      positions_[i] -= begin;
    }
    return begin;
  }

  /// What find() found for a place: positions in its stretch, ascending. Valid until the next find().
  std::span<const std::uint32_t> positions(std::size_t place) {
    if (at_ > 0 && rows_[at_ - 1].place >= place) {  // back to the beginning of a group
      const auto found = std::ranges::lower_bound(rows_, place, {}, &Row::place);
      at_ = static_cast<std::size_t>(found - rows_.begin());
    }
    while (at_ < rows_.size() && rows_[at_].place < place) {
      ++at_;
    }
    return at_ < rows_.size() && rows_[at_].place == place ? of(rows_[at_])
                                                           : std::span<const std::uint32_t>();
  }

  /// Positions of the first `count` entries that are left at a place; nothing where all are.
  std::span<const std::uint32_t> first_kept(std::size_t place, std::uint32_t count) {
    const auto excluded = positions(place);
    kept_.resize(excluded.empty() ? 0 : count);
    TruePositions true_position(excluded);
    for (std::uint32_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = static_cast<std::uint32_t>(true_position(i));
    }
    return kept_;
  }

 private:
  struct Row {
    std::size_t place;
    std::size_t begin;  ///< Of positions_
    std::size_t end;
  };

  std::span<const std::uint32_t> of(const Row& row) const {
    return std::span(positions_).subspan(row.begin, row.end - row.begin);
  }

  /// Adds what the searches of one place find, from number `i` on. \returns the first one of the next place
  std::size_t add(std::size_t first_excluded, std::size_t i) {
    const std::size_t place = excluded_[first_excluded + i].place;
    const std::size_t before = positions_.size();
    const std::size_t first = i;
    for (; i < searches_.size() && excluded_[first_excluded + i].place == place; ++i) {
      search_.add_positions(searches_[i], positions_);
    }
    if (i - first > 1) {
      std::ranges::sort(std::span(positions_).subspan(before));
    }
    if (positions_.size() > before) {
      rows_.push_back({place, before, positions_.size()});
    }
    return i;
  }

  std::span<const ExcludedEdges> excluded_;
  ListSearch search_;
  std::size_t next_ = 0;                       ///< Of excluded_
  PooledVector<ListSearch::Search> searches_;  ///< Of one group
  PooledVector<Row> rows_;                     ///< Places of which something is left out, ascending
  PooledVector<std::uint32_t> positions_;
  std::size_t at_ = 0;  ///< Of rows_
  PooledVector<std::uint32_t> kept_;
};

}  // namespace troupe
