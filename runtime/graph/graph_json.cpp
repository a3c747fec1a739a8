#include "runtime/graph/graph_json.hpp"

#include "runtime/graph/json_document.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace troupe {
namespace {

using namespace store_json;
using store_layout::largest_cols;
using store_layout::largest_count;

constexpr std::string_view graph_format = "troupe graph";
constexpr std::string_view features_format = "troupe features";

// -------------------------------------------------------------------------------------------------------------
// writing

Json features_to_json(const FeatureInfo& features) {
  return {{"dtype", to_string(features.dtype)}, {"cols", features.cols}, {"scale", features.scale}};
}

Json columns_to_json(const std::vector<ColumnInfo>& columns) {
  auto list = Json::array();
  for (const auto& column : columns) {
    list.push_back(
        {{"name", column.name}, {"dtype", to_string(column.dtype)}, {"shape", column.shape}});
  }
  return list;
}

/// By LabelInfo::Kind.
constexpr std::array<std::string_view, 3> label_kinds{"classes", "targets", "numbers"};

Json node_type_to_json(const NodeTypeInfo& type) {
  Json entry{{"name", type.name}, {"count", type.count}};
  if (type.features) {
    entry["features"] = features_to_json(*type.features);
  }
  if (type.labels) {
    entry["labels"] = {{"kind", label_kinds[static_cast<std::size_t>(type.labels->kind)]},
                       {"classes", type.labels->classes}};
  }
  if (type.column_stats) {
    entry["column_stats"] = {{"mean", type.column_stats->mean}, {"sd", type.column_stats->sd}};
  }
  if (!type.columns.empty()) {
    entry["columns"] = columns_to_json(type.columns);
  }
  return entry;
}

Json edge_type_to_json(const EdgeTypeInfo& type, const GraphInfo& info) {
  Json entry{{"name", type.name},
             {"source", info.node_types[raw(type.source)].name},
             {"destination", info.node_types[raw(type.destination)].name},
             {"count", type.count},
             {"edge_ids", type.has_edge_ids},
             {"weights", type.has_weights},
             {"times", type.has_times}};
  if (type.edge_id_end != 0) {
    entry["edge_id_end"] = type.edge_id_end;
  }
  if (type.edge_id_begin != 0) {
    entry["edge_id_begin"] = type.edge_id_begin;
  }
  if (type.features) {
    entry["features"] = features_to_json(*type.features);
  }
  if (!type.columns.empty()) {
    entry["columns"] = columns_to_json(type.columns);
  }
  return entry;
}

// -------------------------------------------------------------------------------------------------------------
// reading

Result<std::string> read_name(const JsonValue& entry) {
  TROUPE_ASSIGN_OR_RETURN(auto name, entry.string("name"));
  if (!store_layout::is_valid_name(name)) {
    return entry.error("a name of 1 to 100 of a-z A-Z 0-9 _ - . (no '.' first)");
  }
  return name;
}

Result<FeatureInfo> read_features(const JsonValue& entry) {
  FeatureInfo features;
  TROUPE_ASSIGN_OR_RETURN(const auto dtype_name, entry.string("dtype"));
  TROUPE_ASSIGN_OR_RETURN(features.cols, entry.integer("cols", largest_cols));
  TROUPE_ASSIGN_OR_RETURN(const auto scale_value, entry.member("scale"));
  TROUPE_ASSIGN_OR_RETURN(const auto scale, scale_value.number());
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype || !store_layout::is_feature_dtype(*dtype)) {
    return entry.error("a dtype of features (u8, f16, bf16, f32)");
  }
  features.dtype = *dtype;
  features.scale = static_cast<float>(scale);
  if (!std::isfinite(features.scale)) {
    return entry.error("a finite scale");
  }
  return features;
}

Result<LabelInfo> read_labels(const JsonValue& entry) {
  LabelInfo labels;
  TROUPE_ASSIGN_OR_RETURN(const auto kind, entry.string("kind"));
  TROUPE_ASSIGN_OR_RETURN(labels.classes, entry.integer("classes", largest_cols));
  const auto found = std::ranges::find(label_kinds, kind);
  if (found == label_kinds.end()) {
    return entry.error("a kind of labels (classes, targets, numbers)");
  }
  labels.kind = static_cast<LabelInfo::Kind>(found - label_kinds.begin());
  return labels;
}

Result<std::vector<double>> read_column(const JsonValue& entry, const std::string& key,
                                        std::uint64_t cols) {
  TROUPE_ASSIGN_OR_RETURN(const auto items, entry.array(key));
  if (items.size() != cols) {
    return entry.error(fmt::format("{} numbers in \"{}\", one per column ({} are there)", cols, key,
                                   items.size()));
  }
  std::vector<double> values;
  for (const auto& item : items) {
    TROUPE_ASSIGN_OR_RETURN(const auto value, item.number());
    values.push_back(value);
  }
  return values;
}

Result<ColumnInfo> read_column_info(const JsonValue& entry) {
  ColumnInfo column;
  TROUPE_ASSIGN_OR_RETURN(column.name, entry.string("name"));
  TROUPE_ASSIGN_OR_RETURN(const auto dtype_name, entry.string("dtype"));
  const auto dtype = parse_dtype(dtype_name);
  column.dtype = dtype.value_or(DType::boolean);  // which no column has
  TROUPE_ASSIGN_OR_RETURN(column.shape, entry.integers("shape", largest_cols));
  const auto fault = store_layout::fault_of(column);
  return fault.empty() ? Result<ColumnInfo>(std::move(column)) : entry.error(fault);
}

/// Nothing in stores that have none.
Result<std::vector<ColumnInfo>> read_columns(const JsonValue& type) {
  return type.has("columns")
             ? read_list<ColumnInfo>(type, "columns", store_layout::most_columns, read_column_info)
             : Result<std::vector<ColumnInfo>>(std::vector<ColumnInfo>());
}

Result<NodeTypeInfo> read_node_type(const JsonValue& entry) {
  NodeTypeInfo type;
  TROUPE_ASSIGN_OR_RETURN(type.name, read_name(entry));
  TROUPE_ASSIGN_OR_RETURN(type.count, entry.integer("count", largest_count));
  if (entry.has("features")) {
    TROUPE_ASSIGN_OR_RETURN(const auto features, entry.member("features"));
    TROUPE_ASSIGN_OR_RETURN(type.features, read_features(features));
  }
  if (entry.has("labels")) {
    TROUPE_ASSIGN_OR_RETURN(const auto labels, entry.member("labels"));
    TROUPE_ASSIGN_OR_RETURN(type.labels, read_labels(labels));
  }
  if (entry.has("column_stats")) {
    TROUPE_ASSIGN_OR_RETURN(const auto stats, entry.member("column_stats"));
    const auto cols = type.features ? type.features->cols : 0;
    ColumnStats columns;
    TROUPE_ASSIGN_OR_RETURN(columns.mean, read_column(stats, "mean", cols));
    TROUPE_ASSIGN_OR_RETURN(columns.sd, read_column(stats, "sd", cols));
    type.column_stats = std::move(columns);
  }
  TROUPE_ASSIGN_OR_RETURN(type.columns, read_columns(entry));
  return type;
}

Result<EdgeTypeInfo> read_edge_type(const JsonValue& entry, const GraphInfo& info) {
  EdgeTypeInfo type;
  TROUPE_ASSIGN_OR_RETURN(type.name, read_name(entry));
  TROUPE_ASSIGN_OR_RETURN(type.source, read_node_type_id(entry, "source", info));
  TROUPE_ASSIGN_OR_RETURN(type.destination, read_node_type_id(entry, "destination", info));
  TROUPE_ASSIGN_OR_RETURN(type.count, entry.integer("count", largest_count));
  TROUPE_ASSIGN_OR_RETURN(type.has_edge_ids, entry.boolean("edge_ids"));
  TROUPE_ASSIGN_OR_RETURN(type.has_weights, entry.boolean("weights"));
  TROUPE_ASSIGN_OR_RETURN(type.has_times, entry.boolean("times"));
  if (entry.has("edge_id_end")) {
    TROUPE_ASSIGN_OR_RETURN(type.edge_id_end, entry.integer("edge_id_end", 2 * largest_count));
  }
  if (entry.has("edge_id_begin")) {
    TROUPE_ASSIGN_OR_RETURN(type.edge_id_begin,
                            entry.integer("edge_id_begin", type.end_of_edge_ids()));
  }
  if (entry.has("features")) {
    TROUPE_ASSIGN_OR_RETURN(const auto features, entry.member("features"));
    TROUPE_ASSIGN_OR_RETURN(type.features, read_features(features));
  }
  TROUPE_ASSIGN_OR_RETURN(type.columns, read_columns(entry));
  return type;
}

}  // namespace

std::string graph_to_json(const GraphInfo& info) {
  auto document = start_document(graph_format);
  document["node_types"] = Json::array();
  for (const auto& type : info.node_types) {
    document["node_types"].push_back(node_type_to_json(type));
  }
  document["edge_types"] = Json::array();
  for (const auto& type : info.edge_types) {
    document["edge_types"].push_back(edge_type_to_json(type, info));
  }
  document["splits"] = Json::array();
  for (const auto& split : info.splits) {
    document["splits"].push_back(split_to_json(split, info));
  }
  document["files"] = files_to_json(info.files);
  return finish_document(document);
}

Result<GraphInfo> graph_from_json(const std::string& text, std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(const auto document, open_document(text, graph_format, name));
  const JsonValue root(document, std::string(name) + ": ");
  GraphInfo info;
  TROUPE_ASSIGN_OR_RETURN(info.node_types,
                          read_list<NodeTypeInfo>(root, "node_types", most_types, read_node_type));
  const auto edge_type = [&](const JsonValue& entry) { return read_edge_type(entry, info); };
  TROUPE_ASSIGN_OR_RETURN(info.edge_types,
                          read_list<EdgeTypeInfo>(root, "edge_types", most_types, edge_type));
  const auto split = [&](const JsonValue& entry) { return read_split(entry, info); };
  TROUPE_ASSIGN_OR_RETURN(info.splits, read_list<SplitInfo>(root, "splits", most_types, split));
  TROUPE_ASSIGN_OR_RETURN(info.files, read_files(root));
  return info;
}

std::string features_to_json(const std::vector<FileInfo>& files) {
  auto document = start_document(features_format);
  document["files"] = files_to_json(files);
  return finish_document(document);
}

Result<std::vector<FileInfo>> features_from_json(const std::string& text, std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(const auto document, open_document(text, features_format, name));
  return read_files(JsonValue(document, std::string(name) + ": "));
}

}  // namespace troupe
