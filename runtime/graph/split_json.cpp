// Splits in graph.json.
#include "runtime/graph/json_document.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace troupe::store_json {
namespace {

using store_layout::largest_count;

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

/// Edge types by relation.
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

}  // namespace

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

}  // namespace troupe::store_json
