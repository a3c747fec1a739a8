#pragma once
/// \file stream_store.hpp
/// Writes a graph store from data that comes piece by piece, in bounded memory: what importers are
/// built on, and the way in for data that comes from elsewhere.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/edge_split.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How far a stage of an import is.
struct ImportProgress {
  std::string_view stage;  ///< "reading edges", …
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  std::string_view unit;    ///< "edges", "rows", "bytes"
};
/// Takes the next bytes.
using TakeBytes = std::function<Status(std::span<const std::byte>)>;
/// Called on the thread that imports, often; it should be quick.
using ReportProgress = std::function<void(const ImportProgress&)>;

struct StoreWriterOptions {
  /// For sorting edges: shared evenly by the edge types. What does not fit goes through scratch files
  /// in the store's temporary folder. Blocks on their way to disk take some 10 MB more; feature rows
  /// are not kept, but read again through the page cache for their statistics.
  std::uint64_t memory_bytes = 4'000'000'000;
  ReportProgress progress{};
  std::optional<EdgeSplit> edge_split{};  ///< Makes links of the edges given
  /// Gets a sentence about each thing that may be but is probably a mistake, once the store is there.
  std::function<void(const std::string&)> note{};
};

/// What is done to the edges of a type as they come. Ids count from 0 in the order given; E is their
/// number.
struct EdgeTransforms {
  bool symmetrize = false;       ///< adds the reverse of every edge e as edge E + e
  bool dedup = false;            ///< of parallel edges keeps the one with the smallest id
  bool drop_self_loops = false;  ///< their ids stay unused
  bool reverse_edges = false;    ///< adds a second type "rev_NAME" of the reverses, ids E + e
};

struct NewNodeType {
  std::string name;
  /// Not stated: the largest id in an edge + 1. Must be stated with features, labels or columns.
  std::optional<std::uint64_t> count;
  std::optional<FeatureInfo> features;
  std::optional<LabelInfo> labels;
  std::vector<ColumnInfo> columns = {};
};

struct NewEdgeType {
  std::string name;
  NodeTypeId source{};
  NodeTypeId destination{};
  EdgeTransforms transforms = {};
  bool weights = false;
  bool times = false;  ///< its lists are in order of time; not with dedup
  std::optional<FeatureInfo> features = std::nullopt;
  std::vector<ColumnInfo> columns = {};
};

/// Edges in the order given: edge i goes from sources[i] to destinations[i].
struct EdgePiece {
  std::span<const std::uint64_t> sources;
  std::span<const std::uint64_t> destinations;
  std::span<const float> weights = {};       ///< finite and >= 0; as many if the type has weights
  std::span<const std::int64_t> times = {};  ///< as many if the type has times
};

/// Links of a split's role, one edge type for all of them unless their labels are relations.
struct NewLinks {
  EdgeTypeId type{};
  bool times = false;
  bool labels = false;
  /// Labels are numbers of relations, whole ones below this; 0: they are not.
  std::uint64_t relations = 0;
  /// [relations], beginning with `type`: the edge type of each relation; empty: all are of `type`.
  std::vector<EdgeTypeId> types = {};
};

/// Links in the order given: link i goes from sources[i] to destinations[i], and need not be an edge.
struct LinkPiece {
  std::span<const std::uint64_t> sources;
  std::span<const std::uint64_t> destinations;
  std::span<const std::int64_t> times = {};  ///< as many if the links have times
  /// Finite, or relations; as many if the links have labels.
  std::span<const float> labels = {};
};

/// Lifecycle:  create(); types; then rows, edges, seeds and links in any order; finish() once.
///   Dropped before that, nothing is left. After finish(), also one that failed, every call fails with
///   `failed_precondition`
/// Threads:    one at a time; sorting and writing use the executor's
/// Guarantees: the same data give the same bytes, whatever the memory, the threads and the pieces
/// Borrows:    the executor
class StoreWriter {
 public:
  /// \errors invalid_argument: no path; failed_precondition: `out` exists, or its folder is not writable
  static Result<StoreWriter> create(const std::filesystem::path& out, StoreWriterOptions options,
                                    Executor& executor);
  ~StoreWriter();
  StoreWriter(StoreWriter&&) noexcept;
  StoreWriter& operator=(StoreWriter&&) noexcept;

  /// \errors invalid_argument: a name that is taken or not allowed, a count, dtype or width that
  ///   cannot be; failed_precondition: edges were given before
  Result<NodeTypeId> add_node_type(const NewNodeType& type);
  Result<EdgeTypeId> add_edge_type(const NewEdgeType& type);

  /// The next edges of a type.
  /// \errors invalid_argument: an id past the count or a weight that cannot be, with its row;
  ///   failed_precondition: no space
  Status add_edges(EdgeTypeId type, const EdgePiece& piece);
  Status add_edges(EdgeTypeId type, std::span<const std::uint64_t> sources,
                   std::span<const std::uint64_t> destinations);
  /// The next whole rows, as the type's dtype, in the order in which its edges are given. Derived
  /// edges have the row of theirs. The rows are kept in a scratch file until finish().
  Status add_edge_features(EdgeTypeId type, std::span<const std::byte> rows);
  /// The next whole rows, as the type's dtype.
  Status add_features(NodeTypeId type, std::span<const std::byte> rows);
  /// Classes of the next nodes, -1 = unlabelled.
  Status add_labels(NodeTypeId type, std::span<const std::int64_t> labels);
  /// Rows of targets of the next nodes: 0, 1, or numbers; NaN where unknown.
  Status add_targets(NodeTypeId type, std::span<const float> targets);
  /// The next whole rows of a column, as it says.
  /// \param column  place among those of the type
  Status add_column(NodeTypeId type, std::size_t column, std::span<const std::byte> rows);
  /// The same for edges, in the order in which they are given. Derived edges have the row of theirs.
  Status add_edge_column(EdgeTypeId type, std::size_t column, std::span<const std::byte> rows);
  /// The seeds of a split and role (train, val or test), in any order; duplicates are kept.
  /// \param times  one per seed, or none at all
  /// \errors invalid_argument: a role or split that cannot be, given twice, or an id past a stated count
  Status set_seeds(const std::string& split, const std::string& role, NodeTypeId type,
                   std::vector<std::uint64_t> ids,
                   std::optional<std::vector<std::int64_t>> times = std::nullopt);
  /// Says that a split's role has links, which add_links gives.
  /// \errors invalid_argument: a name that cannot be, links that are there already, or a type that is
  ///   not there
  Status open_links(const std::string& split, const std::string& role, const NewLinks& links);
  /// The next links of a role, in any order; duplicates are kept. They wait in a scratch file until
  /// finish(), which checks their ids.
  /// \errors invalid_argument: links that are not open, lengths that differ, a label that is not finite
  Status add_links(const std::string& split, const std::string& role, const LinkPiece& piece);
  /// All links of a role at once, with times and labels where `links` has some.
  Status set_links(const std::string& split, const std::string& role, EdgeTypeId type,
                   const LinkPiece& links);
  /// A further file of the store, such as the user's names of nodes: listed with its checksum, read
  /// by nobody here.
  /// \param path  relative; its names as those of types
  /// \errors invalid_argument: another path, one that the store's own files have, or given twice
  Status add_file(const std::string& path, std::span<const std::string> pieces);
  /// The same for an array, whose bytes come piece by piece.
  /// \param write  hands all of them to the function that it gets
  Status add_array(const std::string& path, DType dtype, std::vector<std::uint64_t> shape,
                   const std::function<Status(const TakeBytes&)>& write);

  /// Sorts, writes the lists and puts the store in place. \returns its info with files
  Result<GraphInfo> finish();

 private:
  class State;
  explicit StoreWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
