#include "runtime/nn/conv/rgat.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::nn {

std::vector<NewParameter> RgatConv::parameters(const ConvShape& shape) const {
  const std::size_t heads = options_.heads_of(shape);
  const std::size_t cols = options_.head_cols(shape);
  const std::size_t all = heads * cols;
  std::vector<NewParameter> parameters{
      {.name = "lin_src.weight",
       .rows = all,
       .cols = shape.source,
       .bound = glorot_bound(all, shape.source)},
      {.name = "lin_dst.weight",
       .rows = all,
       .cols = shape.destination,
       .bound = glorot_bound(all, shape.destination)},
      {.name = "att_src", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
      {.name = "att_dst", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)},
      {.name = "bias", .rows = shape.out}};
  std::ranges::move(edge_parameters(shape, heads, cols), std::back_inserter(parameters));
  return parameters;
}

ConvTerms RgatConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const LayerBlock& block = call.block;
  const std::size_t first = call.parameter;
  const Rows source = tape.linear(call.source, block.num_src, first);
  const Rows destination =
      tape.linear(call.destination.value_or(call.source), block.num_dst, first + 1);
  const Rows weights =
      scored_attention(call, tape.head_scores(source, block.num_src, first + 2),
                       tape.head_scores(destination, block.num_dst, first + 3), first + 5, false);
  return {.neighbors = {tape.attend(source, weights, block, options_.is_mean(call.shape))},
          .own = {},
          .biases = {first + 4}};
}

/// Rows of all heads of both ends, their scores, and the weights of edges, each with its gradient.
std::uint64_t RgatConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::uint64_t heads = options_.heads_of(shape);
  const std::uint64_t cols = times(options_.head_cols(shape), heads);
  const auto ends = plus(counts.sources, counts.destinations);
  return plus(times(ends, times(plus(cols, heads), 2)),
              times(counts.edges, plus(options_.weight_numbers(heads, 2),
                                       shape.edge > 0 ? times(plus(cols, heads), 2) : 0)));
}

}  // namespace troupe::nn
