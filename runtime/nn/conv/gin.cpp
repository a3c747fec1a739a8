#include "runtime/nn/conv/gin.hpp"

namespace troupe::nn {

std::vector<NewParameter> GinConv::parameters(const ConvShape& shape) const {
  const std::size_t middle = hidden(shape);
  const float first = linear_bound(shape.source);
  const float second = linear_bound(middle);
  std::vector<NewParameter> parameters{
      {.name = "nn.0.weight", .rows = middle, .cols = shape.source, .bound = first},
      {.name = "nn.0.bias", .rows = middle, .bound = first},
      {.name = "nn.2.weight", .rows = shape.out, .cols = middle, .bound = second},
      {.name = "nn.2.bias", .rows = shape.out, .bound = second}};
  if (options_.trained) {
    parameters.push_back({.name = "eps", .rows = 1, .value = options_.eps});
  }
  if (shape.edge > 0) {
    const float bound = linear_bound(shape.edge);
    parameters.push_back(
        {.name = "lin_edge.weight", .rows = shape.source, .cols = shape.edge, .bound = bound});
    parameters.push_back({.name = "lin_edge.bias", .rows = shape.source, .bound = bound});
  }
  return parameters;
}

std::vector<Term> GinConv::sums(const ConvCall& call, const LayerBlock& block, Rows neighbors,
                                Rows own) const {
  Tape& tape = call.tape;
  return {options_.weighted ? tape.weighted_aggregate(neighbors, block, Aggregator::sum)
                            : tape.aggregate(neighbors, block, Aggregator::sum),
          options_.trained ? tape.scaled_by(own, 1, call.parameter + 4)
                           : tape.scaled(own, 1 + options_.eps)};
}

Rows GinConv::messages_of_edges(const ConvCall& call) const {
  Tape& tape = call.tape;
  const std::size_t weight = lin_edge(call);
  const LayerBlock& to_edges = tape.block_to_edges(call.block);
  return tape.combine({tape.aggregate(call.source, to_edges, Aggregator::sum),
                       tape.own(*call.edge_features, {weight})},
                      to_edges.num_dst, {.biases = {weight + 1}, .relu = true});
}

ConvTerms GinConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const std::size_t first = call.parameter;
  const std::size_t rows = call.block.num_dst;
  const Ending ending{.biases = {first + 1}, .relu = true};
  Rows middle;
  if (source_use(call.shape).product) {
    const Rows narrow =
        call.multiplied ? call.source : tape.linear(call.source, call.block.num_src, first);
    const Rows own = call.own ? tape.linear(*call.own, rows, first) : narrow;
    middle = tape.combine(sums(call, call.block, narrow, own), rows, ending);
  } else {
    Rows neighbors = call.source;
    const LayerBlock* block = &call.block;
    if (call.edge_features) {
      neighbors = messages_of_edges(call);
      block = &tape.block_from_edges(call.block);
    }
    const Rows own = call.own.value_or(call.source);
    const Rows summed = tape.combine(sums(call, *block, neighbors, own), rows, {});
    middle = tape.combine({tape.own(summed, {first})}, rows, ending);
  }
  return {.neighbors = {tape.own(middle, {first + 2})}, .own = {}, .biases = {first + 3}};
}

/// The product comes first where rows get narrower.
SourceUse GinConv::source_use(const ConvShape& shape) const {
  if (shape.edge > 0) {
    return {};
  }
  SourceUse use{.in_place = !options_.weighted};
  if (hidden(shape) < shape.source) {
    use.product = 0;
  }
  return use;
}

std::uint64_t GinConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::size_t middle = hidden(shape);
  const auto summed = source_use(shape).product ? times(counts.sources, 2 * middle)
                                                : times(counts.destinations, 3 * shape.source);
  // Messages with their gradients, and two blocks of edges with their lists by source.
  const auto of_edges = shape.edge > 0 ? times(counts.edges, 2 * shape.source + 8) : 0;
  return plus(plus(summed, of_edges), times(counts.destinations, 3 * middle));
}

}  // namespace troupe::nn
