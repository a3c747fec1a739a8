#include "runtime/nn/conv/gatv2.hpp"

#include <array>
#include <optional>

namespace troupe::nn {

std::vector<NewParameter> Gatv2Conv::parameters(const ConvShape& shape) const {
  const std::size_t heads = options_.heads_of(shape);
  const std::size_t cols = options_.head_cols(shape);
  const std::size_t all = heads * cols;
  std::vector<NewParameter> parameters{{.name = "lin_l.weight",
                                        .rows = all,
                                        .cols = shape.source,
                                        .bound = glorot_bound(all, shape.source)},
                                       {.name = "lin_l.bias", .rows = all}};
  if (!shared_) {
    parameters.push_back({.name = "lin_r.weight",
                          .rows = all,
                          .cols = shape.destination,
                          .bound = glorot_bound(all, shape.destination)});
    parameters.push_back({.name = "lin_r.bias", .rows = all});
  }
  parameters.push_back(
      {.name = "att", .rows = heads, .cols = cols, .bound = glorot_bound(heads, cols)});
  parameters.push_back({.name = "bias", .rows = shape.out});
  if (shape.edge > 0) {
    parameters.push_back({.name = "lin_edge.weight",
                          .rows = all,
                          .cols = shape.edge,
                          .bound = glorot_bound(all, shape.edge)});
  }
  return parameters;
}

ConvTerms Gatv2Conv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const LayerBlock& block = call.block;
  const auto linear = [&](Rows of, std::size_t rows, std::size_t weight) {
    Ending ending;
    ending.biases = {weight + 1};
    return tape.combine({tape.own(of, {weight})}, rows, ending);
  };
  const std::size_t left = call.parameter;
  const std::size_t attention = left + (shared_ ? 2 : 4);
  const Rows source = linear(call.source, block.num_src, left);
  const Rows destination =
      shared_ ? source : linear(call.destination.value_or(call.source), block.num_dst, left + 2);
  std::optional<Rows> edges;
  if (call.edge_features) {
    edges = tape.linear(*call.edge_features, tape.value(*call.edge_features).rows, attention + 2);
  }
  const std::array pairs{Tape::Pair{.source = source,
                                    .destination = destination,
                                    .vectors = attention,
                                    .block = &block,
                                    .one_loop = options_.one_loop,
                                    .edges = edges}};
  const Rows weights = dropped_weights(call, tape.pair_attention(pairs).front());
  return {.neighbors = {tape.attend(source, weights, block, options_.is_mean(call.shape))},
          .own = {},
          .biases = {attention + 1}};
}

/// Rows of all heads of both ends, and the weights of edges and loops, each with its gradient.
std::uint64_t Gatv2Conv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::uint64_t heads = options_.heads_of(shape);
  const std::uint64_t cols = times(options_.head_cols(shape), heads);
  const auto rows = times(plus(counts.sources, times(counts.destinations, 2)), times(cols, 2));
  const auto of_edges = shape.edge > 0 ? times(counts.edges, times(cols, 2)) : 0;
  return plus(plus(rows, of_edges),
              times(plus(counts.edges, counts.destinations), options_.weight_numbers(heads, 2)));
}

}  // namespace troupe::nn
