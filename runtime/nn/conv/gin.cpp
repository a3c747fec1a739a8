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
  return parameters;
}

ConvTerms GinConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const std::size_t first = call.parameter;
  const std::size_t rows = call.block.num_dst;
  const auto sum_of = [&](Rows of, Rows own) -> std::vector<Term> {
    return {
        options_.weighted ? tape.weighted_aggregate(of, call.block, Aggregator::sum)
                          : tape.aggregate(of, call.block, Aggregator::sum),
        options_.trained ? tape.scaled_by(own, 1, first + 4) : tape.scaled(own, 1 + options_.eps)};
  };
  const Ending ending{.biases = {first + 1}, .relu = true};
  Rows middle;
  if (source_use(call.shape).product) {
    const Rows narrow =
        call.multiplied ? call.source : tape.linear(call.source, call.block.num_src, first);
    const Rows own = call.own ? tape.linear(*call.own, rows, first) : narrow;
    middle = tape.combine(sum_of(narrow, own), rows, ending);
  } else {
    const Rows sums = tape.combine(sum_of(call.source, call.own.value_or(call.source)), rows, {});
    middle = tape.combine({tape.own(sums, {first})}, rows, ending);
  }
  return {.neighbors = {tape.own(middle, {first + 2})}, .own = {}, .biases = {first + 3}};
}

/// The product comes first where rows get narrower.
SourceUse GinConv::source_use(const ConvShape& shape) const {
  SourceUse use{.in_place = !options_.weighted};
  if (hidden(shape) < shape.source) {
    use.product = 0;
  }
  return use;
}

std::uint64_t GinConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::size_t middle = hidden(shape);
  const auto summed = middle < shape.source ? times(counts.sources, 2 * middle)
                                            : times(counts.destinations, 3 * shape.source);
  return plus(summed, times(counts.destinations, 3 * middle));
}

}  // namespace troupe::nn
