#include "runtime/graph/json_document.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/self_checksum.hpp"

#include <algorithm>

namespace troupe::store_json {

Json start_document(std::string_view format, unsigned version) {
  Json document;
  document["format"] = format;
  document["version"] = version;
  document["self_checksum"] = unsealed;
  return document;
}

std::string finish_document(const Json& document) {
  return seal_text(text_of_json(document, {.indent = 1}) + "\n");
}

Result<nlohmann::json> open_document(const std::string& text, std::string_view format,
                                     std::string_view name, unsigned newest) {
  TROUPE_ASSIGN_OR_RETURN(auto document, open_json(text, name));
  const JsonValue root(document, std::string(name) + ": ");
  TROUPE_ASSIGN_OR_RETURN(const auto found, root.string("format"));
  if (found != format) {
    return root.error(fmt::format("\"format\": \"{}\"", format));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto version, root.integer("version", 1U << 30));
  if (version < store_layout::format_version || version > newest) {
    return Error(
        Errc::unimplemented,
        fmt::format("{}: expected format version {}{}, found {}\ntry: a newer program, or "
                    "import again",
                    name, newest > store_layout::format_version ? "up to " : "", newest, version));
  }
  TROUPE_RETURN_IF_ERROR(check_seal(text, name));
  return document;
}

Json files_to_json(const std::vector<FileInfo>& files) {
  auto list = Json::array();
  for (const auto& file : files) {
    list.push_back({{"path", file.path}, {"bytes", file.bytes}, {"checksum", file.checksum}});
  }
  return list;
}

Result<std::vector<FileInfo>> read_files(const JsonValue& root) {
  TROUPE_ASSIGN_OR_RETURN(const auto items, root.array("files"));
  std::vector<FileInfo> files;
  std::set<std::string> seen;
  for (const auto& item : items) {
    FileInfo file;
    TROUPE_ASSIGN_OR_RETURN(file.path, item.string("path"));
    TROUPE_ASSIGN_OR_RETURN(file.bytes, item.integer("bytes", std::uint64_t{1} << 60));
    TROUPE_ASSIGN_OR_RETURN(file.checksum, item.string("checksum"));
    if (!store_layout::is_safe_path(file.path)) {
      return item.error("a path inside the store, of a-z A-Z 0-9 _ - . and /");
    }
    if (!parse_digest(file.checksum).ok()) {
      return item.error("a checksum of 32 hexadecimal digits");
    }
    if (!seen.insert(file.path).second) {
      return item.error("each path once");
    }
    files.push_back(std::move(file));
  }
  return files;
}

Result<NodeTypeId> read_node_type_id(const JsonValue& entry, const std::string& key,
                                     const GraphInfo& info) {
  TROUPE_ASSIGN_OR_RETURN(const auto name, entry.string(key));
  const auto found = std::ranges::find(info.node_types, name, &NodeTypeInfo::name);
  if (found == info.node_types.end()) {
    return entry.error(fmt::format("the name of a node type in \"{}\"", key));
  }
  return static_cast<NodeTypeId>(found - info.node_types.begin());
}

Result<EdgeTypeId> read_edge_type_id(const JsonValue& entry, const std::string& key,
                                     const GraphInfo& info) {
  TROUPE_ASSIGN_OR_RETURN(const auto name, entry.string(key));
  const auto found = std::ranges::find(info.edge_types, name, &EdgeTypeInfo::name);
  if (found == info.edge_types.end()) {
    return entry.error(fmt::format("the name of an edge type in \"{}\"", key));
  }
  return static_cast<EdgeTypeId>(found - info.edge_types.begin());
}

}  // namespace troupe::store_json
