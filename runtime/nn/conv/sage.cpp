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
  return {{.name = "lin_l.weight", .rows = shape.out, .cols = shape.source, .bound = bound},
          {.name = "lin_l.bias", .rows = shape.out, .bound = bound},
          {.name = "lin_r.weight",
           .rows = shape.out,
           .cols = shape.destination,
           .bound = linear_bound(shape.destination)}};
}

Term SageConv::neighbors(const ConvCall& call, Rows rows, std::vector<std::size_t> weights) const {
  return weighted_ ? call.tape.weighted_aggregate(rows, call.block, aggregator_, std::move(weights))
                   : call.tape.aggregate(rows, call.block, aggregator_, std::move(weights));
}

ConvTerms SageConv::record(const ConvCall& call) const {
  const std::size_t left = call.parameter;
  ConvTerms terms{.neighbors = {}, .own = {left + 2}, .biases = {left + 1}};
  if (is_narrowing(call.shape, aggregator_)) {
    const Rows narrow =
        call.multiplied ? call.source : call.tape.linear(call.source, call.block.num_src, left);
    terms.neighbors.push_back(neighbors(call, narrow, {}));
  } else {
    terms.neighbors.push_back(neighbors(call, call.source, {left}));
  }
  return terms;
}

SourceUse SageConv::source_use(const ConvShape& shape) const {
  SourceUse use{.in_place = !weighted_};  // lists that are read in place come without weights
  if (is_narrowing(shape, aggregator_)) {
    use.product = 0;
  }
  return use;
}

std::uint64_t SageConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  if (is_narrowing(shape, aggregator_)) {
    return times(counts.sources, 2 * shape.out);
  }
  const std::uint64_t places = aggregator_ == Aggregator::max ? 1 : 0;
  return times(counts.destinations, (2 + places) * shape.source);
}

}  // namespace troupe::nn
