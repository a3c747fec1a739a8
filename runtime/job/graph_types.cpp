#include "runtime/job/graph_types.hpp"

#include "runtime/job/embedding_rules.hpp"
#include "runtime/job/link_rules.hpp"
#include "runtime/job/walk_rules.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/network_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe {

namespace {

std::string heterogeneous_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : nn::model_kinds()) {
    if (kind.heterogeneous && kind.make != nullptr) {
      names.push_back(fmt::format("\"{}\"", kind.name));
    }
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

/// Of the rows that the first layer's edges come from.
void check_equal_columns(const nn::ModelTypes& types, const nn::LayerTypes& first,
                         ProblemList& problems) {
  const auto source = [&](EdgeTypeId edge) -> const nn::ModelTypes::Node& {
    return types.nodes[raw(types.edges[raw(edge)].source)];
  };
  const auto& one = source(first.edges.front());
  for (const EdgeTypeId edge : first.edges) {
    if (source(edge).cols != one.cols) {
      problems.add({"/model/bases", "0 where node types have features of different widths",
                    fmt::format("{} columns of \"{}\" and {} of \"{}\"", one.cols, one.name,
                                source(edge).cols, source(edge).name),
                    "or model.input \"linear\""});
      return;
    }
  }
}

}  // namespace

bool has_types(const GraphInfo& graph) {
  return graph.node_types.size() > 1 || graph.edge_types.size() > 1;
}

nn::ModelTypes model_types(const Job& job, const GraphInfo& graph, NodeTypeId seeds) {
  nn::ModelTypes types;
  const bool in = job.sample.edge_dir == EdgeDir::in;
  for (const NodeTypeInfo& type : graph.node_types) {
    types.nodes.push_back({type.name, (type.features.has_value() ? type.features->cols : 0) +
                                          embedding_cols(job, type)});
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    types.edges.push_back(
        {.name = type.name,
         .source = in ? type.source : type.destination,
         .destination = in ? type.destination : type.source,
         .cols = job.model.edge_features && type.features.has_value() ? type.features->cols : 0});
  }
  types.seeds = seeds;
  if (const auto* links = training_links(job, graph); links != nullptr) {
    const auto first = end_types_of(graph, *links);
    types.other_ends = {first.source, first.destination};
    for (const auto& ends : types_of_pairs(job, graph)) {
      types.other_ends.push_back(ends.source);  // pairs have both orders
    }
    for (const EdgeTypeId type : links->edge_types) {
      const auto& ends = graph.edge_types[raw(type)];
      types.other_ends.insert(types.other_ends.end(), {ends.source, ends.destination});
    }
  }
  return types;
}

std::vector<NodeTypeId> types_read(const Job& job, const GraphInfo& graph, NodeTypeId seeds) {
  const auto types = model_types(job, graph, seeds);
  if (job.model.layers == 0) {
    return types.outputs();
  }
  const auto layers = nn::layer_types(types, job.model.layers);
  std::vector<NodeTypeId> read;
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto type = static_cast<NodeTypeId>(t);
    if (!layers.ok() || layers->front().reads(type)) {
      read.push_back(type);
    }
  }
  return read;
}

void check_model_types(const Job& job, const GraphInfo& graph, NodeTypeId seeds,
                       ProblemList& problems) {
  if (graph.edge_types.empty()) {
    problems.add({"/model/kind", "a graph with edges",
                  fmt::format("no edge types, which \"{}\" cannot take", job.model.kind), ""});
    return;
  }
  const auto types = fmt::format("a graph of {} node types and {} edge types",
                                 graph.node_types.size(), graph.edge_types.size());
  const auto* kind = nn::find_model_kind(job.model.kind);
  if (has_types(graph) && kind != nullptr && !kind->heterogeneous) {
    problems.add({"/model/kind", heterogeneous_kinds() + " for " + types,
                  fmt::format("\"{}\", which is not built yet for it", job.model.kind), ""});
  }
  if (has_types(graph) && kind != nullptr && kind->heterogeneous) {
    const auto refuse = [&](const char* key, bool value, const char* hint) {
      if (value && reads_option(*kind, key)) {
        problems.add({fmt::format("/model/{}", key),
                      fmt::format("false with kind \"{}\" on {}", kind->name, types), "true",
                      hint});
      }
    };
    refuse("loops", job.model.loops, "along an edge type a node has no loop");
    refuse("share_weights", job.model.share_weights, "");
  }
  const auto layers = nn::layer_types(model_types(job, graph, seeds), job.model.layers);
  if (layers && job.model.bases > 0 && !job.model.linear_input) {
    check_equal_columns(model_types(job, graph, seeds), layers->front(), problems);
  }
  if (!layers) {
    problems.add({"/model/layers", "layers in which something comes to the seeds",
                  layers.error().what(), "edges in both directions help: \"reverse_edges\""});
  }
}

}  // namespace troupe
