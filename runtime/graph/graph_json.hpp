#pragma once
/// \file graph_json.hpp
/// `graph.json`, `partition.json` and `features.json` to and from structs. Reading takes nothing on trust: every
/// error names the file and the JSON pointer. Each document carries a checksum of itself
/// (docs/store.md).
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

std::string graph_to_json(const GraphInfo& info);
/// \param name  for messages
/// \errors data_corruption: not such a document; unimplemented: a newer format version
Result<GraphInfo> graph_from_json(const std::string& text, std::string_view name);

std::string partition_to_json(const PartitionInfo& partition, const GraphInfo& info);
/// Ranges and edge counts are checked against `info`.
/// \errors as graph_from_json
Result<PartitionInfo> partition_from_json(const std::string& text, const GraphInfo& info,
                                          std::string_view name);

/// The manifest of a part's features that came later: `files` are their arrays.
std::string features_to_json(const std::vector<FileInfo>& files);
/// \errors as graph_from_json
Result<std::vector<FileInfo>> features_from_json(const std::string& text, std::string_view name);

}  // namespace troupe
