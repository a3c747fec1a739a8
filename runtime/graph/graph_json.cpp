#include "runtime/graph/graph_json.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/self_checksum.hpp"
#include "runtime/graph/json_reader.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

namespace troupe {
namespace {

using Json = nlohmann::ordered_json;
using store_layout::largest_cols;
using store_layout::largest_count;

constexpr std::string_view graph_format = "troupe graph";
constexpr std::string_view partition_format = "troupe partition";
constexpr std::string_view features_format = "troupe features";
constexpr std::string_view later = "later";

Json start_document(std::string_view format, unsigned version = store_layout::format_version) {
  Json document;
  document["format"] = format;
  document["version"] = version;
  document["self_checksum"] = unsealed;
  return document;
}

std::string finish_document(const Json& document) {
  return seal_text(text_of_json(document, {.indent = 1}) + "\n");
}

/// Checks format and version before the checksum: a newer version may compute it otherwise.
Result<nlohmann::json> open_document(const std::string& text, std::string_view format,
                                     std::string_view name,
                                     unsigned newest = store_layout::format_version) {
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

// -------------------------------------------------------------------------------------------------------------
// writing

Json files_to_json(const std::vector<FileInfo>& files) {
  auto list = Json::array();
  for (const auto& file : files) {
    list.push_back({{"path", file.path}, {"bytes", file.bytes}, {"checksum", file.checksum}});
  }
  return list;
}

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

Json node_type_to_json(const NodeTypeInfo& type) {
  Json entry{{"name", type.name}, {"count", type.count}};
  if (type.features) {
    entry["features"] = features_to_json(*type.features);
  }
  if (type.labels) {
    const bool classes = type.labels->kind == LabelInfo::Kind::classes;
    entry["labels"] = {{"kind", classes ? "classes" : "targets"},
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
  if (type.features) {
    entry["features"] = features_to_json(*type.features);
  }
  if (!type.columns.empty()) {
    entry["columns"] = columns_to_json(type.columns);
  }
  return entry;
}

/// Links of one edge type are "links"; programs that do not know triples along several edge types
/// do not see those, as they have a key of their own.
void link_role_to_json(const std::string& role, const SplitInfo::LinkRole& links,
                       const GraphInfo& info, Json& split) {
  Json entry{{"count", links.count}, {"times", links.has_times}};
  if (!links.edge_types.empty()) {
    auto names = Json::array();
    for (const auto type : links.edge_types) {
      names.push_back(info.edge_types[raw(type)].name);
    }
    entry["edge_types"] = std::move(names);
    split["triples"][role] = std::move(entry);
    return;
  }
  split["links"][role] = {{"edge_type", info.edge_types[raw(links.edge_type)].name},
                          {"count", links.count},
                          {"times", links.has_times},
                          {"labels", links.has_labels}};
  if (links.relations != 0) {
    split["links"][role]["relations"] = links.relations;
  }
}

Json split_to_json(const SplitInfo& split, const GraphInfo& info) {
  auto roles = Json::object();
  for (const auto& [role, seeds] : split.roles) {
    roles[role] = {{"node_type", info.node_types[raw(seeds.node_type)].name},
                   {"count", seeds.count}};
    if (seeds.has_times) {
      roles[role]["times"] = true;
    }
  }
  Json entry{{"name", split.name}, {"roles", roles}};
  for (const auto& [role, links] : split.links) {
    link_role_to_json(role, links, info, entry);
  }
  return entry;
}

// -------------------------------------------------------------------------------------------------------------
// reading

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
  if (kind != "classes" && kind != "targets") {
    return entry.error("a kind of labels (classes, targets)");
  }
  labels.kind = kind == "classes" ? LabelInfo::Kind::classes : LabelInfo::Kind::targets;
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
  if (entry.has("features")) {
    TROUPE_ASSIGN_OR_RETURN(const auto features, entry.member("features"));
    TROUPE_ASSIGN_OR_RETURN(type.features, read_features(features));
  }
  TROUPE_ASSIGN_OR_RETURN(type.columns, read_columns(entry));
  return type;
}

/// The roles of a split's nodes or links.
Result<std::vector<JsonValue::Member>> read_roles(const JsonValue& split, const std::string& key) {
  TROUPE_ASSIGN_OR_RETURN(const auto entry, split.member(key));
  TROUPE_ASSIGN_OR_RETURN(auto roles, entry.members());
  for (const auto& role : roles) {
    if (role.key != "train" && role.key != "val" && role.key != "test") {
      return role.value.error("a role among train, val, test");
    }
  }
  return roles;
}

Status read_links(const JsonValue& entry, const GraphInfo& info, SplitInfo& split) {
  if (!entry.has("links")) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto roles, read_roles(entry, "links"));
  for (const auto& role : roles) {
    auto& links = split.links[role.key];
    TROUPE_ASSIGN_OR_RETURN(links.edge_type, read_edge_type_id(role.value, "edge_type", info));
    TROUPE_ASSIGN_OR_RETURN(links.count, role.value.integer("count", largest_count));
    TROUPE_ASSIGN_OR_RETURN(links.has_times, role.value.boolean("times"));
    TROUPE_ASSIGN_OR_RETURN(links.has_labels, role.value.boolean("labels"));
    if (role.value.has("relations")) {
      TROUPE_ASSIGN_OR_RETURN(links.relations,
                              role.value.integer("relations", store_layout::most_relations));
      if (links.relations == 0 || !links.has_labels) {
        return role.value.error("\"relations\" from 1 on of links with labels");
      }
    }
  }
  return ok_status();
}

/// Edge types by relation, all between the same node types.
Result<std::vector<EdgeTypeId>> read_relations(const JsonValue& role, const GraphInfo& info) {
  std::map<std::string_view, EdgeTypeId> by_name;
  for (std::size_t type = 0; type < info.edge_types.size(); ++type) {
    by_name.emplace(info.edge_types[type].name, static_cast<EdgeTypeId>(type));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto items, role.array("edge_types"));
  std::vector<EdgeTypeId> types;
  for (const auto& item : items) {
    TROUPE_ASSIGN_OR_RETURN(const auto name, item.string());
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      return item.error("the name of an edge type");
    }
    types.push_back(found->second);
    const auto& first = info.edge_types[raw(types.front())];
    const auto& type = info.edge_types[raw(types.back())];
    if (type.source != first.source || type.destination != first.destination) {
      return item.error("an edge type between the node types of the first one");
    }
  }
  if (types.empty()) {
    return role.error("at least one edge type in \"edge_types\"");
  }
  return types;
}

Status read_triples(const JsonValue& entry, const GraphInfo& info, SplitInfo& split) {
  if (!entry.has("triples")) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto roles, read_roles(entry, "triples"));
  for (const auto& role : roles) {
    const auto [at, is_new] = split.links.try_emplace(role.key);
    if (!is_new) {
      return role.value.error("a role of links or of triples, not of both");
    }
    auto& links = at->second;
    TROUPE_ASSIGN_OR_RETURN(links.edge_types, read_relations(role.value, info));
    TROUPE_ASSIGN_OR_RETURN(links.count, role.value.integer("count", largest_count));
    TROUPE_ASSIGN_OR_RETURN(links.has_times, role.value.boolean("times"));
    links.edge_type = links.edge_types.front();
    links.has_labels = true;
    links.relations = links.edge_types.size();
  }
  return ok_status();
}

Result<SplitInfo> read_split(const JsonValue& entry, const GraphInfo& info) {
  SplitInfo split;
  TROUPE_ASSIGN_OR_RETURN(split.name, entry.string("name"));
  if (!split.name.empty() && !store_layout::is_valid_name(split.name)) {
    return entry.error("\"\" or a name of 1 to 100 of a-z A-Z 0-9 _ - . (no '.' first)");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto roles, read_roles(entry, "roles"));
  for (const auto& role : roles) {
    auto& seeds = split.roles[role.key];
    TROUPE_ASSIGN_OR_RETURN(seeds.node_type, read_node_type_id(role.value, "node_type", info));
    TROUPE_ASSIGN_OR_RETURN(seeds.count, role.value.integer("count", largest_count));
    if (role.value.has("times")) {
      TROUPE_ASSIGN_OR_RETURN(seeds.has_times, role.value.boolean("times"));
    }
  }
  TROUPE_RETURN_IF_ERROR(read_links(entry, info, split));
  TROUPE_RETURN_IF_ERROR(read_triples(entry, info, split));
  return split;
}

/// Checks one type's first node ids: parts + 1 of them, ascending from 0 to the type's count.
Status check_ranges(const std::vector<std::uint64_t>& first, std::uint64_t parts,
                    const NodeTypeInfo& type, const JsonValue& place) {
  if (first.size() != parts + 1 || first.front() != 0 || first.back() != type.count ||
      !std::ranges::is_sorted(first)) {
    return place.error(fmt::format("{} ascending node ids of \"{}\" from 0 to {}", parts + 1,
                                   type.name, type.count));
  }
  return ok_status();
}

Status read_shares(PartitionInfo& partition, const JsonValue& root, const GraphInfo& info) {
  TROUPE_ASSIGN_OR_RETURN(const auto first, root.member("first_node"));
  for (const auto& type : info.node_types) {
    TROUPE_ASSIGN_OR_RETURN(auto ids, first.integers(type.name, largest_count));
    TROUPE_RETURN_IF_ERROR(check_ranges(ids, partition.parts, type, first));
    partition.ranges.first_node.push_back(std::move(ids));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto edges, root.member("edges"));
  for (const auto& type : info.edge_types) {
    TROUPE_ASSIGN_OR_RETURN(auto counts, edges.integers(type.name, largest_count));
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < counts.size() && total <= type.count; ++i) {
      total += counts[i];
    }
    if (counts.size() != partition.parts || total != type.count) {
      return edges.error(fmt::format("edges of \"{}\" for {} parts that sum to {}", type.name,
                                     partition.parts, type.count));
    }
    partition.edges.push_back(std::move(counts));
  }
  return ok_status();
}

Result<PartBalance> read_balance(const JsonValue& entry) {
  PartBalance balance;
  TROUPE_ASSIGN_OR_RETURN(balance.name, entry.string("name"));
  TROUPE_ASSIGN_OR_RETURN(balance.largest, entry.integer("largest", largest_count));
  TROUPE_ASSIGN_OR_RETURN(balance.total, entry.integer("total", largest_count));
  return balance;
}

/// Reads what stores have only since there are several methods.
Status read_measures(PartitionInfo& partition, const JsonValue& root) {
  if (root.has("options")) {
    TROUPE_ASSIGN_OR_RETURN(const auto options_entry, root.member("options"));
    TROUPE_ASSIGN_OR_RETURN(const auto options, options_entry.members());
    for (const auto& option : options) {
      TROUPE_ASSIGN_OR_RETURN(auto text, option.value.string());
      partition.options.emplace_back(option.key, std::move(text));
    }
  }
  if (root.has("communication_volume")) {
    TROUPE_ASSIGN_OR_RETURN(partition.communication_volume,
                            root.integer("communication_volume", largest_count));
  }
  if (root.has("balance")) {
    constexpr std::size_t most_constraints = std::size_t{1} << 17;
    TROUPE_ASSIGN_OR_RETURN(
        partition.balance, read_list<PartBalance>(root, "balance", most_constraints, read_balance));
  }
  if (root.has("order")) {
    TROUPE_ASSIGN_OR_RETURN(partition.order, root.string("order"));
  }
  return ok_status();
}

Status read_heat(PartitionInfo& partition, const JsonValue& root, const GraphInfo& info) {
  if (!root.has("heat")) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto heat, root.member("heat"));
  for (const auto& type : info.node_types) {
    TROUPE_ASSIGN_OR_RETURN(const auto parts, heat.array(type.name));
    auto& of_type = partition.heat.mean.emplace_back();
    for (const auto& part : parts) {
      TROUPE_ASSIGN_OR_RETURN(const auto buckets, part.array());
      auto& of_part = of_type.emplace_back();
      for (const auto& bucket : buckets) {
        TROUPE_ASSIGN_OR_RETURN(const auto mean, bucket.number());
        of_part.push_back(mean);
      }
      if (of_part.size() != PartHeat::buckets) {
        return part.error(fmt::format("{} numbers", PartHeat::buckets));
      }
    }
    if (of_type.size() != partition.parts) {
      return heat.error(fmt::format("{} parts in \"{}\"", partition.parts, type.name));
    }
  }
  return ok_status();
}

/// Nothing in stores that were written before parts had more than the ids of their halo.
Status read_halo(PartitionInfo& partition, const JsonValue& root, const GraphInfo& info) {
  if (!root.has("halo")) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto halo, root.member("halo"));
  TROUPE_ASSIGN_OR_RETURN(const auto hops, halo.integer("hops", store_layout::most_halo_hops));
  partition.halo_hops = static_cast<std::uint32_t>(hops);
  TROUPE_ASSIGN_OR_RETURN(partition.halo_features, halo.boolean("features"));
  TROUPE_ASSIGN_OR_RETURN(const auto nodes, halo.member("nodes"));
  for (const auto& type : info.node_types) {
    TROUPE_ASSIGN_OR_RETURN(auto counts, nodes.integers(type.name, largest_count));
    if (counts.size() != partition.parts) {
      return nodes.error(fmt::format("{} sizes for \"{}\"", partition.parts, type.name));
    }
    partition.halo_nodes.push_back(std::move(counts));
  }
  return ok_status();
}

Status read_end_slices(EndSlices& slices, const JsonValue& of_type, const char* direction,
                       std::uint32_t parts) {
  TROUPE_ASSIGN_OR_RETURN(const auto entry, of_type.member(direction));
  TROUPE_ASSIGN_OR_RETURN(slices.nodes, entry.integers("nodes", largest_count));
  TROUPE_ASSIGN_OR_RETURN(slices.edges, entry.integers("edges", largest_count));
  return slices.nodes.size() == parts && slices.edges.size() == parts
             ? ok_status()
             : Status(entry.error(fmt::format("nodes and edges of {} parts", parts)));
}

/// Nothing in stores that were written before parts had ends of edges.
Status read_ends(PartitionInfo& partition, const JsonValue& root, const GraphInfo& info) {
  if (!root.has("ends")) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto ends, root.member("ends"));
  for (const auto& type : info.edge_types) {
    TROUPE_ASSIGN_OR_RETURN(const auto of_type, ends.member(type.name));
    auto& slices = partition.ends.emplace_back();
    TROUPE_RETURN_IF_ERROR(read_end_slices(slices.in, of_type, "in", partition.parts));
    TROUPE_RETURN_IF_ERROR(read_end_slices(slices.out, of_type, "out", partition.parts));
  }
  return ok_status();
}

/// Nothing in stores that have their features from the beginning: those of the first version.
Status read_later(PartitionInfo& partition, const JsonValue& root) {
  TROUPE_ASSIGN_OR_RETURN(const auto version, root.integer("version", store_layout::later_version));
  if (version == store_layout::format_version) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto when, root.string("features"));
  if (when != later) {
    return root.error(fmt::format("\"features\": \"{}\"", later));
  }
  partition.features_later = true;
  TROUPE_ASSIGN_OR_RETURN(partition.graph_checksum, root.string("graph_checksum"));
  return ok_status();
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

std::string partition_to_json(const PartitionInfo& partition, const GraphInfo& info) {
  auto document =
      start_document(partition_format, partition.features_later ? store_layout::later_version
                                                                : store_layout::format_version);
  document["method"] = partition.method;
  document["parts"] = partition.parts;
  document["options_hash"] = partition.options_hash;
  document["complete_for"] = to_string(partition.complete_for);
  document["first_node"] = Json::object();
  for (std::size_t type = 0; type < info.node_types.size(); ++type) {
    document["first_node"][info.node_types[type].name] = partition.ranges.first_node[type];
  }
  document["edges"] = Json::object();
  for (std::size_t type = 0; type < info.edge_types.size(); ++type) {
    document["edges"][info.edge_types[type].name] = partition.edges[type];
  }
  document["cut_edges"] = partition.cut_edges;
  document["options"] = Json::object();
  for (const auto& option : partition.options) {
    document["options"][option.first] = option.second;
  }
  if (partition.communication_volume) {
    document["communication_volume"] = *partition.communication_volume;
  }
  document["balance"] = Json::array();
  for (const auto& entry : partition.balance) {
    document["balance"].push_back(
        {{"name", entry.name}, {"largest", entry.largest}, {"total", entry.total}});
  }
  document["order"] = partition.order;
  for (std::size_t type = 0; type < partition.heat.mean.size(); ++type) {
    document["heat"][info.node_types[type].name] = partition.heat.mean[type];
  }
  if (!partition.halo_nodes.empty()) {
    document["halo"] = {{"hops", partition.halo_hops}, {"features", partition.halo_features}};
  }
  for (std::size_t type = 0; type < partition.halo_nodes.size(); ++type) {
    document["halo"]["nodes"][info.node_types[type].name] = partition.halo_nodes[type];
  }
  if (partition.directory) {
    document["directory"] = true;
  }
  for (std::size_t type = 0; type < partition.ends.size(); ++type) {
    auto& of_type = document["ends"][info.edge_types[type].name];
    for (const auto& [name, slices] :
         {std::pair("in", &partition.ends[type].in), std::pair("out", &partition.ends[type].out)}) {
      of_type[name] = {{"nodes", slices->nodes}, {"edges", slices->edges}};
    }
  }
  if (partition.features_later) {
    document["features"] = later;
    document["graph_checksum"] = partition.graph_checksum;
  }
  document["files"] = files_to_json(partition.files);
  return finish_document(document);
}

Result<PartitionInfo> partition_from_json(const std::string& text, const GraphInfo& info,
                                          std::string_view name) {
  TROUPE_ASSIGN_OR_RETURN(const auto document,
                          open_document(text, partition_format, name, store_layout::later_version));
  const JsonValue root(document, std::string(name) + ": ");
  PartitionInfo partition;
  TROUPE_ASSIGN_OR_RETURN(partition.method, root.string("method"));
  TROUPE_ASSIGN_OR_RETURN(partition.options_hash, root.string("options_hash"));
  TROUPE_ASSIGN_OR_RETURN(const auto parts,
                          root.integer("parts", std::numeric_limits<std::uint32_t>::max()));
  partition.parts = static_cast<std::uint32_t>(parts);
  if (parts == 0) {
    return root.error("at least one part");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto direction, root.string("complete_for"));
  const auto complete_for = parse_complete_for(direction);
  if (!complete_for) {
    return root.error("\"complete_for\" among in, out, both");
  }
  partition.complete_for = *complete_for;
  TROUPE_RETURN_IF_ERROR(read_shares(partition, root, info));
  TROUPE_ASSIGN_OR_RETURN(partition.cut_edges, root.integer("cut_edges", largest_count));
  TROUPE_RETURN_IF_ERROR(read_measures(partition, root));
  TROUPE_RETURN_IF_ERROR(read_heat(partition, root, info));
  TROUPE_RETURN_IF_ERROR(read_halo(partition, root, info));
  if (root.has("directory")) {
    TROUPE_ASSIGN_OR_RETURN(partition.directory, root.boolean("directory"));
  }
  TROUPE_RETURN_IF_ERROR(read_ends(partition, root, info));
  TROUPE_RETURN_IF_ERROR(read_later(partition, root));
  TROUPE_ASSIGN_OR_RETURN(partition.files, read_files(root));
  return partition;
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
