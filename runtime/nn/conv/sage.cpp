#include "runtime/nn/conv/sage.hpp"

#include <cmath>

namespace troupe::nn {
namespace {

float sage_bound(std::size_t in) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(in)));
}

}  // namespace

std::vector<NewParameter> SageConv::parameters(const ConvShape& shape) const {
  const float bound = sage_bound(shape.source);
  return {{.name = "lin_l.weight", .rows = shape.out, .cols = shape.source, .bound = bound},
          {.name = "lin_l.bias", .rows = shape.out, .bound = bound},
          {.name = "lin_r.weight",
           .rows = shape.out,
           .cols = shape.destination,
           .bound = sage_bound(shape.destination)}};
}

ConvTerms SageConv::record(const ConvCall& call) const {
  const std::size_t left = call.parameter;
  ConvTerms terms{.neighbors = {}, .own = {left + 2}, .biases = {left + 1}};
  // The product first where rows get narrower and the aggregation is linear.
  if (call.shape.out < call.shape.source && aggregator_ != Aggregator::max) {
    const Rows narrow = call.tape.linear(call.source, call.block.num_src, left);
    terms.neighbors.push_back(call.tape.aggregate(narrow, call.block, aggregator_));
  } else {
    terms.neighbors.push_back(call.tape.aggregate(call.source, call.block, aggregator_, {left}));
  }
  return terms;
}

}  // namespace troupe::nn
