#include "runtime/base/saturating.hpp"
#include "runtime/job/in_place_memory.hpp"
#include "runtime/job/memory_facts.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr std::uint64_t blocks_in_flight = 2;

bool infers(const MemoryFacts& of) {
  return of.model != nullptr && of.scored > 0 && of.job.infers_exactly() &&
         !of.job.task.knowledge();
}

/// What the first layer reads of the nodes here, where some of it is learned.
std::uint64_t joined_inputs(const MemoryFacts& of) {
  std::uint64_t all = 0;
  const auto stages = of.model->infer_stages();
  const auto& first = stages.front();
  for (std::size_t t = 0; !of.job.embedding.empty() && t < first.in_cols.size(); ++t) {
    all = plus(all,
               matrix_bytes(plus(of.graph.node_types[t].count / of.parts(), 1), first.in_cols[t]));
  }
  return all;
}

/// Features of edges and what attention makes of them, where the model reads some. A block has room for
/// those of its edges, or is one node.
std::uint64_t edge_features(const MemoryFacts& of, std::uint32_t stage, NodeTypeId type,
                            std::uint64_t edges, std::uint64_t longest) {
  if (!of.job.model.edge_features) {
    return 0;
  }
  const auto bytes = std::ranges::max(of.model->infer_footprint(stage, type, 0).edges);
  return std::max(std::min(times(edges, bytes), nn::infer_block_bytes), times(longest, bytes));
}

/// Rows of all types are taken as wide as the widest that the stage reads.
std::uint64_t block(const MemoryFacts& of, std::uint32_t number, const nn::InferStage& stage,
                    const nn::InferStage::Output& output, std::uint64_t own_parts) {
  const auto in_cols = *std::ranges::max_element(stage.in_cols);
  const auto own_nodes =
      times(plus(of.graph.node_types[raw(output.type)].count / of.parts(), 1), own_parts);
  const auto fitting =
      nn::infer_block_bytes / std::max<std::uint64_t>(times(in_cols, float_bytes), 1);
  const auto longest = of.facts.longest_list.value_or(of.edges);
  const bool whole = of.nodes <= fitting;  // a block for each part
  const auto rows = whole ? of.nodes : std::min(of.nodes, std::max(fitting, plus(longest, 1)));
  const auto part_edges = times(plus(of.edges / of.parts(), longest), own_parts);
  const auto edges = std::min(of.edges, whole ? part_edges : std::max(fitting, longest));
  const auto targets = std::min(rows, own_nodes);
  const auto input = stage.neighbor_rows ? rows : targets;
  // Rows as they are used, and those of other processes as they come.
  auto bytes = plus(matrix_bytes(input, in_cols), of.remote(matrix_bytes(input, in_cols)));
  bytes = plus(bytes, plus(times(rows, 80), times(edges, 24)));
  bytes = plus(bytes, edge_features(of, number, output.type, edges, longest));
  // Aggregated or transformed rows, the convolution's and the layer's. Computed one after the other
  // at best: both blocks may be under way.
  const bool first = output.cols < in_cols;
  const auto middle = first ? matrix_bytes(input, output.cols) : matrix_bytes(targets, in_cols);
  bytes = plus(bytes, plus(times(middle, std::max<std::size_t>(output.edges.size(), 1)),
                           matrix_bytes(targets, times(output.cols, 2))));
  const auto count = whole && own_parts == 1 ? 1 : blocks_in_flight;
  return times(bytes, count);
}

}  // namespace

std::uint64_t memory_of_outputs(const MemoryFacts& of, const MemoryLoad& load) {
  if (!infers(of)) {
    return 0;
  }
  std::uint64_t all = joined_inputs(of);
  std::uint64_t largest = all;
  for (const auto& stage : of.model->infer_stages()) {
    std::uint64_t of_stage = 0;
    for (const auto& output : stage.outputs) {
      const auto nodes = of.graph.node_types[raw(output.type)].count;
      of_stage = plus(of_stage, matrix_bytes(plus(nodes / of.parts(), 1), output.cols));
    }
    all = plus(all, of_stage);
    largest = std::max(largest, of_stage);
  }
  return times(plus(all, largest), load.served);
}

std::uint64_t memory_of_blocks(const MemoryFacts& of, const MemoryLoad& load) {
  if (!infers(of)) {
    return 0;
  }
  const auto per_evaluator = divide_up(load.served, std::max<std::uint64_t>(load.evaluators, 1));
  if (per_evaluator >= of.parts()) {
    if (const auto in_place =
            in_place_bytes(*of.model, of.graph, of.job.features.normalize, of.parts())) {
      return *in_place;
    }
  }
  std::uint64_t most = 0;
  const auto stages = of.model->infer_stages();
  for (std::uint32_t number = 0; number < stages.size(); ++number) {
    for (const auto& output : stages[number].outputs) {
      most = std::max(most, block(of, number, stages[number], output, per_evaluator));
    }
  }
  return most;
}

}  // namespace troupe
