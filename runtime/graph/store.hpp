#pragma once
/// \file store.hpp
/// Reading stores (design, section 9; docs/store.md): a whole graph as an importer wrote it, or a
/// partitioned one. Every file is checked against size and checksum in
/// `graph.json`/`partition.json`; a mismatch names file, offset or checksum.
#include "runtime/base/result.hpp"
#include "runtime/graph/edge_ends.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/link_list.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/graph/part.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// `mapped` shares files between processes of a host through the page cache; `copied` loads them
/// once per process.
enum class StoreMemory : std::uint8_t { mapped, copied };

/// Checksums are compared when a store is opened (`full`: reads every byte) or only sizes
/// (`sizes`).
enum class Verify : std::uint8_t { full, sizes };

struct StoreOptions {
  StoreMemory memory = StoreMemory::mapped;
  Verify verify = Verify::full;
  /// Paths of the files that were loaded, noted by one thread at a time. Borrowed; null: none are.
  std::set<std::string>* loaded = nullptr;
};

/// Seeds of one role of one split, sorted by original id.
struct SeedList {
  NodeTypeId node_type{};
  std::vector<OriginalId> original;
  std::vector<NodeId> global;  ///< same order; in an unpartitioned store equal to the original ids
  std::vector<std::int64_t> times = {};  ///< [seeds], or empty where the split has none
};

/// Ranges of global ids: `first_node[type][part]`, with the count of the type as last entry.
struct PartRanges {
  std::vector<std::vector<std::uint64_t>> first_node;
};

/// How evenly the parts share something: `largest * parts / total` is 1 where all are alike.
struct PartBalance {
  std::string name;  ///< "nodes", "edges", "train", …
  std::uint64_t largest = 0;
  std::uint64_t total = 0;
};

/// How hot the rows of parts are, where nodes are numbered hottest first: the mean of the degree or
/// hotness over buckets of a part's rows, which are finest at its beginning.
struct PartHeat {
  static constexpr std::size_t buckets = 64;
  std::vector<std::vector<std::vector<double>>> mean;  ///< [node type][part][bucket]

  bool known() const { return !mean.empty(); }
  /// First row of a bucket of a part with `rows` rows; that of `buckets` is `rows`.
  static std::uint64_t bucket_begin(std::uint64_t rows, std::uint64_t bucket) {
    const auto share = static_cast<double>(bucket * bucket) / (buckets * buckets);
    return bucket == buckets ? rows : static_cast<std::uint64_t>(static_cast<double>(rows) * share);
  }
};

/// What `partition.json` says.
struct PartitionInfo {
  std::string method;
  std::uint32_t parts = 0;
  std::string
      options_hash;  ///< of method, options and data; a store is reused only where it is equal
  CompleteFor complete_for = CompleteFor::in;
  PartRanges ranges;
  std::vector<std::vector<std::uint64_t>>
      edges;                    ///< [edge type][part], edges kept in the part's main lists
  std::uint64_t cut_edges = 0;  ///< edges whose ends lie in different parts, all types
  // What stores written before this was kept have none of:
  std::vector<std::pair<std::string, std::string>> options;  ///< of the method, as text
  std::optional<std::uint64_t> communication_volume;         ///< sum of each node's foreign parts
  std::vector<PartBalance> balance;
  std::string order = "degree";  ///< of the nodes inside a part: "degree", "hotness", "original"
  PartHeat heat;                 ///< none with order "original", or more than `most_heated` parts
  std::uint32_t halo_hops = 0;   ///< parts keep the whole lists of nodes so many hops away
  bool halo_features = false;    ///< parts keep the features of all nodes that their lists name
  /// Features are not among `files`: `troupe add-features` writes them, part by part.
  bool features_later = false;
  std::string graph_checksum;  ///< where they come later: of the store that they come from
  std::vector<std::vector<std::uint64_t>> halo_nodes;  ///< [node type][part] named, not owned
  bool directory = false;                ///< parts keep their slices of the node types' directories
  std::vector<EdgeEndSlices> ends = {};  ///< [edge type], or empty in stores without
  std::vector<FileInfo> files;
};

/// The split of a name, which is added where there is none.
SplitInfo& split_to_change(GraphInfo& info, std::string_view name);
/// Gives a role of a split what it has in the split `from`, if it has anything there.
/// \requires `from` is a split of the graph
void take_role(GraphInfo& info, std::string_view split, const std::string& role,
               std::string_view from);
/// As if the node types had none.
void leave_out_features(GraphInfo& info, std::span<const NodeTypeId> types);

/// What `graph.json` of a store of either kind says; its arrays are not looked at.
/// \errors as GraphStore::open, but for those of other files
Result<GraphInfo> read_graph_info(const std::filesystem::path& dir);

/// XXH3-128 of a store's `graph.json`. That of a graph store tells it from all others, as the
/// checksums of its arrays are in there.
/// \errors not_found, failed_precondition: no graph.json, or unreadable
Result<std::string> graph_checksum(const std::filesystem::path& dir);

/// A whole graph on disk: global ids equal original ids, one `Part` that owns everything.
class GraphStore {
 public:
  /// \errors not_found: no graph.json at `dir`; data_corruption: a file differs from its size or
  ///   checksum; unimplemented: a newer format version
  static Result<GraphStore> open(const std::filesystem::path& dir, const StoreOptions& options);

  const GraphInfo& info() const { return info_; }
  const std::filesystem::path& dir() const { return dir_; }
  std::shared_ptr<const Part> graph() const { return graph_; }
  /// \param role "train", "val" or "test".
  /// \errors not_found: with the names that exist
  Result<SeedList> seeds(std::string_view split, std::string_view role) const;
  /// \errors as seeds()
  Result<LinkList> links(std::string_view split, std::string_view role) const;

 private:
  std::filesystem::path dir_;
  StoreOptions options_;
  GraphInfo info_;
  std::shared_ptr<const Part> graph_;
};

/// How much of a part is loaded: neighbour lists and original ids of its own nodes are enough to
/// sample from.
enum class PartScope : std::uint8_t { all, without_features, lists };

/// A partitioned graph on disk. Opening reads the two JSON files; parts are loaded one by one.
class PartitionedStore {
 public:
  /// \errors as GraphStore::open; also failed_precondition: not partitioned
  static Result<PartitionedStore> open(const std::filesystem::path& dir,
                                       const StoreOptions& options);

  const GraphInfo& info() const { return info_; }
  const PartitionInfo& partition() const { return partition_; }
  const std::filesystem::path& dir() const { return dir_; }
  /// The same store, whose parts are loaded in another way.
  PartitionedStore with_memory(StoreMemory memory) const {
    auto store = *this;
    store.options_.memory = memory;
    return store;
  }
  StoreMemory memory() const { return options_.memory; }
  /// The same store as if node types had no features: info() has none of them, and no part loads them.
  PartitionedStore without_features(std::span<const NodeTypeId> types) const;
  /// The same store with other seeds, or links, of a role in place of its own: info() counts them.
  /// \param seeds  in order of original ids
  PartitionedStore with_seeds(const std::string& split, const std::string& role,
                              SeedList seeds) const;
  PartitionedStore with_links(const std::string& split, const std::string& role,
                              LinkList links) const;
  /// Called by links().
  using MakeLinks = std::function<Result<LinkList>()>;
  /// The same with links that each call of links() makes.
  /// \param counted  what info() says of them
  PartitionedStore with_links_made(const std::string& split, const std::string& role,
                                   SplitInfo::LinkRole counted, MakeLinks make) const;
  /// The same store with the seeds and links that a role has in the split `from`, if it has any there.
  /// \requires `from` is a split of the graph. \errors those of seeds() and links()
  Result<PartitionedStore> with_role_of(const std::string& split, const std::string& role,
                                        const std::string& from) const;
  /// The part's slice of a node type's directory: global ids in order of original ids, u32 or u64.
  /// The ids are not checked.
  /// \errors failed_precondition: the store has no directories; those of loading
  Result<NpyArray> load_directory(PartId part, NodeTypeId type) const;
  /// Of all files of a part that are there. \errors those of added_files
  Result<std::uint64_t> part_bytes(PartId part) const;
  /// \errors failed_precondition: its features come later and are not there yet
  Result<std::shared_ptr<const Part>> load_part(PartId part) const;
  /// What is there also before the features are.
  Result<std::shared_ptr<const Part>> load_without_features(PartId part) const;
  Result<std::shared_ptr<const Part>> load_lists(PartId part) const;
  /// The part with its slices of the ends of edges of a type.
  /// \errors failed_precondition: the store has none; as load_part()
  Result<std::shared_ptr<const Part>> with_ends(const Part& part, EdgeTypeId type) const;
  /// Paths of the part's arrays of features, whether they are there or not.
  std::vector<std::string> feature_files(PartId part) const;
  /// What `troupe add-features` has written of a part: those arrays, and last the manifest that
  /// lists them. Empty where there is no manifest.
  /// \errors data_corruption: the manifest is damaged, or lists something else
  Result<std::vector<FileInfo>> added_files(PartId part) const;
  Result<SeedList> seeds(std::string_view split, std::string_view role) const;
  /// \errors as seeds(); those of links that are made
  Result<LinkList> links(std::string_view split, std::string_view role) const;

 private:
  Result<std::shared_ptr<const Part>> load(PartId part, PartScope scope) const;

  std::filesystem::path dir_;
  StoreOptions options_;
  GraphInfo info_;
  PartitionInfo partition_;
  std::vector<NodeTypeId> left_out_{};  ///< node types with features that info_ no longer has
  /// By split and role.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const SeedList>> other_seeds_{};
  std::map<std::pair<std::string, std::string>, MakeLinks> other_links_{};
};

/// Whether `dir` holds a store, and of which kind.
enum class StoreKind : std::uint8_t { none, graph, partitioned };
StoreKind store_kind(const std::filesystem::path& dir);

}  // namespace troupe
