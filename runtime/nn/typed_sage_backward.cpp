// Backward passes of typed_sage.hpp.
#include "runtime/base/assert.hpp"
#include "runtime/nn/linear.hpp"
#include "runtime/nn/row_kernels.hpp"
#include "runtime/nn/typed_sage.hpp"

#include <algorithm>
#include <utility>

namespace troupe::nn {

void TypedSage::backward(Executor& executor, std::span<const float> parameters,
                         const ForwardInput& input, ConstMatrix grad_logits, Pass& pass,
                         std::span<float> gradient) const {
  check_shapes(parameters, input);
  auto& typed = dynamic_cast<TypedPass&>(pass);
  sort_by_source(executor, input, typed);
  const Layer& top = layers_.back();
  Gradients& seeds = typed.gradients[top.nodes.front().type];
  const Step last{top, parameters, input, typed.layers.back()};
  TROUPE_ASSERT(gradient.size() == num_parameters() &&
                    grad_logits.rows == last.count(top.nodes.front()) &&
                    grad_logits.cols == top.out,
                "backward", gradient.size(), num_parameters(), grad_logits.rows, grad_logits.cols);
  seeds.rows = seeds.memory[layers_.size() % 2].matrix(grad_logits.rows, grad_logits.cols);
  std::ranges::copy(grad_logits.flat(), seeds.rows.data);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Step step{layers_[i], parameters, input, typed.layers[i]};
    for (std::size_t n = 0; n < step.layer.nodes.size(); ++n) {
      node_backward(executor, step, n, typed, gradient);
    }
    if (i == 0) {
      return;
    }
    // All of them read the gradients of this layer's rows.
    std::vector<std::pair<std::size_t, MutMatrix>> below;
    for (const std::size_t type : step.layer.inputs) {
      below.emplace_back(type, input_gradient(executor, step, type, typed));
    }
    for (const auto& [type, rows] : below) {
      typed.gradients[type].rows = rows;
    }
  }
}

void TypedSage::sort_by_source(Executor& executor, const ForwardInput& input,
                               TypedPass& pass) const {
  std::vector<std::pair<std::size_t, std::size_t>> wanted;  // layer, edge
  for (const Layer& layer : layers_) {
    for (std::size_t e = 0; e < layer.edges.size(); ++e) {
      if (layer.number > 0 || layer.edges[e].transform_first) {
        wanted.emplace_back(layer.number, e);
      }
    }
  }
  executor.parallel_for(wanted.size(), [&](std::size_t i) {
    const auto& [layer, e] = wanted[i];
    const auto type = layers_[layer].edges[e].type;
    pass.layers[layer].edges[e].by_source.build(input.typed.blocks[layer][type]);
  });
}

/// The gradients of the parameters of one node type's rows; what comes to their own rows below is
/// for input_gradient().
void TypedSage::node_backward(Executor& executor, const Step& step, std::size_t position,
                              TypedPass& pass, std::span<float> gradient) const {
  const Layer& layer = step.layer;
  const Node& node = layer.nodes[position];
  const MutMatrix grad = pass.gradients[node.type].rows;
  const auto sums = finish_backward(executor, finish_of(step, node), step.state.nodes[position],
                                    grad, pass.finish);
  if (layer.norm) {
    const auto norm = gradient.subspan(layout()[node.norm].offset, 2 * layer.out);
    std::ranges::copy(sums.last(2 * layer.out), norm.begin());
  }
  const auto self = parameters_.matrix_of(layer.edges[node.edges.front()].right(), gradient);
  weight_gradient(executor, grad, step.state.rows[node.type].slice(0, grad.rows),
                  pass.weight_partials, self);
  for (const std::size_t e : node.edges) {
    const Edge& edge = layer.edges[e];
    std::ranges::copy(sums.first(layer.out), parameters_.vector_of(edge.bias(), gradient).begin());
    if (e != node.edges.front()) {
      std::ranges::copy(self.flat(), parameters_.vector_of(edge.right(), gradient).begin());
    }
    edge_backward(executor, step, e, grad, pass, gradient);
  }
}

void TypedSage::edge_backward(Executor& executor, const Step& step, std::size_t position,
                              ConstMatrix grad, TypedPass& pass, std::span<float> gradient) const {
  const Edge& edge = step.layer.edges[position];
  EdgeState& state = step.state.edges[position];
  const MutMatrix grad_left = parameters_.matrix_of(edge.left, gradient);
  if (edge.transform_first) {
    const std::size_t rows = step.block(edge).num_src;
    state.grad_neighbours = state.gradient_memory.matrix(rows, step.layer.out);
    for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
      aggregate_backward_rows(options_.aggregator, state.by_source, first, grad, {},
                              state.grad_neighbours.slice(first, count));
    });
    weight_gradient(executor, state.grad_neighbours, step.state.rows[edge.source].slice(0, rows),
                    pass.weight_partials, grad_left);
    return;
  }
  weight_gradient(executor, grad, state.aggregated, pass.weight_partials, grad_left);
  if (step.layer.number == 0) {
    return;
  }
  state.grad_neighbours = state.gradient_memory.matrix(grad.rows, edge.in);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    linear_backward_rows(grad.slice(first, count),
                         parameters_.matrix_of(edge.left, step.parameters),
                         state.grad_neighbours.slice(first, count), Into::overwrite);
  });
}

/// The gradient of the layer's input rows of one node type: along the edge types that start there,
/// in their order, then of the rows as they are.
MutMatrix TypedSage::input_gradient(Executor& executor, const Step& step, std::size_t node_type,
                                    TypedPass& pass) const {
  const Layer& layer = step.layer;
  const ConstMatrix input = step.state.rows[node_type];
  const auto own = std::ranges::find(layer.nodes, node_type, [](const Node& n) { return n.type; });
  const ConstMatrix grad =
      own == layer.nodes.end() ? ConstMatrix{} : pass.gradients[node_type].rows;
  const MutMatrix result =
      pass.gradients[node_type].memory[layer.number % 2].matrix(input.rows, input.cols);
  for_each_chunk(executor, input.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = result.slice(first, count);
    std::ranges::fill(rows.flat(), 0.0F);
    add_edge_gradients(step, node_type, first, rows);
    if (first < grad.rows) {  // destination i is also source row i
      const std::size_t here = std::min(count, grad.rows - first);
      const auto at = static_cast<std::size_t>(own - layer.nodes.begin());
      linear_backward_rows(grad.slice(first, here), step.state.nodes[at].self_weight,
                           rows.slice(0, here), Into::add);
    }
  });
  return result;
}

void TypedSage::add_edge_gradients(const Step& step, std::size_t node_type, std::size_t first,
                                   MutMatrix rows) const {
  Matrix sums;
  for (std::size_t e = 0; e < step.layer.edges.size(); ++e) {
    const Edge& edge = step.layer.edges[e];
    const EdgeState& state = step.state.edges[e];
    const std::size_t sources = step.block(edge).num_src;
    if (edge.source != node_type || first >= sources) {
      continue;
    }
    const MutMatrix part = rows.slice(0, std::min(rows.rows, sources - first));
    if (edge.transform_first) {
      linear_backward_rows(state.grad_neighbours.slice(first, part.rows),
                           parameters_.matrix_of(edge.left, step.parameters), part, Into::add);
      continue;
    }
    if (sums.rows() == 0) {
      sums = Matrix(rows.rows, rows.cols);
    }
    const MutMatrix sum = sums.view().slice(0, part.rows);
    aggregate_backward_rows(options_.aggregator, state.by_source, first, state.grad_neighbours,
                            state.argmax, sum);
    add_scaled_row(sum.data, 1.0F, part.data, part.size());
  }
}

}  // namespace troupe::nn
