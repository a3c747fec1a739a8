// partition.json.
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/json_document.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace troupe {
namespace {

using namespace store_json;
using store_layout::largest_count;

constexpr std::string_view partition_format = "troupe partition";
constexpr std::string_view later = "later";

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

}  // namespace troupe
