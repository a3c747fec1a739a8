#include "runtime/data/edgelist_document.hpp"

#include "runtime/data/document_graph.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using graph_source::own_transforms;
using graph_source::transforms_of;

constexpr std::uint64_t last_line_column = 0xffff'ffff;

class EdgelistDocument {
 public:
  EdgelistDocument(const std::filesystem::path& file, const EdgeTransforms& edges)
      : folder_(file.parent_path()), edges_(edges) {
    lists_.document = file;
  }

  Result<Edgelists> read(const JsonValue& document) {
    TROUPE_RETURN_IF_ERROR(known_object(document, {"node_types", "edge_types"}));
    TROUPE_ASSIGN_OR_RETURN(const auto node_types, document.member("node_types"));
    TROUPE_ASSIGN_OR_RETURN(const auto nodes, node_types.members());
    for (const auto& type : nodes) {
      TROUPE_RETURN_IF_ERROR(read_nodes(type));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto edge_types, document.member("edge_types"));
    TROUPE_ASSIGN_OR_RETURN(const auto edges, edge_types.members());
    for (const auto& type : edges) {
      TROUPE_RETURN_IF_ERROR(read_edges(type));
    }
    if (lists_.edges.empty()) {
      return edge_types.error("an object with at least one edge type");
    }
    return std::move(lists_);
  }

 private:
  Status read_nodes(const JsonValue::Member& type) {
    TROUPE_ASSIGN_OR_RETURN(const auto object,
                            known_object(type.value, {"ids", "first_id", "count"}));
    EdgelistNodes nodes{type.key};
    if (const auto* ids = object.find("ids")) {
      const auto kind = ids->string();
      if (!kind || (*kind != "number" && *kind != "text")) {
        return ids->error(R"("number" or "text")");
      }
      nodes.text_ids = *kind == "text";
    }
    if (const auto* first = object.find("first_id")) {
      TROUPE_ASSIGN_OR_RETURN(nodes.first_id, first->integer(store_layout::largest_count));
    }
    if (const auto* count = object.find("count")) {
      TROUPE_ASSIGN_OR_RETURN(nodes.count, count->integer(store_layout::largest_count));
    }
    lists_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  Result<std::size_t> node_type(const JsonValue& edge_type, const std::string& key) const {
    TROUPE_ASSIGN_OR_RETURN(const auto value, edge_type.member(key));
    TROUPE_ASSIGN_OR_RETURN(const auto name, value.string());
    const auto found = std::ranges::find(lists_.nodes, name, &EdgelistNodes::name);
    if (found == lists_.nodes.end()) {
      return value.error("the name of a node type");
    }
    return static_cast<std::size_t>(found - lists_.nodes.begin());
  }

  Status read_edges(const JsonValue::Member& type) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto object,
        known_object(type.value, {"source", "destination", "edges", "columns", "weight_column",
                                  "time_column", "edge_columns", "header", "symmetrize", "dedup",
                                  "drop_self_loops", "reverse_edges"}));
    Edgelist list{type.key};
    TROUPE_ASSIGN_OR_RETURN(list.source, node_type(type.value, "source"));
    TROUPE_ASSIGN_OR_RETURN(list.destination, node_type(type.value, "destination"));
    TROUPE_ASSIGN_OR_RETURN(const auto own, own_transforms(object));
    list.transforms = transforms_of(edges_, own, list.source == list.destination);
    TROUPE_ASSIGN_OR_RETURN(const auto files, type.value.member("edges"));
    TROUPE_RETURN_IF_ERROR(read_files(files, list));
    TROUPE_RETURN_IF_ERROR(read_columns(object, list));
    if (const auto* header = object.find("header")) {
      TROUPE_ASSIGN_OR_RETURN(list.header, header->boolean());
    }
    lists_.edges.push_back(std::move(list));
    return ok_status();
  }

  /// A file, or a list of files that are one list of edges together.
  Status read_files(const JsonValue& value, Edgelist& list) const {
    if (const auto file = value.string()) {
      list.files.push_back(folder_ / *file);
      return ok_status();
    }
    const auto files = value.array();
    if (!files || files->empty()) {
      return value.error("a file or a list of files");
    }
    for (const auto& file : *files) {
      TROUPE_ASSIGN_OR_RETURN(const auto name, file.string());
      list.files.push_back(folder_ / name);
    }
    return ok_status();
  }

  static Result<std::optional<std::uint32_t>> column(const KnownObject& object,
                                                     std::string_view key) {
    const auto* value = object.find(key);
    if (value == nullptr) {
      return std::optional<std::uint32_t>();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto number, value->integer(last_line_column));
    return std::optional(static_cast<std::uint32_t>(number));
  }

  static Status read_columns(const KnownObject& object, Edgelist& list) {
    if (const auto* ends = object.find("columns")) {
      const auto pair = ends->array();
      if (!pair || pair->size() != 2) {
        return ends->error("the two columns of source and destination");
      }
      TROUPE_ASSIGN_OR_RETURN(const auto source, pair->front().integer(last_line_column));
      TROUPE_ASSIGN_OR_RETURN(const auto destination, pair->back().integer(last_line_column));
      list.source_column = static_cast<std::uint32_t>(source);
      list.destination_column = static_cast<std::uint32_t>(destination);
    }
    TROUPE_ASSIGN_OR_RETURN(list.weight_column, column(object, "weight_column"));
    TROUPE_ASSIGN_OR_RETURN(list.time_column, column(object, "time_column"));
    if (const auto* named = object.find("edge_columns")) {
      TROUPE_ASSIGN_OR_RETURN(const auto items, named->array());
      std::vector<std::string> texts;
      for (const auto& item : items) {
        TROUPE_ASSIGN_OR_RETURN(texts.emplace_back(), item.string());
      }
      auto columns = parse_line_columns(texts);
      if (!columns) {
        return std::move(columns).error().with(named->place());
      }
      list.columns = *std::move(columns);
    }
    return ok_status();
  }

  std::filesystem::path folder_;
  EdgeTransforms edges_;
  Edgelists lists_;
};

}  // namespace

Result<Edgelists> read_edgelists(const std::filesystem::path& document,
                                 const EdgeTransforms& edges) {
  TROUPE_ASSIGN_OR_RETURN(const auto json, read_json_document(document));
  auto lists = EdgelistDocument(document, edges).read(JsonValue(json, ""));
  if (!lists) {
    return as_users_mistake(lists.error()).with(document.string());
  }
  return lists;
}

}  // namespace troupe
