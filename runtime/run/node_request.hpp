#pragma once
/// \file node_request.hpp
/// The nodes that a user asks for, by original id or by role, found in a partitioned store.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/node_names.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// Reads original ids: a `.npy` file of integers with one dimension, or text with an id a line (empty
/// lines are skipped).
/// \param nodes  how many there are: every id must be below it
/// \errors not_found; invalid_argument: an entry or a line that is no id, with its place;
///   data_corruption, unimplemented: those of map_npy
Result<std::vector<OriginalId>> read_node_ids(const std::filesystem::path& file,
                                              std::uint64_t nodes);

/// The global ids of distinct nodes, in the order given: from the parts' directories, or in older
/// stores from a pass over the original ids of all parts.
/// \requires the ids are below the type's count
/// \errors data_corruption: a node is in no part, or in several; those of loading parts
Result<std::vector<NodeId>> locate_nodes(const PartitionedStore& store, NodeTypeId type,
                                         const std::vector<OriginalId>& ids);

/// Whether a word names seeds of a split, not a file.
bool is_role(const std::string& source);

/// Checks a source of a NodeRequest by its name. \errors invalid_argument: neither a word nor a file of ids
Status check_source(const std::string& source);

struct NodeRequest {
  /// One after the other: "train", "val", "test" (of the split), "all" (by original id), or a file
  /// for read_node_ids that ends in .npy or .txt.
  std::vector<std::string> sources;
  std::string split;
  NodeTypeId node_type{};            ///< of the nodes; a role of another type is refused
  const NodeNames* names = nullptr;  ///< of that type, which .txt files then have in place of ids
};
struct FoundNodes {
  SeedList nodes;             ///< in the order of the request, each where it came first
  std::uint64_t repeats = 0;  ///< that were left out
};
/// \errors as read_node_ids, or NodeNames::numbers_in(); not_found: no such seeds, with those that exist; invalid_argument:
///   another source, or no node at all; those of loading parts
/// \cost  that of locate_nodes(), unless a role alone is asked for
Result<FoundNodes> find_nodes(const PartitionedStore& store, const NodeRequest& request);

}  // namespace troupe
