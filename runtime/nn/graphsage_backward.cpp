#include "runtime/base/assert.hpp"
#include "runtime/nn/graphsage.hpp"
#include "runtime/nn/linear.hpp"

#include <algorithm>

namespace troupe::nn {

void GraphSage::backward(Executor& executor, std::span<const float> parameters,
                         const ForwardInput& input, ConstMatrix grad_logits, Pass& pass,
                         std::span<float> gradient) const {
  check_shapes(parameters, input);
  auto& sage = dynamic_cast<SagePass&>(pass);
  const LayerBlock& top = input.blocks.back();
  TROUPE_ASSERT(gradient.size() == num_parameters() && grad_logits.rows == top.num_dst &&
                    grad_logits.cols == options_.out_dim,
                "backward", gradient.size(), num_parameters(), grad_logits.rows, top.num_dst,
                grad_logits.cols, options_.out_dim);
  executor.parallel_for(layers_.size(), [&](std::size_t i) {
    if (i > 0 || layers_[i].transform_first) {
      sage.layers[i].by_source.build(input.blocks[i]);
    }
  });
  MutMatrix grad = sage.gradients[layers_.size() % 2].matrix(top.num_dst, options_.out_dim);
  std::ranges::copy(grad_logits.flat(), grad.data);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Layer& layer = layers_[i];
    Step step{.layer = layer,
              .weights = weights_of(layer, parameters),
              .block = input.blocks[i],
              .next_mask = {},
              .ids = {}};
    if (!layer.last) {
      step.next_mask = dropout_mask(input.dropout, layer.number + 1, options_.dropout);
    }
    grad = backward_layer(executor, step, grad, sage, weights_of(layer, gradient));
  }
}

MutMatrix GraphSage::backward_layer(Executor& executor, const Step& step, MutMatrix grad,
                                    SagePass& pass, const Weights<float>& gradient) const {
  const Layer& layer = step.layer;
  const LayerBlock& block = step.block;
  SageLayerState& state = pass.layers[layer.number];
  const bool input_wanted = layer.number > 0;
  const MutMatrix columns = pass.column_partials.matrix(chunk_count(block.num_dst), 3 * layer.out);
  MutMatrix grad_neighbours;  // of the aggregated rows, or of the rows that were aggregated
  if (input_wanted && !layer.transform_first) {
    grad_neighbours = pass.grad_aggregated.matrix(block.num_dst, layer.in);
  }
  for_each_chunk(executor, block.num_dst, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = grad.slice(first, count);
    finish_backward_rows(step, first, state, rows, columns.row(first / chunk_rows));
    if (grad_neighbours.data != nullptr) {
      linear_backward_rows(rows, step.weights.left, grad_neighbours.slice(first, count),
                           Into::overwrite);
    }
  });
  const auto sums = pass.column_sums.get(3 * layer.out);
  add_partials(columns, sums);
  std::ranges::copy(sums.first(layer.out), gradient.bias.begin());
  if (layer.norm) {
    std::ranges::copy(sums.subspan(layer.out, layer.out), gradient.gain.begin());
    std::ranges::copy(sums.last(layer.out), gradient.norm_bias.begin());
  }
  weight_gradient(executor, grad, state.input.slice(0, block.num_dst), pass.weight_partials,
                  gradient.right);
  if (layer.transform_first) {
    grad_neighbours = pass.grad_transformed.matrix(block.num_src, layer.out);
    for_each_chunk(executor, block.num_src, [&](std::size_t first, std::size_t count) {
      aggregate_backward_rows(options_.aggregator, state.by_source, first, grad, {},
                              grad_neighbours.slice(first, count));
    });
    weight_gradient(executor, grad_neighbours, state.input.slice(0, block.num_src),
                    pass.weight_partials, gradient.left);
  } else {
    weight_gradient(executor, grad, state.aggregated, pass.weight_partials, gradient.left);
  }
  return input_wanted ? input_gradient(executor, step, grad, grad_neighbours, pass) : MutMatrix{};
}

void GraphSage::finish_backward_rows(const Step& step, std::size_t first,
                                     const SageLayerState& state, MutMatrix grad,
                                     std::span<float> column_sums) const {
  const std::size_t out = step.layer.out;
  if (!step.layer.last) {
    relu_backward_rows(state.output.slice(first, grad.rows), step.next_mask.scale, grad);
  }
  if (step.layer.norm) {
    layer_norm_backward_rows(state.conv.slice(first, grad.rows),
                             state.stats.subspan(first, grad.rows), step.weights.gain, grad,
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

MutMatrix GraphSage::input_gradient(Executor& executor, const Step& step, ConstMatrix grad,
                                    ConstMatrix grad_neighbours, SagePass& pass) const {
  const Layer& layer = step.layer;
  const std::size_t num_dst = step.block.num_dst;
  SageLayerState& state = pass.layers[layer.number];
  const MutMatrix result = pass.gradients[layer.number % 2].matrix(step.block.num_src, layer.in);
  for_each_chunk(executor, step.block.num_src, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = result.slice(first, count);
    if (layer.transform_first) {
      linear_backward_rows(grad_neighbours.slice(first, count), step.weights.left, rows,
                           Into::overwrite);
    } else {
      aggregate_backward_rows(options_.aggregator, state.by_source, first, grad_neighbours,
                              state.argmax, rows);
    }
    if (first < num_dst) {  // destination i is also source row i
      const std::size_t own = std::min(count, num_dst - first);
      linear_backward_rows(grad.slice(first, own), step.weights.right, rows.slice(0, own),
                           Into::add);
    }
  });
  return result;
}

}  // namespace troupe::nn
