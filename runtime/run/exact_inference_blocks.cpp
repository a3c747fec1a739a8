// What exact inference cuts into blocks: the rows, edges and destinations that a node brings, here and on
// devices.
#include "runtime/run/exact_inference.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

/// Columns of the rows that a stage reads for an output: those of its own type and of its sources.
std::uint64_t ExactInference::read_cols(const nn::InferStage& stage,
                                        const nn::InferStage::Output& output) const {
  std::uint64_t cols = stage.in_cols[raw(output.type)];
  for (const auto e : output.edges) {
    cols = std::max(cols, stage.in_cols[raw(source_of(e))]);
  }
  return cols;
}

/// Work of a stage on the nodes of all parts that lie here.
std::uint64_t ExactInference::work_of(const nn::InferStage& stage) const {
  std::uint64_t work = 0;
  for (const auto& [id, part] : host_.parts) {
    for (const auto& output : stage.outputs) {
      std::uint64_t edges = 0;
      for (const auto e : output.edges) {
        edges += part->edges_of(e).lists(options_.dir).neighbours.size();
      }
      work += inference_work(stage, read_cols(stage, output), output.cols,
                             part->nodes_of(output.type).count, edges);
    }
  }
  return work;
}

BlockInputs ExactInference::block_inputs(const Part& part,
                                         const nn::InferStage::Output& output) const {
  BlockInputs inputs{.rows = {}, .along = {}, .own = output.type};
  for (std::size_t t = 0; t < host_.graph->node_types.size(); ++t) {
    inputs.rows.push_back({host_.book->count(static_cast<NodeTypeId>(t)),
                           collect_->decoders[t].cols() * sizeof(float)});
  }
  const auto of_edges = edge_bytes(output.type);
  for (const auto e : output.edges) {
    inputs.along.push_back({&part.edges_of(e).lists(options_.dir), source_of(e), of_edges[raw(e)]});
  }
  return inputs;
}

/// Of an edge that has features, by edge type: these, and what attention makes of them. Others take little
/// beside rows.
std::vector<std::uint64_t> ExactInference::edge_bytes(NodeTypeId type) const {
  return options_.edge_decoders != nullptr
             ? options_.network->infer_footprint(layer_, type, 0).edges
             : std::vector<std::uint64_t>(host_.graph->edge_types.size());
}

nn::InferFootprint ExactInference::footprint(std::uint32_t stage, NodeTypeId type) const {
  return options_.network->infer_footprint(stage, type, options_.device->product_rows);
}

/// As a device takes them.
BlockInputs ExactInference::device_inputs(const Part& part, std::uint32_t stage,
                                          const nn::InferStage::Output& output) const {
  const auto of = footprint(stage, output.type);
  const bool neighbors = stages_[stage].neighbor_rows;
  const auto own = of.rows[raw(output.type)];
  BlockInputs inputs{.rows = {},
                     .along = {},
                     .own = output.type,
                     .own_bytes = of.destinations + (neighbors ? 0 : own)};
  for (std::size_t t = 0; t < host_.graph->node_types.size(); ++t) {
    inputs.rows.push_back(
        {host_.book->count(static_cast<NodeTypeId>(t)), neighbors ? of.rows[t] : 0});
  }
  for (const auto e : output.edges) {
    inputs.along.push_back({&part.edges_of(e).lists(options_.dir), source_of(e), of.edges[raw(e)]});
  }
  return inputs;
}

std::vector<InferenceBlock> ExactInference::cut(const Part& part,
                                                const nn::InferStage::Output& output) const {
  const auto nodes = part.nodes_of(output.type).count;
  if (!options_.device) {
    return inference_blocks(block_inputs(part, output), nodes, options_.block_bytes);
  }
  const auto fixed = footprint(layer_, output.type).fixed;
  return inference_blocks(device_inputs(part, layer_, output), nodes,
                          options_.device->bytes_of_block(options_.block_bytes, fixed));
}

Status ExactInference::check_device() const {
  const auto room = options_.device->block_bytes();
  for (std::uint32_t stage = 0; stage < stages_.size(); ++stage) {
    for (const auto& output : stages_[stage].outputs) {
      for (const auto& [id, part] : host_.parts) {
        const auto inputs = device_inputs(*part, stage, output);
        const auto largest = largest_node_bytes(inputs, part->nodes_of(output.type).count);
        const auto needed = footprint(stage, output.type).fixed + largest;
        if (needed > room) {
          return Error(
              Errc::out_of_memory,
              fmt::format("the node of part {} with the most neighbors needs {} bytes of a "
                          "device in layer {}, half of its share has {}",
                          raw(id), needed, stage + 1, room));
        }
      }
    }
  }
  return ok_status();
}

}  // namespace troupe
