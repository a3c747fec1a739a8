#include "runtime/nn/layer_stack.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/nn/linear.hpp"

#include <algorithm>
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

LayerStack::LayerStack(const ModelOptions& options, ConvParameters conv_parameters, bool linear)
    : options_(options) {
  for (std::uint32_t i = 0; i < options.layers; ++i) {
    StackLayer layer{.number = i,
                     .in = i == 0 ? options.in_dim : options.hidden,
                     .out = output_dim(i),
                     .last = i + 1 == options.layers,
                     .first_slice = layout_.size()};
    layer.norm = options.layer_norm && !layer.last;
    layer.transform_first = layer.out < layer.in && linear;
    for (const ConvParameter& parameter : conv_parameters(layer.in, layer.out)) {
      add_slice(fmt::format("conv{}.{}", i + 1, parameter.name), parameter.rows, parameter.cols,
                parameter.bound);
    }
    layer.norm_slice = layout_.size();
    if (layer.norm) {
      add_slice(fmt::format("norm{}.weight", i + 1), layer.out, 1, 0);
      add_slice(fmt::format("norm{}.bias", i + 1), layer.out, 1, 0);
    }
    layers_.push_back(layer);
  }
}

void LayerStack::add_slice(const std::string& name, std::size_t rows, std::size_t cols,
                           float bound) {
  const std::size_t offset = num_parameters();
  layout_.push_back({.name = name, .offset = offset, .rows = rows, .cols = cols});
  bounds_.push_back(bound);
}

std::vector<float> LayerStack::initial_parameters(std::uint64_t job_seed) const {
  std::vector<float> parameters(num_parameters());
  const auto values_of = [&](std::size_t slice) {
    return std::span(parameters).subspan(layout_[slice].offset, layout_[slice].size());
  };
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    if (bounds_[i] > 0) {
      fill_uniform(job_seed, static_cast<std::uint16_t>(i), bounds_[i], values_of(i));
    }
  }
  for (const StackLayer& layer : layers_) {
    if (layer.norm) {
      std::ranges::fill(values_of(layer.norm_slice), 1.0F);
    }
  }
  return parameters;
}

std::unique_ptr<Model::Pass> LayerStack::make_pass() const {
  auto pass = std::make_unique<StackPass>();
  pass->layers.resize(layers_.size());
  return pass;
}

void LayerStack::check_shapes(std::span<const float> parameters, const ForwardInput& input) const {
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

void LayerStack::check_inference(std::span<const float> parameters, const StackLayer& layer,
                                 const LayerBlock& block, std::size_t rows, bool fits) const {
  TROUPE_ASSERT(parameters.size() == num_parameters() && fits && block.num_dst <= block.num_src &&
                    block.offsets.size() == std::size_t{block.num_dst} + 1,
                "infer_layer", layer.number, parameters.size(), num_parameters(), rows,
                block.num_src, block.num_dst, block.offsets.size());
}

void LayerStack::drop_features(Executor& executor, const ForwardInput& input,
                               LayerState& state) const {
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

ConstMatrix LayerStack::forward(Executor& executor, std::span<const float> parameters,
                                const ForwardInput& input, Pass& pass) const {
  check_shapes(parameters, input);
  auto& states = dynamic_cast<StackPass&>(pass).layers;
  drop_features(executor, input, states.front());
  for (const StackLayer& layer : layers_) {
    LayerState& state = states[layer.number];
    const LayerBlock& block = input.blocks[layer.number];
    const MutMatrix out = state.output_memory.matrix(block.num_dst, layer.out);
    Step step{.layer = layer,
              .parameters = parameters,
              .block = block,
              .below = layer.number == 0 ? nullptr : &input.blocks[layer.number - 1],
              .next_mask = {},
              .ids = input.dropout.ids};
    if (!layer.last) {
      step.next_mask = dropout_mask(input.dropout, layer.number + 1, options_.dropout);
      states[layer.number + 1].input = out;
    }
    prepare(executor, step, state);
    compute_layer(executor, step, state, out);
  }
  return states.back().output;
}

void LayerStack::transform_sources(Executor& executor, const Step& step, ConstMatrix weight,
                                   LayerState& state) const {
  const std::size_t rows = step.block.num_src;
  const MutMatrix transformed = state.transformed_memory.matrix(rows, weight.rows);
  for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
    linear_rows(state.input.slice(first, count), weight, transformed.slice(first, count),
                Into::overwrite);
  });
  state.summands = transformed;
}

void LayerStack::compute_layer(Executor& executor, const Step& step, LayerState& state,
                               MutMatrix out) const {
  const StackLayer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  const bool more_follows = !layer.last && (layer.norm || options_.l2);
  const MutMatrix conv = more_follows ? state.conv_memory.matrix(num_dst, layer.out) : out;
  state.aggregated =
      layer.transform_first ? MutMatrix{} : state.aggregated_memory.matrix(num_dst, layer.in);
  state.conv = conv;
  state.output = out;
  state.lengths = state.lengths_memory.get(options_.l2 ? num_dst : 0);
  state.stats = state.stats_memory.get(layer.norm ? num_dst : 0);
  const auto bias = vector_of(layer, 1, step.parameters);
  for_each_chunk(executor, num_dst, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = conv.slice(first, count);
    convolve_rows(step, first, state, rows);
    add_bias_rows(bias, rows);
    finish_rows(step, first, state, rows, out.slice(first, count));
  });
}

std::span<const float> LayerStack::norm_gain(const Step& step) const {
  const ParameterSlice& slice = layout_[step.layer.norm_slice];
  return step.parameters.subspan(slice.offset, slice.size());
}

void LayerStack::finish_rows(const Step& step, std::size_t first, const LayerState& state,
                             MutMatrix conv, MutMatrix out) const {
  if (options_.l2) {
    l2_normalize_rows(conv, state.lengths.subspan(first, conv.rows));
  }
  if (step.layer.last) {
    return;
  }
  ConstMatrix before_relu = conv;
  if (step.layer.norm) {
    const ParameterSlice& bias = layout_[step.layer.norm_slice + 1];
    layer_norm_rows(conv, norm_gain(step), step.parameters.subspan(bias.offset, bias.size()),
                    state.stats.subspan(first, conv.rows), out);
    before_relu = out;
  }
  relu_rows(before_relu, out);
  if (step.next_mask.active()) {
    dropout_rows(step.next_mask, step.ids.subspan(first, out.rows), out);
  }
}

void LayerStack::backward(Executor& executor, std::span<const float> parameters,
                          const ForwardInput& input, ConstMatrix grad_logits, Pass& pass,
                          std::span<float> gradient) const {
  check_shapes(parameters, input);
  auto& stack = dynamic_cast<StackPass&>(pass);
  const LayerBlock& top = input.blocks.back();
  TROUPE_ASSERT(gradient.size() == num_parameters() && grad_logits.rows == top.num_dst &&
                    grad_logits.cols == options_.out_dim,
                "backward", gradient.size(), num_parameters(), grad_logits.rows, top.num_dst,
                grad_logits.cols, options_.out_dim);
  executor.parallel_for(layers_.size(), [&](std::size_t i) {
    if (i > 0 || layers_[i].transform_first) {
      stack.layers[i].by_source.build(input.blocks[i]);
    }
  });
  MutMatrix grad = stack.gradients[layers_.size() % 2].matrix(top.num_dst, options_.out_dim);
  std::ranges::copy(grad_logits.flat(), grad.data);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const StackLayer& layer = layers_[i];
    Step step{.layer = layer,
              .parameters = parameters,
              .block = input.blocks[i],
              .below = nullptr,
              .next_mask = {},
              .ids = {}};
    if (!layer.last) {
      step.next_mask = dropout_mask(input.dropout, layer.number + 1, options_.dropout);
    }
    finish_backward(executor, step, grad, stack, gradient);
    grad = convolve_backward(executor, step, grad, stack, gradient);
  }
}

void LayerStack::finish_backward(Executor& executor, const Step& step, MutMatrix grad,
                                 StackPass& pass, std::span<float> gradient) const {
  const StackLayer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  const LayerState& state = pass.layers[layer.number];
  const MutMatrix columns = pass.column_partials.matrix(chunk_count(num_dst), 3 * layer.out);
  for_each_chunk(executor, num_dst, [&](std::size_t first, std::size_t count) {
    finish_backward_rows(step, first, state, grad.slice(first, count),
                         columns.row(first / chunk_rows));
  });
  const auto sums = pass.column_sums.get(3 * layer.out);
  add_partials(columns, sums);
  std::ranges::copy(sums.first(layer.out), vector_of(layer, 1, gradient).begin());
  if (layer.norm) {
    const auto norm = gradient.subspan(layout_[layer.norm_slice].offset, 2 * layer.out);
    std::ranges::copy(sums.last(2 * layer.out), norm.begin());
  }
}

void LayerStack::finish_backward_rows(const Step& step, std::size_t first, const LayerState& state,
                                      MutMatrix grad, std::span<float> column_sums) const {
  const std::size_t out = step.layer.out;
  if (!step.layer.last) {
    relu_backward_rows(state.output.slice(first, grad.rows), step.next_mask.scale, grad);
  }
  if (step.layer.norm) {
    layer_norm_backward_rows(state.conv.slice(first, grad.rows),
                             state.stats.subspan(first, grad.rows), norm_gain(step), grad,
                             column_sums.subspan(out, out), column_sums.last(out));
  } else {
    std::ranges::fill(column_sums.last(2 * out), 0.0F);
  }
  if (options_.l2) {
    l2_normalize_backward_rows(state.conv.slice(first, grad.rows),
                               state.lengths.subspan(first, grad.rows), grad);
  }
  column_sums_rows(grad, column_sums.first(out));
}

}  // namespace troupe::nn
