#pragma once
/// \file listed_rows_of_hops.hpp
/// The rows with edges of a batch's edge types while its hops come in. Where there are hundreds of edge
/// types, arrays of their own for each would cost more than what they hold. For batch_builder*.cpp only.
#include "runtime/base/buffer.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/sample/row_offsets.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Lifecycle: for each hop, begin() of an edge type and its add(); then take()
class ListedRowsOfHops {
 public:
  /// The rows that are added next are of this edge type, behind those of its earlier hops.
  void begin(std::size_t edge_type) { pieces_.push_back({edge_type, rows_.size(), 0}); }

  /// Adds a row, or more edges of the last one. \requires no row was added behind it; `count` > 0
  void add(std::uint32_t row, std::uint32_t count) {
    auto& piece = pieces_.back();
    if (piece.rows > 0 && rows_.back() == row) {
      counts_.back() += count;
      return;
    }
    rows_.push_back(row);
    counts_.push_back(count);
    ++piece.rows;
  }
  /// Adds rows at places behind `first_row`. \requires as add()
  void add(std::uint32_t first_row, std::span<const std::uint32_t> places,
           std::span<const std::uint32_t> counts) {
    const auto before = rows_.size();
    rows_.resize(before + places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      rows_[before + i] = first_row + places[i];
    }
    counts_.insert(counts_.end(), counts.begin(), counts.end());
    pieces_.back().rows += places.size();
  }

  /// Ends the collection. \returns the rows of each edge type, whose arrays lie one after the other in
  ///   memory that the second value keeps
  std::pair<std::vector<ListedRowsView>, std::shared_ptr<const void>> take(std::size_t edge_types) {
    const Buffer kept((2 * rows_.size() + edge_types) * sizeof(std::uint32_t));
    std::vector<std::size_t> sizes(edge_types);
    for (const auto& [edge_type, begin, rows] : pieces_) {
      sizes[edge_type] += rows;
    }
    struct Next {
      std::uint32_t* row;
      std::uint32_t* end;  ///< Of the row's edges; the number before it is where they begin
    };
    std::vector<Next> next;
    std::vector<ListedRowsView> views;
    std::uint32_t* to = kept.as<std::uint32_t>().data();
    for (const auto size : sizes) {
      views.push_back({{to, size}, {to + size, size + 1}});
      next.push_back({to, to + size + 1});
      to[size] = 0;
      to += 2 * size + 1;
    }
    for (const auto& [edge_type, begin, rows] : pieces_) {
      auto& [row, end] = next[edge_type];
      row = std::copy_n(rows_.data() + begin, rows, row);
      for (std::size_t i = 0; i < rows; ++i, ++end) {
        *end = end[-1] + counts_[begin + i];
      }
    }
    pieces_.clear();
    rows_.clear();
    counts_.clear();
    return {std::move(views), kept.share().owner};
  }

 private:
  struct Piece {
    std::size_t edge_type;
    std::size_t begin;  ///< In rows_
    std::size_t rows;
  };
  std::vector<Piece> pieces_;
  PooledVector<std::uint32_t> rows_;    ///< Piece after piece
  PooledVector<std::uint32_t> counts_;  ///< Edges of each
};

}  // namespace troupe
