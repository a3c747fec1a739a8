#include "runtime/nn/layer_stack.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/linear.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::nn {

LayerStack::LayerStack(const ModelOptions& options, ConvParameters conv_parameters, bool linear)
    : options_(options) {
  for (std::uint32_t i = 0; i < options.layers; ++i) {
    StackLayer layer{.number = i,
                     .in = i == 0 ? options.in_dim : options.hidden,
                     .out = output_dim(i),
                     .last = i + 1 == options.layers,
                     .first_slice = layout().size()};
    layer.norm = options.layer_norm && !layer.last;
    layer.transform_first = layer.out < layer.in && linear;
    for (const ConvParameter& parameter : conv_parameters(layer.in, layer.out)) {
      parameters_.add({.name = fmt::format("conv{}.{}", i + 1, parameter.name),
                       .rows = parameter.rows,
                       .cols = parameter.cols,
                       .bound = parameter.bound});
    }
    layer.norm_slice = layout().size();
    if (layer.norm) {
      parameters_.add({.name = fmt::format("norm{}.weight", i + 1), .rows = layer.out, .value = 1});
      parameters_.add({.name = fmt::format("norm{}.bias", i + 1), .rows = layer.out});
    }
    layers_.push_back(layer);
  }
}

std::vector<float> LayerStack::initial_parameters(std::uint64_t job_seed) const {
  return parameters_.initial_values(job_seed);
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

LayerFinish LayerStack::finish_of(const Step& step) const {
  LayerFinish finish{.l2 = options_.l2,
                     .last = step.layer.last,
                     .norm = step.layer.norm,
                     .norm_gain = {},
                     .norm_bias = {},
                     .next_mask = step.next_mask,
                     .ids = step.ids};
  if (step.layer.norm) {
    finish.norm_gain = parameters_.vector_of(step.layer.norm_slice, step.parameters);
    finish.norm_bias = parameters_.vector_of(step.layer.norm_slice + 1, step.parameters);
  }
  return finish;
}

void LayerStack::compute_layer(Executor& executor, const Step& step, LayerState& state,
                               MutMatrix out) const {
  const StackLayer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  const LayerFinish finish = finish_of(step);
  const MutMatrix conv = begin_finish(finish, out, state);
  state.aggregated =
      layer.transform_first ? MutMatrix{} : state.aggregated_memory.matrix(num_dst, layer.in);
  const auto bias = vector_of(layer, 1, step.parameters);
  for_each_chunk(executor, num_dst, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = conv.slice(first, count);
    convolve_rows(step, first, state, rows);
    add_bias_rows(bias, rows);
    finish_rows(finish, state, first, rows, out.slice(first, count));
  });
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
    end_backward(executor, step, grad, stack, gradient);
    grad = convolve_backward(executor, step, grad, stack, gradient);
  }
}

void LayerStack::end_backward(Executor& executor, const Step& step, MutMatrix grad, StackPass& pass,
                              std::span<float> gradient) const {
  const StackLayer& layer = step.layer;
  const auto sums =
      finish_backward(executor, finish_of(step), pass.layers[layer.number], grad, pass.finish);
  std::ranges::copy(sums.first(layer.out), vector_of(layer, 1, gradient).begin());
  if (layer.norm) {
    const auto norm = gradient.subspan(layout()[layer.norm_slice].offset, 2 * layer.out);
    std::ranges::copy(sums.last(2 * layer.out), norm.begin());
  }
}

}  // namespace troupe::nn
