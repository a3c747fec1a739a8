// Exact inference of networks, stage by stage.
#include "runtime/base/assert.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/network_layer_call.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <algorithm>
#include <utility>

namespace troupe::nn {

bool features_fit(const std::vector<InferStage>& stages, std::span<const std::uint64_t> nodes) {
  std::uint64_t features = 0;
  std::uint64_t outputs = 0;
  for (std::size_t t = 0; t < nodes.size(); ++t) {
    features = plus(features, times(nodes[t], stages.front().in_cols[t]));
  }
  for (const InferStage& stage : stages) {
    for (const auto& output : stage.outputs) {
      outputs = plus(outputs, times(nodes[raw(output.type)], output.cols));
    }
  }
  return features <= outputs;
}

/// Messages replace rows where there is one edge type; else they are sent as they are, and each
/// host makes the messages of the rows that it reads.
bool Network::sends_messages() const {
  return !layers_.empty() && !options_.heterogeneous() &&
         conv_->message_cols(layers_.front().edges.front().shape).has_value();
}

/// The stage of the first layer: one comes before it where something is made of the features.
std::uint32_t Network::first_layer_stage() const {
  return sends_messages() || options_.linear_input ? 1 : 0;
}

std::size_t Network::message_cols(const Layer& layer) const {
  return *conv_->message_cols(layer.edges.front().shape);
}

std::vector<InferStage> Network::infer_stages() const {
  if (layers_.empty()) {
    return {};
  }
  const auto types = options_.types.nodes.size();
  const bool messages = sends_messages();
  std::vector<InferStage> stages;
  if (messages) {
    stages.push_back({.outputs = {{NodeTypeId{0}, message_cols(layers_.front()), {EdgeTypeId{0}}}},
                      .in_cols = {options_.types.nodes.front().cols},
                      .neighbor_rows = false});
  } else if (options_.linear_input) {
    InferStage stage{.outputs = {}, .in_cols = std::vector<std::uint64_t>(types)};
    for (const std::size_t type : layers_.front().inputs) {
      stage.outputs.push_back({static_cast<NodeTypeId>(type), options_.hidden, {}});
      stage.in_cols[type] = options_.types.nodes[type].cols;
    }
    stage.neighbor_rows = false;
    stages.push_back(std::move(stage));
  }
  for (const Layer& layer : layers_) {
    InferStage stage{.outputs = {}, .in_cols = std::vector<std::uint64_t>(types)};
    for (const std::size_t type : layer.inputs) {
      stage.in_cols[type] = messages ? message_cols(layer) : cols_before(layer.number, type);
    }
    for (const Node& node : layer.nodes) {
      auto& output = stage.outputs.emplace_back();
      output.type = static_cast<NodeTypeId>(node.type);
      output.cols = messages && !layer.last ? message_cols(layers_[layer.number + 1]) : layer.out;
      for (const std::size_t e : node.edges) {
        output.edges.push_back(static_cast<EdgeTypeId>(layer.edges[e].type));
      }
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

std::vector<InferStage> Network::embedding_stages() const {
  TROUPE_ASSERT(layers_.size() > 1, "embeddings of layers", layers_.size());
  auto stages = infer_stages();
  stages.pop_back();
  for (auto& output : stages.back().outputs) {
    output.cols = options_.hidden;
  }
  return stages;
}

void Network::infer(Tape& tape, Executor& executor, std::span<const float> parameters,
                    const InferInput& input, MutMatrix out) const {
  const std::size_t stages = layers_.size() + first_layer_stage();
  TROUPE_ASSERT(input.stage < stages && input.blocks.size() == options_.types.edges.size() &&
                    input.rows.size() == options_.types.nodes.size(),
                "stage, edge types, node types", input.stage, stages, input.blocks.size(),
                input.rows.size());
  tape.begin(executor, parameters_, parameters, false);
  const ConstMatrix made = tape.value(record_stage(tape, input, out));
  TROUPE_ASSERT(made.rows == out.rows && made.cols == out.cols, "rows of a stage", made.rows,
                made.cols, out.rows, out.cols);
  if (made.data != out.data) {
    tape.ops().copy(made.flat(), out.flat());
  }
}

Matrix Network::infer(Executor& executor, std::span<const float> parameters,
                      const InferInput& input) const {
  const auto stages = input.embeddings ? embedding_stages() : infer_stages();
  const auto& outputs = stages.at(input.stage).outputs;
  const auto output = std::ranges::find(outputs, input.type, &InferStage::Output::type);
  TROUPE_ASSERT(output != outputs.end(), "a stage without rows of a type", input.stage,
                raw(input.type));
  const std::size_t rows = output->edges.empty() ? input.rows[raw(input.type)].rows
                                                 : input.blocks[raw(output->edges.front())].num_dst;
  Matrix out(rows, output->cols);
  CpuBlockOps ops;
  Tape tape(ops);
  infer(tape, executor, parameters, input, out.view());
  return out;
}

/// \param into  where the rows may go
Rows Network::record_stage(Tape& tape, const InferInput& input, MutMatrix into) const {
  const bool messages = sends_messages();
  if (input.stage < first_layer_stage()) {
    const std::size_t type = raw(input.type);
    Rows rows = tape.input(input.rows[type]);
    if (options_.linear_input) {
      rows = record_input(tape, type, rows, input.rows[type].rows, messages ? MutMatrix{} : into);
    }
    return messages ? record_messages(tape, layers_.front(), input.blocks.front(), rows) : rows;
  }
  const Layer& layer = layers_[input.stage - first_layer_stage()];
  if (!messages || layer.last || input.embeddings) {
    return record_layer(tape, layer, input, into);
  }
  return record_messages(tape, layers_[layer.number + 1], input.blocks.front(),
                         record_layer(tape, layer, input, {}));
}

Rows Network::record_messages(Tape& tape, const Layer& layer, const LayerBlock& block,
                              Rows rows) const {
  const Edge& edge = layer.edges.front();
  const ConstMatrix source = tape.value(rows);
  TROUPE_ASSERT(source.rows >= block.num_dst && source.cols == edge.shape.source,
                "rows for messages", source.rows, block.num_dst, source.cols, edge.shape.source);
  return conv_->messages({.tape = tape,
                          .shape = edge.shape,
                          .parameter = edge.parameter,
                          .source = rows,
                          .block = block,
                          .below = nullptr});
}

/// \requires the layer has rows of the type
const Network::Node& Network::node_of(const Layer& layer, NodeTypeId type) {
  const auto node = std::ranges::find(layer.nodes, raw(type), &Node::type);
  TROUPE_ASSERT(node != layer.nodes.end(), "a layer without rows of a type", layer.number,
                raw(type));
  return *node;
}

Rows Network::record_layer(Tape& tape, const Layer& layer, const InferInput& input,
                           MutMatrix into) const {
  const Node& node = node_of(layer, input.type);
  LayerCall call{.tape = tape,
                 .layer = layer,
                 .blocks = input.blocks,
                 .rows = std::vector<Rows>(input.rows.size()),
                 .edge_features = input.edge_features,
                 .messages = sends_messages()};
  for (const std::size_t read : layer.inputs) {
    call.rows[read] = tape.input(input.rows[read]);
  }
  auto terms = record_edges(call, &node);
  return record_node(call, node, terms, into);
}

// ---- in place ----

bool Network::reads_in_place() const {
  const auto in_place = [this](const Edge& edge) { return conv_->source_use(edge.shape).in_place; };
  return !sends_messages() && std::ranges::all_of(layers_, [&](const Layer& layer) {
    return std::ranges::all_of(layer.edges, in_place);
  });
}

/// \requires the stage is one of a layer that has the edge type
const Network::Edge& Network::edge_of(std::uint32_t stage, EdgeTypeId edge_type) const {
  const auto& edges = layers_.at(stage - first_layer_stage()).edges;
  const auto edge = std::ranges::find(edges, raw(edge_type), &Edge::type);
  TROUPE_ASSERT(edge != edges.end(), "a stage without an edge type", stage, raw(edge_type));
  return *edge;
}

std::size_t Network::source_product_cols(std::uint32_t stage, EdgeTypeId edge_type) const {
  const Edge& edge = edge_of(stage, edge_type);
  const auto product = conv_->source_use(edge.shape).product;
  return product ? layout()[edge.parameter + *product].rows : 0;
}

void Network::source_product(Tape& tape, Executor& executor, std::span<const float> parameters,
                             std::uint32_t stage, EdgeTypeId edge_type, ConstMatrix rows,
                             MutMatrix out) const {
  const Edge& edge = edge_of(stage, edge_type);
  tape.begin(executor, parameters_, parameters, false);
  const std::size_t weight = edge.parameter + *conv_->source_use(edge.shape).product;
  tape.combine({tape.own(tape.input(rows), {weight})}, rows.rows, {}, out);
}

void Network::infer_in_place(Tape& tape, Executor& executor, std::span<const float> parameters,
                             const InPlaceInput& input, MutMatrix out) const {
  tape.begin(executor, parameters_, parameters, false);
  if (input.stage < first_layer_stage()) {
    record_input(tape, raw(input.type), tape.input(input.own), input.own.rows, out);
    return;
  }
  const Layer& layer = layers_.at(input.stage - first_layer_stage());
  const Node& node = node_of(layer, input.type);
  LayerCall call{.tape = tape,
                 .layer = layer,
                 .blocks = input.blocks,
                 .rows = {},
                 .sources = std::vector<Rows>(layer.edges.size()),
                 .own = tape.input(input.own)};
  for (const std::size_t e : node.edges) {
    call.sources[e] = tape.input(input.sources[layer.edges[e].type]);
  }
  auto terms = record_edges(call, &node);
  record_node(call, node, terms, out);
}

}  // namespace troupe::nn
