#include "runtime/nn/graphsage.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/nn/linear.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace troupe::nn {
namespace {

/// Uniform in ±bound, element by element from the parameter's own stream.
void fill_uniform(std::uint64_t job_seed, std::uint16_t number, float bound, std::span<float> out) {
  const StreamKey key = stream_key(job_seed, {.domain = Domain::initial_weights, .type = number});
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = bound * (2.0F * unit_float(DrawStream(key, i).next()) - 1.0F);
  }
}

}  // namespace

GraphSage::GraphSage(const ModelOptions& options) : options_(options) {
  for (std::uint32_t i = 0; i < options.layers; ++i) {
    Layer layer{.number = i,
                .in = i == 0 ? options.in_dim : options.hidden,
                .out = output_dim(i),
                .last = i + 1 == options.layers,
                .first_slice = layout_.size()};
    layer.norm = options.layer_norm && !layer.last;
    layer.transform_first = layer.out < layer.in && options.aggregator != Aggregator::max;
    const std::string conv = fmt::format("conv{}.", i + 1);
    add_slice(conv + "lin_l.weight", layer.out, layer.in);
    add_slice(conv + "lin_l.bias", layer.out, 1);
    add_slice(conv + "lin_r.weight", layer.out, layer.in);
    if (layer.norm) {
      const std::string norm = fmt::format("norm{}.", i + 1);
      add_slice(norm + "weight", layer.out, 1);
      add_slice(norm + "bias", layer.out, 1);
    }
    layers_.push_back(layer);
  }
}

void GraphSage::add_slice(std::string name, std::size_t rows, std::size_t cols) {
  const std::size_t offset = num_parameters();
  layout_.push_back({.name = std::move(name), .offset = offset, .rows = rows, .cols = cols});
}

std::vector<float> GraphSage::initial_parameters(std::uint64_t job_seed) const {
  std::vector<float> parameters(num_parameters());
  for (const Layer& layer : layers_) {
    const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.in)));
    for (std::size_t i = 0; i < 3; ++i) {
      const ParameterSlice& slice = layout_[layer.first_slice + i];
      fill_uniform(job_seed, static_cast<std::uint16_t>(layer.first_slice + i), bound,
                   std::span(parameters).subspan(slice.offset, slice.size()));
    }
    std::ranges::fill(weights_of(layer, std::span(parameters)).gain, 1.0F);
  }
  return parameters;
}

std::unique_ptr<Model::Pass> GraphSage::make_pass() const {
  auto pass = std::make_unique<SagePass>();
  pass->layers.resize(layers_.size());
  return pass;
}

void GraphSage::check_shapes(std::span<const float> parameters, const ForwardInput& input) const {
  TROUPE_ASSERT(parameters.size() == num_parameters(), "parameters", parameters.size(),
                num_parameters());
  TROUPE_ASSERT(input.blocks.size() == layers_.size(), "blocks", input.blocks.size(),
                layers_.size());
  const LayerBlock& first = input.blocks.front();
  TROUPE_ASSERT(input.features.rows >= first.num_src && input.features.cols == options_.in_dim,
                "features", input.features.rows, input.features.cols, first.num_src,
                options_.in_dim);
  for (std::size_t i = 0; i < input.blocks.size(); ++i) {
    const LayerBlock& block = input.blocks[i];
    TROUPE_ASSERT(block.num_dst <= block.num_src &&
                      block.offsets.size() == std::size_t{block.num_dst} + 1 &&
                      (i == 0 || block.num_src == input.blocks[i - 1].num_dst),
                  "block", i, block.num_dst, block.num_src, block.offsets.size());
  }
  TROUPE_ASSERT(!input.dropout.training || input.dropout.ids.size() >= first.num_src,
                "ids for dropout", input.dropout.ids.size(), first.num_src);
}

void GraphSage::drop_features(Executor& executor, const ForwardInput& input,
                              SageLayerState& state) const {
  const std::size_t rows = input.blocks[0].num_src;
  const DropoutMask mask = dropout_mask(input.dropout, 0, options_.input_dropout);
  state.input = input.features.slice(0, rows);
  if (!mask.active()) {
    return;
  }
  const MutMatrix dropped = state.input_memory.matrix(rows, options_.in_dim);
  for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix out = dropped.slice(first, count);
    std::ranges::copy(input.features.slice(first, count).flat(), out.data);
    dropout_rows(mask, input.dropout.ids.subspan(first, count), out);
  });
  state.input = dropped;
}

ConstMatrix GraphSage::forward(Executor& executor, std::span<const float> parameters,
                               const ForwardInput& input, Pass& pass) const {
  check_shapes(parameters, input);
  auto& states = dynamic_cast<SagePass&>(pass).layers;
  drop_features(executor, input, states.front());
  for (const Layer& layer : layers_) {
    SageLayerState& state = states[layer.number];
    const LayerBlock& block = input.blocks[layer.number];
    const MutMatrix out = state.output_memory.matrix(block.num_dst, layer.out);
    Step step{.layer = layer,
              .weights = weights_of(layer, parameters),
              .block = block,
              .next_mask = {},
              .ids = input.dropout.ids};
    if (!layer.last) {
      step.next_mask = dropout_mask(input.dropout, layer.number + 1, options_.dropout);
      states[layer.number + 1].input = out;
    }
    forward_layer(executor, step, state, out);
  }
  return states.back().output;
}

Matrix GraphSage::infer_layer(Executor& executor, std::span<const float> parameters,
                              std::uint32_t layer, const LayerBlock& block,
                              ConstMatrix input) const {
  TROUPE_ASSERT(parameters.size() == num_parameters() && layer < layers_.size(), "infer_layer",
                parameters.size(), num_parameters(), layer, layers_.size());
  const Layer& shape = layers_[layer];
  TROUPE_ASSERT(input.cols == shape.in && input.rows >= block.num_src &&
                    block.num_dst <= block.num_src &&
                    block.offsets.size() == std::size_t{block.num_dst} + 1,
                "infer_layer", layer, input.rows, input.cols, shape.in, block.num_src,
                block.num_dst, block.offsets.size());
  SageLayerState state;
  state.input = input;
  Matrix out(block.num_dst, shape.out);
  const Step step{.layer = shape,
                  .weights = weights_of(shape, parameters),
                  .block = block,
                  .next_mask = {},
                  .ids = {},
                  .keep = false};
  forward_layer(executor, step, state, out.view());
  return out;
}

void GraphSage::forward_layer(Executor& executor, const Step& step, SageLayerState& state,
                              MutMatrix out) const {
  const Layer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  MutMatrix transformed;
  MutMatrix aggregated;
  if (layer.transform_first) {
    transformed = state.transformed_memory.matrix(step.block.num_src, layer.out);
    for_each_chunk(executor, step.block.num_src, [&](std::size_t first, std::size_t count) {
      linear_rows(state.input.slice(first, count), step.weights.left,
                  transformed.slice(first, count), Into::overwrite);
    });
  } else {
    aggregated = state.aggregated_memory.matrix(num_dst, layer.in);
  }
  const bool more_follows = !layer.last && (layer.norm || options_.l2);
  const MutMatrix conv = more_follows ? state.conv_memory.matrix(num_dst, layer.out) : out;
  state.aggregated = aggregated;
  state.conv = conv;
  state.output = out;
  state.argmax = {};
  if (step.keep && options_.aggregator == Aggregator::max) {
    state.argmax = state.argmax_memory.get(num_dst * layer.in);
  }
  state.lengths = state.lengths_memory.get(options_.l2 ? num_dst : 0);
  state.stats = state.stats_memory.get(layer.norm ? num_dst : 0);
  for_each_chunk(executor, num_dst, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = conv.slice(first, count);
    if (layer.transform_first) {
      aggregate_rows(options_.aggregator, step.block, first, transformed, rows, {});
    } else {
      const MutMatrix neighbours = aggregated.slice(first, count);
      const auto argmax = state.argmax.empty()
                              ? state.argmax
                              : state.argmax.subspan(first * layer.in, count * layer.in);
      aggregate_rows(options_.aggregator, step.block, first, state.input, neighbours, argmax);
      linear_rows(neighbours, step.weights.left, rows, Into::overwrite);
    }
    linear_rows(state.input.slice(first, count), step.weights.right, rows, Into::add);
    add_bias_rows(step.weights.bias, rows);
    finish_rows(step, first, state, rows, out.slice(first, count));
  });
}

void GraphSage::finish_rows(const Step& step, std::size_t first, const SageLayerState& state,
                            MutMatrix conv, MutMatrix out) const {
  if (options_.l2) {
    l2_normalize_rows(conv, state.lengths.subspan(first, conv.rows));
  }
  if (step.layer.last) {
    return;
  }
  ConstMatrix before_relu = conv;
  if (step.layer.norm) {
    layer_norm_rows(conv, step.weights.gain, step.weights.norm_bias,
                    state.stats.subspan(first, conv.rows), out);
    before_relu = out;
  }
  relu_rows(before_relu, out);
  if (step.next_mask.active()) {
    dropout_rows(step.next_mask, step.ids.subspan(first, out.rows), out);
  }
}

}  // namespace troupe::nn
