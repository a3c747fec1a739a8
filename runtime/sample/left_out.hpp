#pragma once
/// \file left_out.hpp
/// Entries of the lists of a hop that are not drawn, because their edges are excluded. For one_hop.cpp
/// only.
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/hop_request.hpp"
#include "runtime/sample/links/list_search.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
/// Lifecycle: find() for the places of a frontier in ascending order; then the rest
/// Threads:   one at a time. Borrows its arguments
class LeftOut {
 public:
  LeftOut(const Part& part, const HopSection& section, EdgeDir dir, const NeighbourLists& lists)
      : excluded_(section.excluded),
        search_(part.nodes_of(part.edges_of(section.edge_type).neighbour_type(dir)), lists) {}

  /// Whether nothing is left out of the lists of the places below `end` that find() has not seen.
  bool nothing_before(std::size_t end) const {
    return next_ == excluded_.size() || excluded_[next_].place >= end;
  }
  /// Whether find() has found nothing for the places [begin, end).
  bool none_in(std::size_t begin, std::size_t end) const {
    const auto found = std::ranges::lower_bound(rows_, begin, {}, &Row::place);
    return found == rows_.end() || found->place >= end;
  }

  /// Positions in the stretch [begin, end), that of the node at `place`, which are left out; ascending.
  std::span<const std::uint32_t> find(std::size_t place, std::uint64_t begin, std::uint64_t end) {
    while (next_ < excluded_.size() && excluded_[next_].place < place) {
      ++next_;
    }
    Row row{place, {}};
    for (; next_ < excluded_.size() && excluded_[next_].place == place; ++next_) {
      search_.find(begin, end, excluded_[next_].neighbour, row.positions);
    }
    if (row.positions.empty()) {
      return {};
    }
    std::ranges::sort(row.positions);
    return rows_.emplace_back(std::move(row)).positions;
  }

  /// Lets the stretch that was searched last begin behind so many of the entries that are left.
  /// \returns the position where it begins
  std::uint64_t skip(std::uint64_t kept) {
    auto& positions = rows_.back().positions;
    const auto begin = static_cast<std::uint32_t>(TruePositions(positions)(kept));
    std::erase_if(positions, [begin](std::uint32_t position) { return position < begin; });
    for (auto& position : positions) {
      position -= begin;
    }
    return begin;
  }

  /// What find() found for a place.
  std::span<const std::uint32_t> positions(std::size_t place) {
    if (at_ > 0 && rows_[at_ - 1].place >= place) {  // back to the beginning of a group
      const auto found = std::ranges::lower_bound(rows_, place, {}, &Row::place);
      at_ = static_cast<std::size_t>(found - rows_.begin());
    }
    while (at_ < rows_.size() && rows_[at_].place < place) {
      ++at_;
    }
    return at_ < rows_.size() && rows_[at_].place == place
               ? std::span<const std::uint32_t>(rows_[at_].positions)
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
    std::vector<std::uint32_t> positions;
  };

  std::span<const ExcludedEdges> excluded_;
  ListSearch search_;
  std::size_t next_ = 0;  ///< Of excluded_
  PooledVector<Row> rows_;
  std::size_t at_ = 0;  ///< Of rows_
  PooledVector<std::uint32_t> kept_;
};

}  // namespace troupe
