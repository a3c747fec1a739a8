#include "runtime/nn/typed_sage.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/linear.hpp"
#include "runtime/nn/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace troupe::nn {
namespace {

float bound_of(std::size_t in) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(in)));
}

/// The dropout of a node type's rows before layer `layer`.
DropoutMask mask_of(const ForwardInput& input, std::size_t node_type, std::uint32_t layer,
                    float p) {
  DropoutContext context = input.dropout;
  context.node_type = static_cast<std::uint16_t>(node_type);
  return dropout_mask(context, layer, p);
}

}  // namespace

TypedSage::TypedSage(const ModelOptions& options, const std::vector<TypedLayer>& layers)
    : options_(options) {
  for (std::uint32_t i = 0; i < options.layers; ++i) {
    Layer layer{.number = i,
                .out = output_dim(i),
                .last = i + 1 == options.layers,
                .edges = {},
                .nodes = {},
                .inputs = {}};
    layer.norm = options.layer_norm && !layer.last;
    for (const NodeTypeId type : layers[i].inputs) {
      layer.inputs.push_back(raw(type));
    }
    for (const NodeTypeId type : layers[i].outputs) {
      layer.nodes.push_back({.type = raw(type), .in = cols_before(i, raw(type)), .edges = {}});
    }
    for (const EdgeTypeId type : layers[i].edges) {
      add_edge(type, layer);
    }
    for (Node& node : layer.nodes) {
      add_norm(layer, node);
    }
    layers_.push_back(std::move(layer));
  }
}

std::size_t TypedSage::cols_before(std::uint32_t layer, std::size_t node_type) const {
  return layer == 0 ? options_.types.nodes[node_type].cols : options_.hidden;
}

void TypedSage::add_edge(EdgeTypeId type, Layer& layer) {
  const auto& of_type = options_.types.edges[raw(type)];
  const auto node = std::ranges::find(layer.nodes, std::size_t{raw(of_type.destination)},
                                      [](const Node& n) { return n.type; });
  Edge edge{.type = raw(type),
            .source = raw(of_type.source),
            .in = cols_before(layer.number, raw(of_type.source))};
  edge.transform_first = layer.out < edge.in && options_.aggregator != Aggregator::max;
  const auto name = [&](const char* what) {
    return fmt::format("conv{}.{}.{}", layer.number + 1, of_type.name, what);
  };
  const float bound = bound_of(edge.in);
  edge.left = parameters_.add(
      {.name = name("lin_l.weight"), .rows = layer.out, .cols = edge.in, .bound = bound});
  parameters_.add({.name = name("lin_l.bias"), .rows = layer.out, .bound = bound});
  parameters_.add({.name = name("lin_r.weight"),
                   .rows = layer.out,
                   .cols = node->in,
                   .bound = bound_of(node->in)});
  node->edges.push_back(layer.edges.size());
  layer.edges.push_back(edge);
}

void TypedSage::add_norm(const Layer& layer, Node& node) {
  if (!layer.norm) {
    return;
  }
  const auto& type = options_.types.nodes[node.type].name;
  node.norm = parameters_.add({.name = fmt::format("norm{}.{}.weight", layer.number + 1, type),
                               .rows = layer.out,
                               .value = 1});
  parameters_.add(
      {.name = fmt::format("norm{}.{}.bias", layer.number + 1, type), .rows = layer.out});
}

std::unique_ptr<Model::Pass> TypedSage::make_pass() const {
  auto pass = std::make_unique<TypedPass>();
  const auto types = options_.types.nodes.size();
  pass->layers.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    pass->layers[i].edges.resize(layers_[i].edges.size());
    pass->layers[i].nodes.resize(layers_[i].nodes.size());
    pass->layers[i].rows.resize(types);
  }
  pass->dropped.resize(types);
  pass->gradients.resize(types);
  return pass;
}

void TypedSage::check_shapes(std::span<const float> parameters, const ForwardInput& input) const {
  const auto& typed = input.typed;
  TROUPE_ASSERT(parameters.size() == num_parameters(), "parameters", parameters.size(),
                num_parameters());
  TROUPE_ASSERT(typed.blocks.size() == layers_.size(), "blocks", typed.blocks.size(),
                layers_.size());
  TROUPE_ASSERT(typed.features.size() == options_.types.nodes.size() &&
                    (!input.dropout.training || typed.ids.size() == typed.features.size()),
                "node types", typed.features.size(), typed.ids.size(), options_.types.nodes.size());
  for (const Layer& layer : layers_) {
    TROUPE_ASSERT(typed.blocks[layer.number].size() == options_.types.edges.size(), "edge types",
                  typed.blocks[layer.number].size(), options_.types.edges.size());
    for (const Node& node : layer.nodes) {
      for (const std::size_t edge : node.edges) {
        check_block(layer, node, layer.edges[edge], input);
      }
    }
  }
}

/// Rows that a layer reads are there: of the features, or of the layer below.
void TypedSage::check_block(const Layer& layer, const Node& node, const Edge& edge,
                            const ForwardInput& input) const {
  const auto& blocks = input.typed.blocks[layer.number];
  const LayerBlock& block = blocks[edge.type];
  const auto rows_of = [&](std::size_t type) -> std::size_t {
    if (layer.number == 0) {
      const ConstMatrix& x = input.typed.features[type];
      TROUPE_ASSERT(x.cols == options_.types.nodes[type].cols, "features of type", type, x.cols,
                    options_.types.nodes[type].cols);
      TROUPE_ASSERT(!input.dropout.training || input.typed.ids[type].size() >= x.rows,
                    "ids for dropout of type", type, input.typed.ids[type].size(), x.rows);
      return x.rows;
    }
    const Layer& below = layers_[layer.number - 1];
    const auto found = std::ranges::find(below.nodes, type, [](const Node& n) { return n.type; });
    const auto first = below.edges[found->edges.front()].type;
    return input.typed.blocks[below.number][first].num_dst;
  };
  TROUPE_ASSERT(block.offsets.size() == std::size_t{block.num_dst} + 1 &&
                    block.num_dst == blocks[layer.edges[node.edges.front()].type].num_dst &&
                    block.num_src <= rows_of(edge.source) && block.num_dst <= rows_of(node.type),
                "block of layer and edge type", layer.number, edge.type, block.num_dst,
                block.num_src, block.offsets.size());
}

void TypedSage::drop_features(Executor& executor, const ForwardInput& input,
                              TypedPass& pass) const {
  for (const std::size_t type : layers_.front().inputs) {
    const ConstMatrix x = input.typed.features[type];
    ConstMatrix& rows = pass.layers.front().rows[type];
    rows = x;
    const DropoutMask mask = mask_of(input, type, 0, options_.input_dropout);
    if (!mask.active()) {
      continue;
    }
    const MutMatrix dropped = pass.dropped[type].matrix(x.rows, x.cols);
    for_each_chunk(executor, x.rows, [&](std::size_t first, std::size_t count) {
      const MutMatrix out = dropped.slice(first, count);
      std::ranges::copy(x.slice(first, count).flat(), out.data);
      dropout_rows(mask, input.typed.ids[type].subspan(first, count), out);
    });
    rows = dropped;
  }
}

ConstMatrix TypedSage::forward(Executor& executor, std::span<const float> parameters,
                               const ForwardInput& input, Pass& pass) const {
  check_shapes(parameters, input);
  auto& typed = dynamic_cast<TypedPass&>(pass);
  drop_features(executor, input, typed);
  ConstMatrix out;
  for (const Layer& layer : layers_) {
    const Step step{layer, parameters, input, typed.layers[layer.number]};
    for (std::size_t e = 0; e < layer.edges.size(); ++e) {
      prepare_edge(executor, step, e);
    }
    for (std::size_t n = 0; n < layer.nodes.size(); ++n) {
      prepare_node(step, n);
      out = compute_node(executor, step, n);
      if (!layer.last) {
        typed.layers[layer.number + 1].rows[layer.nodes[n].type] = out;
      }
    }
  }
  return out;
}

/// The rows that will be aggregated, and room for what comes of them.
void TypedSage::prepare_edge(Executor& executor, const Step& step, std::size_t position) const {
  const Edge& edge = step.layer.edges[position];
  const LayerBlock& block = step.block(edge);
  EdgeState& state = step.state.edges[position];
  const ConstMatrix rows = step.state.rows[edge.source].slice(0, block.num_src);
  state.summands = rows;
  if (edge.transform_first) {
    const ConstMatrix weight = parameters_.matrix_of(edge.left, step.parameters);
    const MutMatrix transformed = state.transformed_memory.matrix(rows.rows, step.layer.out);
    for_each_chunk(executor, rows.rows, [&](std::size_t first, std::size_t count) {
      linear_rows(rows.slice(first, count), weight, transformed.slice(first, count),
                  Into::overwrite);
    });
    state.summands = transformed;
  }
  state.aggregated = state.aggregated_memory.matrix(block.num_dst, state.summands.cols);
  const bool max = options_.aggregator == Aggregator::max;
  state.argmax = state.argmax_memory.get(max ? state.aggregated.size() : 0);
}

void TypedSage::prepare_node(const Step& step, std::size_t position) const {
  const Node& node = step.layer.nodes[position];
  NodeState& state = step.state.nodes[position];
  state.self_weight = state.self_memory.matrix(step.layer.out, node.in);
  state.bias = state.bias_memory.get(step.layer.out);
  std::ranges::fill(state.self_weight.flat(), 0.0F);
  std::ranges::fill(state.bias, 0.0F);
  for (const std::size_t e : node.edges) {
    const Edge& edge = step.layer.edges[e];
    add_scaled_row(parameters_.vector_of(edge.right(), step.parameters).data(), 1.0F,
                   state.self_weight.data, state.self_weight.size());
    add_scaled_row(parameters_.vector_of(edge.bias(), step.parameters).data(), 1.0F,
                   state.bias.data(), state.bias.size());
  }
}

LayerFinish TypedSage::finish_of(const Step& step, const Node& node) const {
  LayerFinish finish{.l2 = options_.l2,
                     .last = step.layer.last,
                     .norm = step.layer.norm,
                     .norm_gain = {},
                     .norm_bias = {},
                     .next_mask = {},
                     .ids = {}};
  if (step.layer.norm) {
    finish.norm_gain = parameters_.vector_of(node.norm, step.parameters);
    finish.norm_bias = parameters_.vector_of(node.norm + 1, step.parameters);
  }
  if (!step.layer.last) {
    finish.next_mask = mask_of(step.input, node.type, step.layer.number + 1, options_.dropout);
  }
  if (finish.next_mask.active()) {
    finish.ids = step.input.typed.ids[node.type];
  }
  return finish;
}

ConstMatrix TypedSage::compute_node(Executor& executor, const Step& step,
                                    std::size_t position) const {
  const Node& node = step.layer.nodes[position];
  NodeState& state = step.state.nodes[position];
  const std::size_t count = step.count(node);
  const LayerFinish finish = finish_of(step, node);
  const MutMatrix out = state.output_memory.matrix(count, step.layer.out);
  const MutMatrix conv = begin_finish(finish, out, state);
  for_each_chunk(executor, count, [&](std::size_t first, std::size_t rows) {
    convolve_rows(step, position, first, conv.slice(first, rows));
    add_bias_rows(state.bias, conv.slice(first, rows));
    finish_rows(finish, state, first, conv.slice(first, rows), out.slice(first, rows));
  });
  return out;
}

void TypedSage::convolve_rows(const Step& step, std::size_t position, std::size_t first,
                              MutMatrix conv) const {
  const Node& node = step.layer.nodes[position];
  linear_rows(step.state.rows[node.type].slice(first, conv.rows),
              step.state.nodes[position].self_weight, conv, Into::overwrite);
  for (const std::size_t e : node.edges) {
    const Edge& edge = step.layer.edges[e];
    const EdgeState& state = step.state.edges[e];
    const MutMatrix neighbours = state.aggregated.slice(first, conv.rows);
    const auto argmax = state.argmax.empty()
                            ? state.argmax
                            : state.argmax.subspan(first * edge.in, conv.rows * edge.in);
    aggregate_rows(options_.aggregator, step.block(edge), first, state.summands, neighbours,
                   argmax);
    if (edge.transform_first) {
      add_scaled_row(neighbours.data, 1.0F, conv.data, conv.size());
    } else {
      linear_rows(neighbours, parameters_.matrix_of(edge.left, step.parameters), conv, Into::add);
    }
  }
}

Matrix TypedSage::infer_layer(Executor& /*executor*/, std::span<const float> /*parameters*/,
                              std::uint32_t stage, const LayerBlock& /*block*/,
                              ConstMatrix /*input*/) const {
  TROUPE_ASSERT(stage < infer_stages().size(), "a typed model has no exact inference: stage",
                stage);
  return {};
}

}  // namespace troupe::nn
