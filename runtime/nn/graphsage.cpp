#include "runtime/nn/graphsage.hpp"

#include "runtime/nn/linear.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

constexpr std::size_t left = 0;  ///< W_l; b_l is 1
constexpr std::size_t right = 2;

std::vector<ConvParameter> sage_parameters(std::size_t in, std::size_t out) {
  const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(in)));
  return {{"lin_l.weight", out, in, bound},
          {"lin_l.bias", out, 1, bound},
          {"lin_r.weight", out, in, bound}};
}

}  // namespace

GraphSage::GraphSage(const ModelOptions& options)
    : LayerStack(options, sage_parameters, options.aggregator != Aggregator::max) {}

void GraphSage::prepare(Executor& executor, const Step& step, LayerState& state) const {
  if (step.layer.transform_first) {
    transform_sources(executor, step, matrix_of(step.layer, left, step.parameters), state);
  } else {
    state.summands = state.input;
  }
  state.argmax = {};
  if (step.keep && options().aggregator == Aggregator::max) {
    state.argmax = state.argmax_memory.get(step.block.num_dst * step.layer.in);
  }
}

void GraphSage::convolve_rows(const Step& step, std::size_t first, const LayerState& state,
                              MutMatrix conv) const {
  const StackLayer& layer = step.layer;
  if (layer.transform_first) {
    aggregate_rows(options().aggregator, step.block, first, state.summands, conv, {});
  } else {
    const MutMatrix neighbours = state.aggregated.slice(first, conv.rows);
    const auto argmax = state.argmax.empty()
                            ? state.argmax
                            : state.argmax.subspan(first * layer.in, conv.rows * layer.in);
    aggregate_rows(options().aggregator, step.block, first, state.summands, neighbours, argmax);
    linear_rows(neighbours, matrix_of(layer, left, step.parameters), conv, Into::overwrite);
  }
  linear_rows(state.input.slice(first, conv.rows), matrix_of(layer, right, step.parameters), conv,
              Into::add);
}

MutMatrix GraphSage::convolve_backward(Executor& executor, const Step& step, ConstMatrix grad,
                                       StackPass& pass, std::span<float> gradient) const {
  const StackLayer& layer = step.layer;
  const LayerBlock& block = step.block;
  const LayerState& state = pass.layers[layer.number];
  const MutMatrix grad_left = matrix_of(layer, left, gradient);
  const bool input_wanted = layer.number > 0;
  weight_gradient(executor, grad, state.input.slice(0, block.num_dst), pass.weight_partials,
                  matrix_of(layer, right, gradient));
  MutMatrix grad_neighbours;
  if (layer.transform_first) {
    grad_neighbours = pass.grad_transformed.matrix(block.num_src, layer.out);
    for_each_chunk(executor, block.num_src, [&](std::size_t first, std::size_t count) {
      aggregate_backward_rows(options().aggregator, state.by_source, first, grad, {},
                              grad_neighbours.slice(first, count));
    });
    weight_gradient(executor, grad_neighbours, state.input.slice(0, block.num_src),
                    pass.weight_partials, grad_left);
  } else {
    weight_gradient(executor, grad, state.aggregated, pass.weight_partials, grad_left);
    if (input_wanted) {
      grad_neighbours = pass.grad_aggregated.matrix(block.num_dst, layer.in);
      for_each_chunk(executor, block.num_dst, [&](std::size_t first, std::size_t count) {
        linear_backward_rows(grad.slice(first, count), matrix_of(layer, left, step.parameters),
                             grad_neighbours.slice(first, count), Into::overwrite);
      });
    }
  }
  return input_wanted ? input_gradient(executor, step, grad, grad_neighbours, pass) : MutMatrix{};
}

MutMatrix GraphSage::input_gradient(Executor& executor, const Step& step, ConstMatrix grad,
                                    ConstMatrix grad_neighbours, StackPass& pass) const {
  const StackLayer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  const LayerState& state = pass.layers[layer.number];
  const MutMatrix result = pass.gradients[layer.number % 2].matrix(step.block.num_src, layer.in);
  for_each_chunk(executor, step.block.num_src, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = result.slice(first, count);
    if (layer.transform_first) {
      linear_backward_rows(grad_neighbours.slice(first, count),
                           matrix_of(layer, left, step.parameters), rows, Into::overwrite);
    } else {
      aggregate_backward_rows(options().aggregator, state.by_source, first, grad_neighbours,
                              state.argmax, rows);
    }
    if (first < num_dst) {  // destination i is also source row i
      const std::size_t own = std::min(count, num_dst - first);
      linear_backward_rows(grad.slice(first, own), matrix_of(layer, right, step.parameters),
                           rows.slice(0, own), Into::add);
    }
  });
  return result;
}

Matrix GraphSage::infer_layer(Executor& executor, std::span<const float> parameters,
                              std::uint32_t stage, const LayerBlock& block,
                              ConstMatrix input) const {
  TROUPE_ASSERT(stage < layers().size(), "stage", stage, "of", layers().size());
  const StackLayer& layer = layers()[stage];
  check_inference(parameters, layer, block, input.rows,
                  input.cols == layer.in && input.rows >= block.num_src);
  const Step step = inference_step(layer, parameters, block);
  LayerState state;
  state.input = input;
  Matrix out(block.num_dst, layer.out);
  prepare(executor, step, state);
  compute_layer(executor, step, state, out.view());
  return out;
}

}  // namespace troupe::nn
