#pragma once
/// \file json_document.hpp
/// What graph.json, partition.json and features.json have in common. Only for the sources of
/// graph_json.hpp.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/json_reader.hpp"
#include "runtime/graph/store_layout.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::store_json {

using Json = nlohmann::ordered_json;

Json start_document(std::string_view format, unsigned version = store_layout::format_version);
std::string finish_document(const Json& document);
/// Checks format and version before the checksum: a newer version may compute it otherwise.
Result<nlohmann::json> open_document(const std::string& text, std::string_view format,
                                     std::string_view name,
                                     unsigned newest = store_layout::format_version);

Json files_to_json(const std::vector<FileInfo>& files);
Result<std::vector<FileInfo>> read_files(const JsonValue& root);

Result<NodeTypeId> read_node_type_id(const JsonValue& entry, const std::string& key,
                                     const GraphInfo& info);
Result<EdgeTypeId> read_edge_type_id(const JsonValue& entry, const std::string& key,
                                     const GraphInfo& info);

Json split_to_json(const SplitInfo& split, const GraphInfo& info);
Result<SplitInfo> read_split(const JsonValue& entry, const GraphInfo& info);

/// Reads the list `key`, whose items have unique names and at most `most` entries.
template <class Item, class Read>
Result<std::vector<Item>> read_list(const JsonValue& root, const std::string& key, std::size_t most,
                                    Read read) {
  TROUPE_ASSIGN_OR_RETURN(const auto entries, root.array(key));
  if (entries.size() > most) {
    return root.error(
        fmt::format("at most {} entries in \"{}\" ({} are there)", most, key, entries.size()));
  }
  std::vector<Item> items;
  std::set<std::string> names;
  for (const auto& entry : entries) {
    TROUPE_ASSIGN_OR_RETURN(auto item, read(entry));
    if (!names.insert(item.name).second) {
      return entry.error("each name once");
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace troupe::store_json
