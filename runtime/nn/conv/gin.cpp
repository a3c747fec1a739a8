#include "runtime/nn/conv/gin.hpp"

namespace troupe::nn {

std::vector<NewParameter> GinConv::parameters(const ConvShape& shape) const {
  const std::size_t middle = hidden(shape);
  const float first = linear_bound(shape.source);
  const float second = linear_bound(middle);
  return {{.name = "nn.0.weight", .rows = middle, .cols = shape.source, .bound = first},
          {.name = "nn.0.bias", .rows = middle, .bound = first},
          {.name = "nn.2.weight", .rows = shape.out, .cols = middle, .bound = second},
          {.name = "nn.2.bias", .rows = shape.out, .bound = second}};
}

ConvTerms GinConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  const std::size_t first = call.parameter;
  const std::size_t rows = call.block.num_dst;
  const auto sum_of = [&](Rows of) -> std::vector<Term> {
    return {tape.aggregate(of, call.block, Aggregator::sum), tape.scaled(of, 1 + options_.eps)};
  };
  const Ending ending{.biases = {first + 1}, .relu = true};
  Rows middle;
  if (hidden(call.shape) < call.shape.source) {  // the product first, where rows get narrower
    middle =
        tape.combine(sum_of(tape.linear(call.source, call.block.num_src, first)), rows, ending);
  } else {
    const Rows sums = tape.combine(sum_of(call.source), rows, {});
    middle = tape.combine({tape.own(sums, {first})}, rows, ending);
  }
  return {.neighbors = {tape.own(middle, {first + 2})}, .own = {}, .biases = {first + 3}};
}

std::uint64_t GinConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const std::size_t middle = hidden(shape);
  const auto summed = middle < shape.source ? times(counts.sources, 2 * middle)
                                            : times(counts.destinations, 3 * shape.source);
  return plus(summed, times(counts.destinations, 3 * middle));
}

}  // namespace troupe::nn
