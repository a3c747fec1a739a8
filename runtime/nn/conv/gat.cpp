#include "runtime/nn/conv/gat.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace troupe::nn {

Rows dropped_weights(const ConvCall& call, Rows weights) {
  const DropoutMask& mask = call.attention_mask;
  return mask.active() ? call.tape.drop(weights, mask) : weights;
}

Rows scored_attention(const ConvCall& call, Rows source, Rows destination, std::size_t lin_edge,
                      bool one_loop) {
  if (!call.edge_features) {
    return dropped_weights(call, call.tape.attention(source, destination, call.block,
                                                     {.slope = 0.2F, .one_loop = one_loop}));
  }
  const std::size_t edges = call.tape.value(*call.edge_features).rows;
  const Rows projected = call.tape.linear(*call.edge_features, edges, lin_edge);
  const std::array pairs{
      Tape::Pair{.source = source,
                 .destination = destination,
                 .block = &call.block,
                 .one_loop = one_loop,
                 .edges = call.tape.head_scores(projected, edges, lin_edge + 1)}};
  return dropped_weights(call, call.tape.pair_attention(pairs).front());
}

std::vector<NewParameter> edge_parameters(const ConvShape& shape, std::size_t heads,
                                          std::size_t cols) {
  if (shape.edge == 0) {
    return {};
  }
  return {{.name = "lin_edge.weight",
           .rows = heads * cols,
           .cols = shape.edge,
           .bound = glorot_bound(heads * cols, shape.edge)},
          {.name = "att_edge", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)}};
}

std::vector<NewParameter> GatConv::parameters(const ConvShape& shape) const {
  const std::size_t heads = options_.heads_of(shape);
  const std::size_t cols = options_.head_cols(shape);
  const auto all = heads * cols;
  std::vector<NewParameter> parameters{
      {.name = "lin.weight",
       .rows = all,
       .cols = shape.source,
       .bound = glorot_bound(all, shape.source)},
      {.name = "att_src", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
      {.name = "att_dst", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
      {.name = "bias", .rows = shape.out}};
  std::ranges::move(edge_parameters(shape, heads, cols), std::back_inserter(parameters));
  return parameters;
}

ConvTerms GatConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const LayerBlock& block = call.block;
  const std::size_t first = call.parameter;
  const Rows rows = tape.linear(call.source, block.num_src, first);
  const Rows weights = scored_attention(call, tape.head_scores(rows, block.num_src, first + 1),
                                        tape.head_scores(rows, block.num_dst, first + 2), first + 4,
                                        options_.one_loop);
  return {.neighbors = {tape.attend(rows, weights, block, options_.is_mean(call.shape))},
          .own = {},
          .biases = {first + 3}};
}

/// Rows of all heads, their scores, and the weights of edges and loops, each with its gradient.
std::uint64_t GatConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::uint64_t heads = options_.heads_of(shape);
  const std::uint64_t cols = times(options_.head_cols(shape), heads);
  const auto rows = times(counts.sources, times(plus(cols, 2 * heads), 2));
  const auto of_edges = shape.edge > 0 ? times(counts.edges, times(plus(cols, heads), 2)) : 0;
  return plus(plus(rows, of_edges),
              times(plus(counts.edges, counts.destinations), options_.weight_numbers(heads, 3)));
}

}  // namespace troupe::nn
