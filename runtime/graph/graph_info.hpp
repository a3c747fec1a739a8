#pragma once
/// \file graph_info.hpp
/// What a graph consists of, without its data: node and edge types, counts, dtypes, splits, files.
/// Mirrors `graph.json` (docs/store.md).
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Element types of stored arrays. bf16 is kept as u16 words; u8 features have a scale.
enum class DType : std::uint8_t { u8, u16, i32, i64, u32, u64, f16, bf16, f32, f64, boolean };
std::size_t size_bytes(DType dtype) noexcept;
std::string_view to_string(DType dtype) noexcept;  ///< "u8", "f32", …
std::optional<DType> parse_dtype(std::string_view text) noexcept;

/// For which direction a part's neighbour lists are complete (design, section 4).
enum class CompleteFor : std::uint8_t { in, out, both };
std::string_view to_string(CompleteFor complete) noexcept;
std::optional<CompleteFor> parse_complete_for(std::string_view text) noexcept;

/// Direction in which sampling follows edges: to the sources of in-edges, or to out-neighbours.
enum class EdgeDir : std::uint8_t { in, out };
std::string_view to_string(EdgeDir dir) noexcept;

struct FeatureInfo {
  DType dtype = DType::f32;
  std::uint64_t cols = 0;
  float scale = 1.0F;  ///< u8 only: value = stored * scale

  /// Bytes of one stored row.
  std::size_t row_bytes() const noexcept { return cols * size_bytes(dtype); }
};

/// A named column: an array beside the nodes or edges of a type, with a row for each. Handed out as
/// it is stored.
struct ColumnInfo {
  std::string name;  ///< Unique in its type
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape = {};  ///< Of a row: up to three extents, none 0

  std::uint64_t row_values() const noexcept;  ///< Product of the shape; 1 without extents
  std::size_t row_bytes() const noexcept { return row_values() * size_bytes(dtype); }
  friend bool operator==(const ColumnInfo&, const ColumnInfo&) = default;
};

/// Class labels (one i64 per node, -1 = unlabelled), multi-label targets (f32, one column per label) or
/// numbers (f32, NaN = unknown).
struct LabelInfo {
  enum class Kind : std::uint8_t { classes, targets, numbers };
  Kind kind = Kind::classes;
  std::uint64_t classes = 0;  ///< number of classes, or of columns of targets or numbers

  /// Rows of f32 in the place of classes.
  bool has_columns() const noexcept { return kind != Kind::classes; }
  /// Of one node's label or targets.
  std::size_t row_bytes() const noexcept {
    return kind == Kind::classes ? sizeof(std::int64_t) : classes * sizeof(float);
  }
};

/// Statistics of feature columns over all nodes, computed once at import in float64 over chunks of
/// 512 rows in original-id order (design, section 4).
struct ColumnStats {
  std::vector<double> mean;
  std::vector<double> sd;  ///< with n - 1
};

struct NodeTypeInfo {
  std::string name;
  std::uint64_t count = 0;
  std::optional<FeatureInfo> features;
  std::optional<LabelInfo> labels;
  std::optional<ColumnStats> column_stats;
  std::vector<ColumnInfo> columns = {};
};

struct EdgeTypeInfo {
  std::string name;  ///< unique among the edge types
  NodeTypeId source{};
  NodeTypeId destination{};
  std::uint64_t count = 0;
  bool has_edge_ids = false;  ///< stored; otherwise they are not needed or can be derived
  bool has_weights = false;
  bool has_times = false;
  std::optional<FeatureInfo> features = std::nullopt;
  /// Original edge ids lie below it; 0: below `count`. Larger where edges were dropped or derived.
  std::uint64_t edge_id_end = 0;
  /// No original edge id lies below it: that of the first derived edge, where all are derived.
  std::uint64_t edge_id_begin = 0;
  std::vector<ColumnInfo> columns = {};

  std::uint64_t end_of_edge_ids() const { return edge_id_end == 0 ? count : edge_id_end; }
  /// Of the nodes that have the lists of a direction.
  NodeTypeId list_type(EdgeDir dir) const { return dir == EdgeDir::in ? destination : source; }
  /// Of the neighbors in them.
  NodeTypeId neighbour_type(EdgeDir dir) const { return dir == EdgeDir::in ? source : destination; }
};

/// The seed lists of one split by role, "train", "val" and "test": nodes, links (edges as seeds), or
/// both. Sizes only, the lists are files.
struct SplitInfo {
  std::string name;  ///< "" is the default split
  struct Role {
    NodeTypeId node_type{};
    std::uint64_t count = 0;
    bool has_times = false;
  };
  struct LinkRole {
    EdgeTypeId edge_type{};  ///< Of triples along several edge types: of the first relation
    std::uint64_t count = 0;
    bool has_times = false;
    bool has_labels = false;
    /// Links are triples: their labels are numbers of relations, whole ones below this. 0: they are not.
    std::uint64_t relations = 0;
    /// [relations]: the edge type of each relation; empty: all links are of `edge_type`.
    std::vector<EdgeTypeId> edge_types = {};
    /// Links are pairs of nodes of this type on walks that begin along `edge_type`; not in stores.
    std::optional<NodeTypeId> pairs_of = {};
  };
  std::map<std::string, Role> roles = {};      ///< Of nodes
  std::map<std::string, LinkRole> links = {};  ///< Of links
};

struct FileInfo {
  std::string path;  ///< relative to the store
  std::uint64_t bytes = 0;
  std::string checksum;  ///< XXH3-128, 32 hexadecimal digits
};

struct GraphInfo {
  std::vector<NodeTypeInfo> node_types;
  std::vector<EdgeTypeInfo> edge_types;
  std::vector<SplitInfo> splits;
  std::vector<FileInfo> files;

  const SplitInfo* find_split(std::string_view name) const;
};

}  // namespace troupe
