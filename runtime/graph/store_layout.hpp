#pragma once
/// \file store_layout.hpp
/// Names inside a store, as docs/store.md lists them. Paths are relative to the store and use '/'.
#include "runtime/graph/graph_info.hpp"

#include <string>
#include <string_view>

namespace troupe::store_layout {

inline constexpr std::string_view graph_file = "graph.json";
inline constexpr std::string_view partition_file = "partition.json";
inline constexpr std::string_view features_file = "features.json";  ///< of a part
inline constexpr unsigned format_version = 1;
inline constexpr unsigned later_version = 2;  ///< of a partition.json whose features come later
/// Bounds of what a store may claim; far above what fits on disks, low enough that sums do not
/// overflow.
inline constexpr std::uint64_t largest_count = std::uint64_t{1} << 48;
inline constexpr std::uint64_t largest_cols = std::uint64_t{1} << 24;
/// Feature columns of one node type, and of all together, that are written: graph.json has
/// statistics of each.
inline constexpr std::uint64_t largest_feature_cols = std::uint64_t{1} << 20;
inline constexpr std::uint64_t largest_total_feature_cols = std::uint64_t{1} << 22;
inline constexpr std::uint32_t most_halo_hops = 8;
/// Numbers of relations are labels of links, float32, which holds whole numbers up to this exactly.
inline constexpr std::uint64_t most_relations = std::uint64_t{1} << 24;
inline constexpr std::uint32_t most_heated = 1024;  ///< parts whose heat is in partition.json
inline constexpr std::uint64_t largest_json = std::uint64_t{1} << 28;

/// Nodes that so many edges may imply where their number is not stated. With more, almost all would
/// be isolated: rather damaged data than a graph.
constexpr std::uint64_t most_implied_nodes(std::uint64_t edges) {
  return 64 * edges + (std::uint64_t{1} << 20);
}
/// Whether features may be stored so: u8, f16, bf16, f32.
constexpr bool is_feature_dtype(DType dtype) {
  return dtype == DType::u8 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32;
}

/// Whether a column may be stored so.
constexpr bool is_column_dtype(DType dtype) {
  return is_feature_dtype(dtype) || dtype == DType::f64 || dtype == DType::i32 ||
         dtype == DType::i64;
}
inline constexpr std::string_view column_dtypes = "u8, f16, bf16, f32, f64, i32, i64";
inline constexpr std::size_t most_extents = 3;     ///< Of a column's row
inline constexpr std::size_t most_columns = 1024;  ///< Of a type

/// "" for a whole graph, "part-K/" for a part.
std::string part_prefix(PartId part);
/// "nodes-T/WHAT.npy"
std::string nodes_file(const NodeTypeInfo& type, std::string_view what);
/// "edges-E/in/WHAT.npy"
std::string edges_file(const EdgeTypeInfo& type, EdgeDir dir, std::string_view what);
/// "nodes-T/columns/NAME.npy"
std::string column_file(const NodeTypeInfo& type, const ColumnInfo& column);
/// "edges-E/in/columns/NAME.npy"
std::string column_file(const EdgeTypeInfo& type, EdgeDir dir, const ColumnInfo& column);
/// Shape of a column of so many rows.
std::vector<std::uint64_t> column_shape(const ColumnInfo& column, std::uint64_t rows);
/// Whether a file of a part is one of those that sampling reads: original ids, the directory, lists
/// and their ids.
bool is_for_sampling(std::string_view path);
/// "splits/NAME.ROLE.npy"; the default split is "default"
std::string seeds_file(std::string_view split, std::string_view role);
/// "splits/NAME.ROLE.WHAT.npy", beside the seeds: "times", "links", "links.times", "links.labels"
std::string split_file(std::string_view split, std::string_view role, std::string_view what);

/// Whether a type or split may have this name: 1 to 100 of a-z A-Z 0-9 _ - . and no '.' first.
bool is_valid_name(std::string_view name);
/// Whether a column has a dtype, a shape and a name that are stored. \returns what is expected, empty
/// where it has
std::string fault_of(const ColumnInfo& column);
/// Whether a listed path stays inside the store.
bool is_safe_path(std::string_view path);
/// Whether a file of a graph store, as it is or will be, has this path or one that it needs.
bool is_own_path(std::string_view path);

}  // namespace troupe::store_layout
