#pragma once
/// \file edge_data.hpp
/// What edges may have beside their ends. Lists, replies and batches keep it in members of the same
/// names, so that each_edge_datum() serves all of them.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <string_view>

namespace troupe {

/// A set of data of edges.
struct EdgeData {
  bool edge_ids = false;  ///< Original edge ids
  bool weights = false;
  bool times = false;
  /// Entry numbers: places in the main lists of the part that owns the lists, by which it reads rows
  /// of features (PartEdges::features). What has features has them; lists do not store them.
  bool entries = false;

  /// Of one edge.
  std::uint64_t bytes() const noexcept {
    return (edge_ids ? sizeof(std::uint64_t) : 0) + (weights ? sizeof(float) : 0) +
           (times ? sizeof(std::int64_t) : 0) + (entries ? sizeof(std::uint64_t) : 0);
  }
  /// What lists store of it, halos and kept lists too.
  constexpr EdgeData stored() const noexcept { return {edge_ids, weights, times}; }
  friend bool operator==(const EdgeData&, const EdgeData&) = default;
};

/// What is in both.
constexpr EdgeData operator&(EdgeData a, EdgeData b) noexcept {
  return {a.edge_ids && b.edge_ids, a.weights && b.weights, a.times && b.times,
          a.entries && b.entries};
}

/// What is in either.
constexpr EdgeData operator|(EdgeData a, EdgeData b) noexcept {
  return {a.edge_ids || b.edge_ids, a.weights || b.weights, a.times || b.times,
          a.entries || b.entries};
}

/// What a graph has of the edges of a type.
constexpr EdgeData edge_data_of(const EdgeTypeInfo& type) noexcept {
  return {type.has_edge_ids, type.has_weights, type.has_times, type.features.has_value()};
}

/// Names of the data, for errors.
struct EdgeDataNames {
  std::string_view edge_ids = "edge ids";
  std::string_view weights = "weights";
  std::string_view times = "times";
  std::string_view entries = "features";
};
inline constexpr EdgeDataNames edge_data_names;
/// Their words in job files.
inline constexpr EdgeDataNames edge_data_words{"ids", "weights", "times", "features"};

/// Calls `f` with the edge ids of all `of`, then with their times, then with their weights: what lists
/// store, and what batches hand out beside features.
template <class F, class... Of>
constexpr void each_stored_datum(F&& f, Of&&... of) {
  f(of.edge_ids...);
  f(of.times...);
  f(of.weights...);
}

/// Calls `f` with the edge ids of all `of`, then with their entry numbers, times and weights: those of
/// 8 bytes first.
template <class F, class... Of>
constexpr void each_edge_datum(F&& f, Of&&... of) {
  f(of.edge_ids...);
  f(of.entries...);
  f(of.times...);
  f(of.weights...);
}

/// The same for an `f` that returns a Status: until one is an error.
template <class F, class... Of>
Status try_each_stored_datum(F&& f, Of&&... of) {
  TROUPE_RETURN_IF_ERROR(f(of.edge_ids...));
  TROUPE_RETURN_IF_ERROR(f(of.times...));
  return f(of.weights...);
}
template <class F, class... Of>
Status try_each_edge_datum(F&& f, Of&&... of) {
  TROUPE_RETURN_IF_ERROR(f(of.edge_ids...));
  TROUPE_RETURN_IF_ERROR(f(of.entries...));
  TROUPE_RETURN_IF_ERROR(f(of.times...));
  return f(of.weights...);
}

}  // namespace troupe
