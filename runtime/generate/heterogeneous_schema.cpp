#include "runtime/generate/heterogeneous_schema.hpp"

#include "runtime/data/json_document.hpp"
#include "runtime/generate/options.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

using Member = JsonValue::Member;

/// What a file is read into.
struct Reading {
  HeterogeneousSchema schema;
  const GenerateOptions& options;
};

Status set_count(const JsonValue& value, std::uint64_t& out) {
  TROUPE_ASSIGN_OR_RETURN(out, value.integer(store_layout::largest_count));
  return ok_status();
}

Status set_bool(const JsonValue& value, bool& out) {
  TROUPE_ASSIGN_OR_RETURN(out, value.boolean());
  return ok_status();
}

Status set_number(const JsonValue& value, double& out) {
  TROUPE_ASSIGN_OR_RETURN(out, value.number());
  return ok_status();
}

/// The place of a node type.
Status set_nodes(const JsonValue& value, const HeterogeneousSchema& schema, std::size_t& out) {
  TROUPE_ASSIGN_OR_RETURN(const auto name, value.string());
  const auto found = std::ranges::find(schema.nodes, name, &HeterogeneousSchema::Nodes::name);
  if (found == schema.nodes.end()) {
    return value.error("the name of a node type");
  }
  out = static_cast<std::size_t>(found - schema.nodes.begin());
  return ok_status();
}

/// A whole number of nodes, or a share with a point.
Status set_size(const JsonValue& value, SplitSize& out) {
  const auto count = value.integer(store_layout::largest_count);
  if (count) {
    out = SplitSize(*count);
    return ok_status();
  }
  const auto share = value.number();
  if (!share || !(*share >= 0 && *share <= 1)) {
    return value.error("a number of nodes, or a share from 0.0 to 1.0");
  }
  out = SplitSize::of_share(*share);
  return ok_status();
}

Error missing(const JsonValue& value, std::string_view key) {
  return value.error(fmt::format("an object with \"{}\"", key));
}

Status read_nodes(const Member& type, Reading& reading) {
  auto& nodes = reading.schema.nodes.emplace_back();
  nodes.name = type.key;
  nodes.features = reading.options.features;
  nodes.noise = reading.options.noise;
  TROUPE_ASSIGN_OR_RETURN(const auto members,
                          known_members(type.value, {"count", "features", "labels", "noise"}));
  if (!type.value.has("count")) {
    return missing(type.value, "count");
  }
  for (const auto& [key, value] : members) {
    TROUPE_RETURN_IF_ERROR(key == "count"      ? set_count(value, nodes.count)
                           : key == "features" ? set_count(value, nodes.features)
                           : key == "labels"   ? set_bool(value, nodes.labels)
                                               : set_number(value, nodes.noise));
  }
  return ok_status();
}

Status read_edge_value(const Member& member, const HeterogeneousSchema& schema,
                       HeterogeneousSchema::Edges& edges) {
  const auto& [key, value] = member;
  if (key == "source" || key == "destination") {
    return set_nodes(value, schema, key == "source" ? edges.source : edges.destination);
  }
  if (key == "edges" || key == "features") {
    return set_count(value, key == "edges" ? edges.count : edges.features);
  }
  if (key == "homophily") {
    return set_number(value, edges.homophily);
  }
  auto& transforms = edges.transforms;
  return set_bool(value, key == "weights"           ? edges.weights
                         : key == "times"           ? edges.times
                         : key == "symmetrize"      ? transforms.symmetrize
                         : key == "dedup"           ? transforms.dedup
                         : key == "drop_self_loops" ? transforms.drop_self_loops
                                                    : transforms.reverse_edges);
}

Status read_edges(const Member& type, Reading& reading) {
  HeterogeneousSchema::Edges edges;
  edges.name = type.key;
  edges.homophily = reading.options.homophily;
  TROUPE_ASSIGN_OR_RETURN(
      const auto members,
      known_members(type.value,
                    {"dedup", "destination", "drop_self_loops", "edges", "features", "homophily",
                     "reverse_edges", "source", "symmetrize", "times", "weights"}));
  for (const auto* key : {"source", "destination", "edges"}) {
    if (!type.value.has(key)) {
      return missing(type.value, key);
    }
  }
  for (const auto& member : members) {
    TROUPE_RETURN_IF_ERROR(read_edge_value(member, reading.schema, edges));
  }
  const bool one_type = edges.source == edges.destination;
  auto& transforms = edges.transforms;
  transforms.symmetrize |= reading.options.symmetrize && one_type && !transforms.reverse_edges;
  transforms.drop_self_loops |= reading.options.drop_self_loops && one_type;
  transforms.dedup |= reading.options.dedup && !edges.times;
  reading.schema.edges.push_back(std::move(edges));
  return ok_status();
}

Status read_split(const Member& entry, Reading& reading) {
  HeterogeneousSchema::Split split;
  split.name = entry.key;
  TROUPE_ASSIGN_OR_RETURN(const auto members,
                          known_members(entry.value, {"nodes", "test", "train", "val"}));
  if (!entry.value.has("nodes")) {
    return missing(entry.value, "nodes");
  }
  for (const auto& [key, value] : members) {
    TROUPE_RETURN_IF_ERROR(key == "nodes"   ? set_nodes(value, reading.schema, split.nodes)
                           : key == "train" ? set_size(value, split.train)
                           : key == "val"   ? set_size(value, split.val)
                                            : set_size(value, split.test));
  }
  reading.schema.splits.push_back(std::move(split));
  return ok_status();
}

/// The members of an object that may be missing.
template <class Read>
Status read_each(const JsonValue& root, const std::string& key, const Read& read) {
  if (!root.has(key)) {
    return ok_status();
  }
  TROUPE_ASSIGN_OR_RETURN(const auto value, root.member(key));
  TROUPE_ASSIGN_OR_RETURN(const auto members, value.members());
  for (const auto& member : members) {
    TROUPE_RETURN_IF_ERROR(read(member));
  }
  return ok_status();
}

void add_default_split(HeterogeneousSchema& schema, const GenerateOptions& options) {
  const auto labelled = std::ranges::find(schema.nodes, true, &HeterogeneousSchema::Nodes::labels);
  if (labelled == schema.nodes.end()) {
    return;
  }
  auto& split = schema.splits.emplace_back();
  split.nodes = static_cast<std::size_t>(labelled - schema.nodes.begin());
  split.train = options.train;
  split.val = options.val;
  split.test = options.test;
}

Status read_document(const JsonValue& root, Reading& reading) {
  TROUPE_RETURN_IF_ERROR(known_members(root, {"classes", "edge_types", "node_types", "splits"}));
  for (const auto* key : {"classes", "node_types"}) {
    if (!root.has(key)) {
      return missing(root, key);
    }
  }
  TROUPE_ASSIGN_OR_RETURN(reading.schema.classes,
                          root.integer("classes", store_layout::largest_cols));
  const auto with = [&reading](Status (*read)(const Member&, Reading&)) {
    return [&reading, read](const Member& member) { return read(member, reading); };
  };
  TROUPE_RETURN_IF_ERROR(read_each(root, "node_types", with(read_nodes)));
  TROUPE_RETURN_IF_ERROR(read_each(root, "edge_types", with(read_edges)));
  TROUPE_RETURN_IF_ERROR(read_each(root, "splits", with(read_split)));
  if (!root.has("splits")) {
    add_default_split(reading.schema, reading.options);
  }
  return ok_status();
}

}  // namespace

Result<HeterogeneousSchema> read_heterogeneous_schema(const std::filesystem::path& file,
                                                      const GenerateOptions& options) {
  TROUPE_ASSIGN_OR_RETURN(const auto document, read_json_document(file));
  Reading reading{{}, options};
  if (const auto read = read_document({document, ""}, reading); !read) {
    return as_users_mistake(read.error()).with(file.string());
  }
  return std::move(reading.schema);
}

Result<HeterogeneousSchema> citation_schema(std::uint64_t nodes, const GenerateOptions& options) {
  constexpr std::uint64_t papers_per_venue = 50;
  const auto papers = nodes / 2;
  const auto venues = std::max(options.classes, papers / papers_per_venue);
  TROUPE_RETURN_IF_ERROR(generate::check_count("nodes", nodes, 4, generate::most_nodes));
  TROUPE_RETURN_IF_ERROR(generate::check_classes("", nodes / 4, options.classes));
  if (options.features != 0) {  // half of them are those of authors and venues
    TROUPE_RETURN_IF_ERROR(
        generate::check_count("features", options.features, 2, store_layout::largest_feature_cols));
  }
  const auto authors = nodes - papers - venues;
  const EdgeTransforms transforms{.dedup = options.dedup, .reverse_edges = true};
  auto within = transforms;
  within.drop_self_loops = options.drop_self_loops;
  const auto half = options.features / 2;
  HeterogeneousSchema schema;
  schema.classes = options.classes;
  schema.nodes = {{"author", authors, half, options.noise, false},
                  {"paper", papers, options.features, options.noise, true},
                  {"venue", venues, half, options.noise, false}};
  schema.edges = {{"cites", 1, 1, 5 * papers, options.homophily, false, false, within},
                  {"published_in", 1, 2, papers, options.homophily, false, false, transforms},
                  {"writes", 0, 1, 3 * papers, options.homophily, false, false, transforms}};
  add_default_split(schema, options);
  return schema;
}

}  // namespace troupe
