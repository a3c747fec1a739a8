#pragma once
/// \file hot_rows.hpp
/// How many rows of each type and part a budget holds, where nodes are numbered hottest first: those
/// of a rank's cache (row_cache.hpp), and those in a device's memory.
#include "runtime/base/ids.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

/// Of a row as it is stored; 0 without features.
inline std::uint64_t bytes_of_row(const std::optional<FeatureInfo>& features) {
  return features ? features->row_bytes() : 0;
}

/// The nodes whose rows are looked at, and what a row takes.
struct HotRowsOptions {
  std::uint64_t budget_bytes = 0;
  std::uint64_t extra_bytes = 0;  ///< Of each row beside its features
  /// [type][part] number of nodes; 0: none of these
  std::vector<std::vector<std::uint64_t>> nodes = {};
};

struct HotRows {
  std::vector<std::vector<std::uint64_t>> rows;  ///< [type][part] from the first one on
  std::uint64_t left_bytes = 0;                  ///< Of the budget
};

/// Takes buckets of the profile of heat, those of most heat per byte first. Rows without any heat are
/// not taken, nor are types without features.
/// \requires `heat` has a profile of each type and part that has nodes
HotRows hottest_rows(const GraphInfo& graph, const PartHeat& heat, const HotRowsOptions& options);

/// The rows of features that are in a device's memory: the first so many of each piece of a type's table.
/// All others are in pinned memory of the host.
struct RowTiers {
  std::vector<std::vector<std::uint64_t>> nodes = {};  ///< [type][piece]
  std::vector<std::uint64_t> edges = {};               ///< By EdgeTypeId
  friend bool operator==(const RowTiers&, const RowTiers&) = default;
};

/// The tables that batches on a device read.
struct TieredTables {
  const GraphInfo& graph;
  std::span<const EdgeTypeId> edge_features = {};  ///< Types whose features batches have
  /// [type][piece] rows of nodes, hottest first in each piece. Empty: all nodes of each type in one piece
  std::vector<std::vector<std::uint64_t>> nodes = {};
};

/// Bytes of all rows.
std::uint64_t bytes_of(const TieredTables& tables);
/// Bytes of the rows in the device's memory.
std::uint64_t bytes_of(const TieredTables& tables, const RowTiers& tiers);

/// Splits the rows of tables. Rows of nodes come first: with a profile those of most heat per byte, as a
/// cache of rows takes them, then the others in the order of types and pieces; without one the same share
/// of each piece. Rows of edges share what nodes leave, the same share of each type's.
/// \param heat  [type][piece], a profile or nothing; not known: there is none
RowTiers split_rows(const TieredTables& tables, const PartHeat& heat, std::uint64_t budget_bytes);

}  // namespace troupe
