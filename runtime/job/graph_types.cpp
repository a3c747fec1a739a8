#include "runtime/job/graph_types.hpp"

#include "runtime/nn/typed_layers.hpp"

#include <fmt/format.h>

namespace troupe {

bool has_types(const GraphInfo& graph) {
  return graph.node_types.size() > 1 || graph.edge_types.size() > 1;
}

nn::ModelTypes model_types(const Job& job, const GraphInfo& graph, NodeTypeId seeds) {
  nn::ModelTypes types;
  if (!has_types(graph)) {
    return types;
  }
  const bool in = job.sample.edge_dir == EdgeDir::in;
  for (const NodeTypeInfo& type : graph.node_types) {
    types.nodes.push_back({type.name, type.features.has_value() ? type.features->cols : 0});
  }
  for (const EdgeTypeInfo& type : graph.edge_types) {
    types.edges.push_back(
        {type.name, in ? type.source : type.destination, in ? type.destination : type.source});
  }
  types.seeds = seeds;
  return types;
}

std::vector<NodeTypeId> types_read(const Job& job, const GraphInfo& graph, NodeTypeId seeds) {
  if (!has_types(graph)) {
    return {seeds};
  }
  const auto layers = nn::typed_layers(model_types(job, graph, seeds), job.model.layers);
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
  if (!has_types(graph)) {
    return;
  }
  const auto types = fmt::format("a graph of {} node types and {} edge types",
                                 graph.node_types.size(), graph.edge_types.size());
  if (job.model.kind != "graphsage") {
    problems.add({"/model/kind", "\"graphsage\" for " + types,
                  fmt::format("\"{}\", which is not built yet for it", job.model.kind), ""});
  }
  if (job.eval.mode != "sampled") {
    problems.add({"/eval/mode", "\"sampled\" for " + types,
                  fmt::format("\"{}\", which is not built yet for it", job.eval.mode), ""});
  }
  const auto layers = nn::typed_layers(model_types(job, graph, seeds), job.model.layers);
  if (!layers) {
    problems.add({"/model/layers", "layers in which something comes to the seeds",
                  layers.error().what(), "edges in both directions help: \"reverse_edges\""});
  }
}

}  // namespace troupe
