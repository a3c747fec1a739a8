#include "runtime/generate/heterogeneous.hpp"

#include "runtime/generate/block_draw.hpp"
#include "runtime/generate/node_rows.hpp"
#include "runtime/generate/splits.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace troupe {

using namespace generate;

namespace {

/// In what stores say of their origin: as the first ones have it, so that equal options give equal bytes.
constexpr std::string_view name_in_stores = "typed";

Status check_types(const HeterogeneousSchema& schema) {
  for (const auto& nodes : schema.nodes) {
    const auto name = fmt::format("node type {}: ", nodes.name);
    TROUPE_RETURN_IF_ERROR(check_count(name + "count", nodes.count, 1, most_nodes));
    TROUPE_RETURN_IF_ERROR(check_classes(name, nodes.count, schema.classes));
    TROUPE_RETURN_IF_ERROR(check_features(name, nodes.features, schema.classes, nodes.noise));
  }
  for (const auto& edges : schema.edges) {
    const auto name = fmt::format("edge type {}: ", edges.name);
    TROUPE_RETURN_IF_ERROR(
        check_count(name + "edges", edges.count, 0, store_layout::largest_count / 2));
    TROUPE_RETURN_IF_ERROR(
        check_count(name + "features", edges.features, 0, store_layout::largest_feature_cols));
    TROUPE_RETURN_IF_ERROR(check_homophily(name, edges.homophily, schema.classes));
  }
  for (const auto& split : schema.splits) {
    TROUPE_RETURN_IF_ERROR(check_splits(fmt::format("split \"{}\": ", split.name),
                                        schema.nodes[split.nodes].count, split.train, split.val,
                                        split.test));
  }
  return ok_status();
}

Status check(const HeterogeneousSchema& schema) {
  if (schema.nodes.empty() || schema.nodes.size() > most_types ||
      schema.edges.size() > most_types) {
    return Error(Errc::invalid_argument,
                 fmt::format("schema: expected 1 to {0} node types and at most {0} edge types, got "
                             "{1} and {2}",
                             most_types, schema.nodes.size(), schema.edges.size()));
  }
  TROUPE_RETURN_IF_ERROR(check_count("classes", schema.classes, 1, store_layout::largest_cols));
  TROUPE_RETURN_IF_ERROR(check_types(schema));
  std::uint64_t tables = 0;
  for (const auto& edges : schema.edges) {
    const auto one = schema.nodes[edges.source].count;
    tables = std::max(tables, 4 * (one + (edges.source == edges.destination
                                              ? 0
                                              : schema.nodes[edges.destination].count)));
  }
  for (const auto& split : schema.splits) {
    const auto count = schema.nodes[split.nodes].count;
    tables += 8 * (split.train.of(count) + split.val.of(count) + split.test.of(count));
  }
  return check_memory(tables, "the nodes of an edge type and the seeds");
}

/// \param all  classes by node type
graph_source::Nodes nodes_of(const HeterogeneousOptions& options, std::size_t i,
                             const std::shared_ptr<const NodeClasses>& classes) {
  const auto& type = options.schema.nodes[i];
  graph_source::Nodes nodes;
  nodes.name = type.name;
  nodes.count = type.count;
  if (type.features > 0) {
    nodes.features = class_features({.nodes = type.count,
                                     .cols = type.features,
                                     .dtype = options.feature_dtype,
                                     .noise = type.noise,
                                     .seed = options.seed,
                                     .type = static_cast<std::uint16_t>(i)},
                                    classes);
  }
  if (type.labels) {
    nodes.labels = class_labels(classes);
  }
  return nodes;
}

graph_source::Edges edges_of(const HeterogeneousOptions& options, std::size_t i,
                             const std::vector<std::shared_ptr<const NodeClasses>>& classes) {
  const auto& type = options.schema.edges[i];
  const auto number = static_cast<std::uint16_t>(i);
  graph_source::Edges edges;
  edges.name = type.name;
  edges.source = type.source;
  edges.destination = type.destination;
  edges.transforms = type.transforms;
  edges.rows = drawn_edges({.count = type.count,
                            .piece = options.piece,
                            .weights = type.weights,
                            .times = type.times,
                            .seed = options.seed,
                            .type = number},
                           block_draw({.sources = classes[type.source],
                                       .destinations = classes[type.destination],
                                       .homophily = type.homophily,
                                       .seed = options.seed,
                                       .type = number}));
  if (type.features > 0) {
    edges.features = uniform_features({.nodes = type.count,
                                       .cols = type.features,
                                       .dtype = options.feature_dtype,
                                       .seed = options.seed,
                                       .type = number,
                                       .words = Stream::edge_features});
  }
  return edges;
}

/// The members of an object that are true.
std::string flags(std::initializer_list<std::pair<const char*, bool>> members) {
  std::string text;
  for (const auto& [key, value] : members) {
    text += value ? fmt::format(", \"{}\": true", key) : "";
  }
  return text;
}

std::string describe_edges(const HeterogeneousSchema& schema,
                           const HeterogeneousSchema::Edges& type) {
  const auto& transforms = type.transforms;
  return fmt::format(
      "    \"{}\": {{ \"source\": \"{}\", \"destination\": \"{}\", \"edges\": {}, "
      "\"homophily\": {}{}{} }}",
      type.name, schema.nodes[type.source].name, schema.nodes[type.destination].name, type.count,
      type.homophily, type.features > 0 ? fmt::format(", \"features\": {}", type.features) : "",
      flags({{"weights", type.weights},
             {"times", type.times},
             {"symmetrize", transforms.symmetrize},
             {"dedup", transforms.dedup},
             {"drop_self_loops", transforms.drop_self_loops},
             {"reverse_edges", transforms.reverse_edges}}));
}

/// The schema with all defaults filled in, and the seed.
std::string description(const HeterogeneousOptions& options) {
  const auto& schema = options.schema;
  std::vector<std::string> nodes;
  for (const auto& type : schema.nodes) {
    nodes.push_back(
        fmt::format("    \"{}\": {{ \"count\": {}, \"features\": {}, \"noise\": {}{} }}", type.name,
                    type.count, type.features, type.noise, flags({{"labels", type.labels}})));
  }
  std::vector<std::string> edges;
  for (const auto& type : schema.edges) {
    edges.push_back(describe_edges(schema, type));
  }
  return fmt::format(
      "{{\n  \"kind\": \"{}\", \"classes\": {}, \"feature_dtype\": \"{}\", \"seed\": {},\n"
      "  \"node_types\": {{\n{}\n  }},\n  \"edge_types\": {{\n{}\n  }}\n}}\n",
      name_in_stores, schema.classes, to_string(options.feature_dtype), options.seed,
      fmt::join(nodes, ",\n"), fmt::join(edges, ",\n"));
}

graph_source::Graph make_graph(const HeterogeneousOptions& options, Executor& executor) {
  const auto& schema = options.schema;
  graph_source::Graph graph;
  std::vector<std::shared_ptr<const NodeClasses>> classes;
  for (std::size_t i = 0; i < schema.nodes.size(); ++i) {
    const auto ids = stream(options.seed, Stream::ids, static_cast<std::uint16_t>(i));
    classes.push_back(
        std::make_shared<const NodeClasses>(ids, schema.nodes[i].count, schema.classes));
    graph.nodes.push_back(nodes_of(options, i, classes.back()));
  }
  for (std::size_t i = 0; i < schema.edges.size(); ++i) {
    graph.edges.push_back(edges_of(options, i, classes));
  }
  for (const auto& split : schema.splits) {
    draw_split({.name = split.name,
                .nodes = split.nodes,
                .count = schema.nodes[split.nodes].count,
                .train = split.train,
                .val = split.val,
                .test = split.test,
                .seed = options.seed},
               executor, graph.seeds);
  }
  graph.files.emplace_back("generator.json", description(options));
  return graph;
}

}  // namespace

Result<GraphInfo> generate_heterogeneous(const HeterogeneousOptions& options, Executor& executor,
                                         const std::filesystem::path& out) {
  TROUPE_RETURN_IF_ERROR(check(options.schema));
  ImportOptions import;
  import.writer = options.writer;
  return graph_source::import_graph(
      {std::string(name_in_stores), out, "drawing"}, import, executor,
      [&]() -> Result<graph_source::Graph> { return make_graph(options, executor); });
}

}  // namespace troupe
