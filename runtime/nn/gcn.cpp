#include "runtime/nn/gcn.hpp"

#include "runtime/nn/linear.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

constexpr std::size_t weight = 0;  ///< W; b is 1

/// Glorot and Bengio: "Understanding the difficulty of training deep feedforward neural networks",
/// 2010; bias 0.
std::vector<ConvParameter> gcn_parameters(std::size_t in, std::size_t out) {
  const auto bound = static_cast<float>(std::sqrt(6.0 / static_cast<double>(in + out)));
  return {{"lin.weight", out, in, bound}, {"bias", out, 1, 0}};
}

std::size_t summand_cols(const StackLayer& layer) {
  return layer.transform_first ? layer.out : layer.in;
}

}  // namespace

Gcn::Gcn(const ModelOptions& options) : LayerStack(options, gcn_parameters, true) {}

void Gcn::prepare(Executor& executor, const Step& step, LayerState& state) const {
  state.factors = state.factor_memory.build(step.block, step.below);
  if (step.layer.transform_first) {
    transform_sources(executor, step, matrix_of(step.layer, weight, step.parameters), state);
  } else {
    state.summands = state.input;
  }
}

void Gcn::convolve_rows(const Step& step, std::size_t first, const LayerState& state,
                        MutMatrix conv) const {
  if (step.layer.transform_first) {
    weighted_sum_rows(state.factors, step.block, first, state.summands, conv);
    return;
  }
  const MutMatrix sums = state.aggregated.slice(first, conv.rows);
  weighted_sum_rows(state.factors, step.block, first, state.summands, sums);
  linear_rows(sums, matrix_of(step.layer, weight, step.parameters), conv, Into::overwrite);
}

MutMatrix Gcn::convolve_backward(Executor& executor, const Step& step, ConstMatrix grad,
                                 StackPass& pass, std::span<float> gradient) const {
  const StackLayer& layer = step.layer;
  const LayerBlock& block = step.block;
  const LayerState& state = pass.layers[layer.number];
  const ConstMatrix w = matrix_of(layer, weight, step.parameters);
  const MutMatrix grad_w = matrix_of(layer, weight, gradient);
  const bool input_wanted = layer.number > 0;
  const auto input_memory = [&] {
    return pass.gradients[layer.number % 2].matrix(block.num_src, layer.in);
  };
  if (layer.transform_first) {
    const MutMatrix grad_rows = pass.grad_transformed.matrix(block.num_src, layer.out);
    const MutMatrix result = input_wanted ? input_memory() : MutMatrix{};
    for_each_chunk(executor, block.num_src, [&](std::size_t first, std::size_t count) {
      const MutMatrix rows = grad_rows.slice(first, count);
      weighted_sum_backward_rows(state.factors, state.by_source, first, grad, rows);
      if (input_wanted) {
        linear_backward_rows(rows, w, result.slice(first, count), Into::overwrite);
      }
    });
    weight_gradient(executor, grad_rows, state.input.slice(0, block.num_src), pass.weight_partials,
                    grad_w);
    return result;
  }
  weight_gradient(executor, grad, state.aggregated, pass.weight_partials, grad_w);
  if (!input_wanted) {
    return {};
  }
  const MutMatrix grad_sums = pass.grad_aggregated.matrix(block.num_dst, layer.in);
  for_each_chunk(executor, block.num_dst, [&](std::size_t first, std::size_t count) {
    linear_backward_rows(grad.slice(first, count), w, grad_sums.slice(first, count),
                         Into::overwrite);
  });
  const MutMatrix result = input_memory();
  for_each_chunk(executor, block.num_src, [&](std::size_t first, std::size_t count) {
    weighted_sum_backward_rows(state.factors, state.by_source, first, grad_sums,
                               result.slice(first, count));
  });
  return result;
}

std::vector<InferStage> Gcn::infer_stages() const {
  std::vector<InferStage> stages = {{.in_cols = options().in_dim,
                                     .out_cols = summand_cols(layers().front()),
                                     .neighbour_rows = false}};
  for (const StackLayer& layer : layers()) {
    stages.push_back(
        {.in_cols = summand_cols(layer),
         .out_cols = layer.last ? layer.out : summand_cols(layers()[layer.number + 1])});
  }
  return stages;
}

Matrix Gcn::summands(Executor& executor, std::span<const float> parameters, const StackLayer& layer,
                     ConstMatrix rows, std::span<const float> factors) const {
  Matrix out(rows.rows, summand_cols(layer));
  for_each_chunk(executor, rows.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix chunk = out.view().slice(first, count);
    if (layer.transform_first) {
      linear_rows(rows.slice(first, count), matrix_of(layer, weight, parameters), chunk,
                  Into::overwrite);
    } else {
      std::ranges::copy(rows.slice(first, count).flat(), chunk.data);
    }
    for (std::size_t r = 0; r < count; ++r) {
      for (float& value : chunk.row(r)) {
        value *= factors[first + r];
      }
    }
  });
  return out;
}

Matrix Gcn::infer_layer(Executor& executor, std::span<const float> parameters, std::uint32_t stage,
                        const LayerBlock& block, ConstMatrix input) const {
  TROUPE_ASSERT(stage <= layers().size(), "stage", stage, "of", layers().size() + 1);
  const StackLayer& layer = layers()[stage == 0 ? 0 : stage - 1];
  const std::size_t in_cols = stage == 0 ? layer.in : summand_cols(layer);
  const std::size_t in_rows = stage == 0 ? block.num_dst : block.num_src;
  check_inference(parameters, layer, block, input.rows,
                  input.cols == in_cols && input.rows >= in_rows);
  LayerState state;
  state.factors = state.factor_memory.build(block);
  const auto own = state.factors.destination;
  if (stage == 0) {
    return summands(executor, parameters, layer, input.slice(0, block.num_dst), own);
  }
  Matrix out = layer_rows(executor, parameters, layer, block, input, state);
  return layer.last ? std::move(out)
                    : summands(executor, parameters, layers()[stage], out.view(), own);
}

Matrix Gcn::infer_embeddings(Executor& executor, std::span<const float> parameters,
                             const LayerBlock& block, ConstMatrix input) const {
  TROUPE_ASSERT(layers().size() > 1, "embeddings of", layers().size(), "layers");
  const StackLayer& layer = layers()[layers().size() - 2];
  check_inference(parameters, layer, block, input.rows,
                  input.cols == summand_cols(layer) && input.rows >= block.num_src);
  LayerState state;
  state.factors = state.factor_memory.build(block);
  return layer_rows(executor, parameters, layer, block, input, state);
}

Matrix Gcn::layer_rows(Executor& executor, std::span<const float> parameters,
                       const StackLayer& layer, const LayerBlock& block, ConstMatrix input,
                       LayerState& state) const {
  state.factors.source = {};  // in the rows already
  state.summands = input;
  const Step step = inference_step(layer, parameters, block);
  Matrix out(block.num_dst, layer.out);
  compute_layer(executor, step, state, out.view());
  return out;
}

}  // namespace troupe::nn
