#include "runtime/nn/conv/gat.hpp"

namespace troupe::nn {

std::vector<NewParameter> GatConv::parameters(const ConvShape& shape) const {
  const std::size_t heads = options_.heads;
  const std::size_t cols = options_.head_cols(shape);
  const auto all = heads * cols;
  return {{.name = "lin.weight",
           .rows = all,
           .cols = shape.source,
           .bound = glorot_bound(all, shape.source)},
          {.name = "att_src", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
          {.name = "att_dst", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
          {.name = "bias", .rows = shape.out}};
}

ConvTerms GatConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const LayerBlock& block = call.block;
  const std::size_t first = call.parameter;
  const Rows rows = tape.linear(call.source, block.num_src, first);
  const Rows weights = tape.attention(tape.head_scores(rows, block.num_src, first + 1),
                                      tape.head_scores(rows, block.num_dst, first + 2), block,
                                      {.slope = 0.2F, .one_loop = options_.one_loop});
  return {.neighbors = {tape.attend(rows, weights, block, options_.is_mean(call.shape))},
          .own = {},
          .biases = {first + 3}};
}

/// Rows of all heads, their scores, and the weights of edges and loops, each with its gradient.
std::uint64_t GatConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::uint64_t heads = options_.heads;
  const std::uint64_t cols = times(options_.head_cols(shape), heads);
  const auto rows = times(counts.sources, times(plus(cols, 2 * heads), 2));
  return plus(rows, times(plus(counts.edges, counts.destinations), 3 * heads));
}

}  // namespace troupe::nn
