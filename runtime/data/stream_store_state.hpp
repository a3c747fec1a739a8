#pragma once
/// \file stream_store_state.hpp
/// What a StoreWriter has been given so far. Used by stream_store*.cpp only.
#include "runtime/base/scratch_file.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/data/edge_lists.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/data/stream_store.hpp"

#include <array>
#include <functional>
#include <map>
#include <utility>

namespace troupe {

namespace stream_store {

/// Rows of one array of a node type, checked and on their way to its file.
struct RowFile {
  std::string path;  ///< in the store
  NpyStream stream;
  std::uint64_t row_bytes = 0;
  std::uint64_t rows = 0;  ///< written
};

struct NodeRows {
  NodeTypeInfo info;
  bool counted = false;           ///< its number of nodes was stated
  std::uint64_t least_count = 0;  ///< largest id in an edge + 1
  std::optional<RowFile> features;
  std::optional<RowFile> labels;        ///< or targets
  std::vector<bool> classes_seen = {};  ///< [largest label so far + 1]
  std::uint64_t largest_label_at = 0;   ///< First node with that label
  std::vector<RowFile> columns = {};
};

/// Rows of edges in the order given, until the order of the lists is known.
struct GivenRows {
  std::uint64_t count = 0;
  std::optional<ScratchFile> rows = std::nullopt;  ///< not of a reverse type
};

struct WrittenEdges {
  EdgeTypeInfo info;
  EdgeTransforms transforms;
  std::optional<std::size_t> reverse_of;  ///< edge type whose reverses these are
  std::uint64_t given = 0;                ///< edges before any transform
  GivenRows features = {};
  std::vector<GivenRows> columns = {};
  std::unique_ptr<EdgeLists> lists;  ///< once edges were given
};

struct WrittenSeeds {
  NodeTypeId type{};
  std::vector<std::uint64_t> ids;
  std::optional<std::vector<std::int64_t>> times;
};

/// A link as it waits to be sorted.
struct LinkRecord {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::int64_t time = 0;
  float label = 0;

  std::array<std::uint64_t, 2> key() const { return {source, destination}; }
};

struct WrittenLinks {
  NewLinks info;
  ScratchFile records;    ///< in the order given
  bool distinct = false;  ///< of equal ones only the first is kept
  std::uint64_t count() const { return records.size() / sizeof(LinkRecord); }
};

/// (split, role)
using RoleName = std::pair<std::string, std::string>;

}  // namespace stream_store

class StoreWriter::State {
 public:
  State(StagedDirectory staged, StoreWriterOptions options, Executor& executor)
      : staged_(std::move(staged)), options_(std::move(options)), executor_(executor) {}

  Result<NodeTypeId> add_node_type(const NewNodeType& type);
  Result<EdgeTypeId> add_edge_type(const NewEdgeType& type);
  Status add_edges(EdgeTypeId type, const EdgePiece& piece);
  Status add_edge_features(EdgeTypeId type, std::span<const std::byte> rows);
  Status add_column(NodeTypeId type, std::size_t column, std::span<const std::byte> rows);
  Status add_edge_column(EdgeTypeId type, std::size_t column, std::span<const std::byte> rows);
  Status add_rows(NodeTypeId type, bool classes, std::span<const std::byte> bytes);
  Status add_features(NodeTypeId type, std::span<const std::byte> bytes);
  /// Checks labels and notes which classes there are.
  Status check_labels(NodeTypeId type, std::span<const std::int64_t> labels);
  Status set_seeds(const stream_store::RoleName& name, stream_store::WrittenSeeds&& seeds);
  Status open_links(const stream_store::RoleName& name, const NewLinks& links);
  Status add_links(const stream_store::RoleName& name, const LinkPiece& piece);
  Status add_file(const std::string& path, std::span<const std::string> pieces);
  Status add_array(const std::string& path, DType dtype, std::vector<std::uint64_t> shape,
                   const std::function<Status(const TakeBytes&)>& write);
  Result<GraphInfo> finish();
  /// \errors failed_precondition: finish() was called
  Status check_open() const;

 private:
  Result<GraphInfo> write_all();
  Status check_node_type(const NewNodeType& type) const;
  Status check_edge_type(const NewEdgeType& type) const;
  Status open_row_files(stream_store::NodeRows& rows);
  Result<stream_store::RowFile> open_rows(const stream_store::NodeRows& rows, std::string_view what,
                                          DType dtype, std::vector<std::uint64_t> shape);
  Status write_rows(const stream_store::NodeRows& rows, stream_store::RowFile& file,
                    std::span<const std::byte> bytes);
  Status begin_edges();
  Result<stream_store::WrittenEdges*> given_edges(EdgeTypeId type);
  static Status check_piece(const stream_store::WrittenEdges& edges, const EdgePiece& piece);
  Status take_ids(const stream_store::WrittenEdges& edges, bool sources,
                  std::span<const std::uint64_t> ids);
  Status finish_rows(stream_store::NodeRows& rows);
  Status close_rows(const stream_store::NodeRows& rows, stream_store::RowFile& file);
  Status settle_counts();
  Status check_columns() const;
  Status check_splits() const;
  void note_empty_classes() const;
  Status finish_edges(stream_store::WrittenEdges& edges);
  /// An array of rows of edges on its way to disk.
  struct EdgeRowFile {
    std::string what;  ///< for messages
    std::string path;
    DType dtype;
    std::vector<std::uint64_t> shape;
    std::size_t row_bytes;
  };
  Status add_given_rows(stream_store::GivenRows& to, const std::string& what, std::size_t row_bytes,
                        std::span<const std::byte> rows);
  Status finish_edge_rows(const stream_store::WrittenEdges& edges);
  Status finish_given_rows(const stream_store::WrittenEdges& edges,
                           const stream_store::GivenRows& given, const EdgeRowFile& file);
  Status finish_seeds();
  Status write_seed_times(const stream_store::RoleName& name, std::span<const std::int64_t> times);
  Status begin_edge_split();
  Result<EdgeTypeId> type_to_split(const std::string& name) const;
  /// Makes links of a piece. \returns the roles of its edges; none where its type is not split
  Result<std::vector<std::uint8_t>> split_edges(EdgeTypeId type, const EdgePiece& piece);
  Status finish_links();
  Status drop_equal_links(const stream_store::RoleName& name, stream_store::WrittenLinks& links);
  Status sort_links(const stream_store::RoleName& name, const stream_store::WrittenLinks& links,
                    const std::function<Status(std::span<const stream_store::LinkRecord>)>& take);
  /// Refuses before the disk is filled with what cannot fit.
  Status check_space(const std::string& path, std::uint64_t bytes) const;
  Status make_place_for(const std::string& path) const;
  Status make_folder_of(const std::string& path) const;
  void report(std::string_view stage, std::uint64_t done, std::uint64_t total,
              std::string_view unit) const;

  StagedDirectory staged_;
  StoreWriterOptions options_;
  Executor& executor_;
  bool edges_given_ = false;
  bool finished_ = false;  ///< Or failed to
  std::vector<stream_store::NodeRows> nodes_;
  std::vector<stream_store::WrittenEdges> edges_;
  std::map<stream_store::RoleName, stream_store::WrittenSeeds> seeds_;
  std::map<stream_store::RoleName, stream_store::WrittenLinks> links_;
  std::map<std::string, SplitInfo> splits_;  ///< finished
  /// Edge types whose edges get roles; several have links with their numbers here as labels.
  std::vector<std::pair<EdgeTypeId, stream_store::EdgeRoles>> edge_roles_;
  std::vector<FileInfo> further_files_;
  GraphInfo info_;  ///< what is finished
};

}  // namespace troupe
