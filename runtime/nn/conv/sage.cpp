#include "runtime/nn/conv/sage.hpp"

#include <utility>

namespace troupe::nn {
namespace {

/// Whether the product comes first: where rows get narrower and the aggregation is linear.
bool is_narrowing(const ConvShape& shape, Aggregator aggregator) {
  return shape.out < shape.source && aggregator != Aggregator::max;
}

}  // namespace

std::vector<NewParameter> SageConv::parameters(const ConvShape& shape) const {
  const float bound = linear_bound(shape.source);
  std::vector<NewParameter> parameters{
      {.name = "lin_l.weight", .rows = shape.out, .cols = shape.source, .bound = bound},
      {.name = "lin_l.bias", .rows = shape.out, .bound = bound},
      {.name = "lin_r.weight",
       .rows = shape.out,
       .cols = shape.destination,
       .bound = linear_bound(shape.destination)}};
  if (shape.edge > 0) {
    parameters.push_back({.name = "lin_edge.weight",
                          .rows = shape.out,
                          .cols = shape.edge,
                          .bound = linear_bound(shape.edge)});
  }
  return parameters;
}

Term SageConv::neighbors(const ConvCall& call, const LayerBlock& block, Rows rows,
                         std::vector<std::size_t> weights) const {
  return weighted_ ? call.tape.weighted_aggregate(rows, block, aggregator_, std::move(weights))
                   : call.tape.aggregate(rows, block, aggregator_, std::move(weights));
}

ConvTerms SageConv::record(const ConvCall& call) const {
  const std::size_t left = call.parameter;
  ConvTerms terms{.neighbors = {}, .own = {left + 2}, .biases = {left + 1}};
  if (is_narrowing(call.shape, aggregator_)) {
    const Rows narrow =
        call.multiplied ? call.source : call.tape.linear(call.source, call.block.num_src, left);
    terms.neighbors.push_back(neighbors(call, call.block, narrow, {}));
  } else {
    terms.neighbors.push_back(neighbors(call, call.block, call.source, {left}));
  }
  if (call.edge_features) {
    const LayerBlock& block = call.tape.block_from_edges(call.block);
    terms.neighbors.push_back(neighbors(call, block, *call.edge_features, {left + 3}));
  }
  return terms;
}

SourceUse SageConv::source_use(const ConvShape& shape) const {
  if (shape.edge > 0) {
    return {};
  }
  SourceUse use{.in_place = !weighted_};  // lists that are read in place come without weights
  if (is_narrowing(shape, aggregator_)) {
    use.product = 0;
  }
  return use;
}

std::uint64_t SageConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::uint64_t places = aggregator_ == Aggregator::max ? 1 : 0;
  const auto of_edges =
      shape.edge > 0 ? plus(counts.edges, times(counts.destinations, (2 + places) * shape.edge))
                     : 0;
  if (is_narrowing(shape, aggregator_)) {
    return plus(of_edges, times(counts.sources, 2 * shape.out));
  }
  return plus(of_edges, times(counts.destinations, (2 + places) * shape.source));
}

}  // namespace troupe::nn
