#include "runtime/run/forward_input.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

Error unfit(const SampledBatch& sampled, const std::string& what) {
  return {Errc::failed_precondition,
          fmt::format("batch {} of epoch {}: {}", sampled.key.number, sampled.key.epoch, what)};
}

Status check_types(const nn::ModelOptions& model, const SampledBatch& sampled) {
  const auto& types = model.types;
  if (sampled.nodes.size() != types.nodes.size() || sampled.edges.size() != types.edges.size() ||
      (sampled.subgraph == Subgraph::directional && sampled.hops < model.layers)) {
    return unfit(sampled, fmt::format("expected {} node types, {} edge types and at least {} hops, "
                                      "found {}, {} and {}",
                                      types.nodes.size(), types.edges.size(), model.layers,
                                      sampled.nodes.size(), sampled.edges.size(), sampled.hops));
  }
  const auto outputs = types.outputs();  // links of several edge types begin at several node types
  const bool fits = sampled.links ? std::ranges::find(outputs, sampled.seed_type) != outputs.end()
                                  : sampled.seed_type == types.seeds;
  if (!fits) {
    return unfit(sampled, fmt::format("expected seeds of node type {}, found {}", raw(types.seeds),
                                      raw(sampled.seed_type)));
  }
  for (std::size_t e = 0; e < types.edges.size(); ++e) {
    const auto& edges = sampled.edges[e];
    if (edges.source_type != types.edges[e].source ||
        edges.destination_type != types.edges[e].destination) {
      return unfit(sampled, fmt::format("expected \"{}\" edges between node types {} and {}, found "
                                        "{} and {}",
                                        types.edges[e].name, raw(types.edges[e].source),
                                        raw(types.edges[e].destination), raw(edges.source_type),
                                        raw(edges.destination_type)));
    }
  }
  return ok_status();
}

Status check_rows(const nn::ModelTypes::Node& type, ConstMatrix features, const BatchRows& rows,
                  std::size_t nodes, bool drops, const SampledBatch& sampled) {
  if (type.cols == 0) {
    return ok_status();  // no layer reads them
  }
  if (features.rows != nodes || features.cols != type.cols) {
    return unfit(sampled, fmt::format("expected features of {} \"{}\" nodes in {} columns, found "
                                      "{} in {}",
                                      nodes, type.name, type.cols, features.rows, features.cols));
  }
  if (drops && rows.original_ids.size() != nodes) {
    return unfit(sampled, fmt::format("expected original ids of {} \"{}\" nodes, found {}", nodes,
                                      type.name, rows.original_ids.size()));
  }
  return ok_status();
}

Status take_edge_features(const nn::ModelTypes& types, const Batch& batch,
                          nn::ForwardInput& input) {
  const auto& sampled = *batch.sampled;
  for (std::size_t e = 0; e < types.edges.size(); ++e) {
    const auto& type = types.edges[e];
    const auto edges = sampled.edges[e].sources.size();
    const bool there = e < batch.edge_features.size();
    const std::size_t rows = there ? batch.edge_features[e].rows() : 0;
    const std::size_t cols = there ? batch.edge_features[e].cols() : 0;
    if (type.cols > 0 && edges > 0 && (rows != edges || cols != type.cols)) {
      return unfit(sampled, fmt::format("expected features of {} \"{}\" edges in {} columns, found "
                                        "{} in {}",
                                        edges, type.name, type.cols, rows, cols));
    }
    const auto* data = rows == 0 ? nullptr : batch.edge_features[e].data();
    input.edge_features.push_back({data, rows, type.cols});
  }
  return ok_status();
}

std::vector<LayerBlock> blocks_of_layer(const SampledBatch& sampled, std::uint32_t layer,
                                        std::uint32_t layers) {
  std::vector<LayerBlock> blocks;
  for (std::size_t e = 0; e < sampled.edges.size(); ++e) {
    blocks.push_back(listed_block(sampled, static_cast<EdgeTypeId>(e), layer, layers));
  }
  return blocks;
}

}  // namespace

Result<nn::ForwardInput> forward_input(const nn::ModelOptions& model, std::uint64_t job_seed,
                                       const Batch& batch, bool training,
                                       std::span<const ConstMatrix> joined) {
  const auto& sampled = *batch.sampled;
  TROUPE_RETURN_IF_ERROR(check_types(model, sampled));
  nn::ForwardInput input;
  input.dropout = {.training = training,
                   .job_seed = job_seed,
                   .stream_epoch = sampled.key.stream_epoch(),
                   .batch = sampled.key.number,
                   .node_type = raw(sampled.seed_type)};
  input.on_device = batch.on_device.get();
  for (std::size_t t = 0; t < sampled.nodes.size(); ++t) {
    const bool learned = t < joined.size() && joined[t].cols > 0;
    const ConstMatrix features = learned           ? joined[t]
                                 : batch.on_device ? batch.on_device->features[t]
                                                   : batch.rows[t].features.view();
    input.wants_gradient.push_back(learned && training);
    TROUPE_RETURN_IF_ERROR(check_rows(model.types.nodes[t], features, batch.rows[t],
                                      sampled.nodes[t].ids.size(), training && model.drops(),
                                      sampled));
    input.features.push_back(features);
    input.ids.emplace_back(batch.rows[t].original_ids);
  }
  if (model.edge_features) {
    TROUPE_RETURN_IF_ERROR(take_edge_features(model.types, batch, input));
  }
  for (std::uint32_t layer = 0; layer < model.layers; ++layer) {
    input.blocks.push_back(blocks_of_layer(sampled, layer, model.layers));
  }
  if (model.layers == 1 && sampled.subgraph != Subgraph::directional) {
    // The only block ends at the seeds, though the batch has the in-edges of their neighbors, too.
    input.below = blocks_of_layer(sampled, 0, 2);
  }
  return input;
}

}  // namespace troupe
