#include "runtime/nn/conv/gcn.hpp"

namespace troupe::nn {
namespace {

bool is_narrowing(const ConvShape& shape) {
  return shape.out < shape.source;
}

}  // namespace

std::vector<NewParameter> GcnConv::parameters(const ConvShape& shape) const {
  return {{.name = "lin.weight",
           .rows = shape.out,
           .cols = shape.source,
           .bound = glorot_bound(shape.out, shape.source)},
          {.name = "bias", .rows = shape.out}};
}

EdgeFactors GcnConv::factors(const ConvCall& call, const LayerBlock* below) const {
  return weighted_ ? call.tape.weighted_degree_factors(call.block, below)
                   : call.tape.degree_factors(call.block, below);
}

ConvTerms GcnConv::record(const ConvCall& call) const {
  const std::size_t weight = call.parameter;
  EdgeFactors of = factors(call, call.below);
  Rows rows = call.source;
  if (call.messages) {
    of.source = {};  // in the messages already
  } else if (is_narrowing(call.shape)) {
    rows = call.tape.linear(rows, call.block.num_src, weight);
  }
  ConvTerms terms{.neighbors = {}, .own = {}, .biases = {weight + 1}};
  if (is_narrowing(call.shape)) {
    terms.neighbors.push_back(call.tape.weighted_sum(rows, call.block, of));
  } else {
    terms.neighbors.push_back(call.tape.weighted_sum(rows, call.block, of, {weight}));
  }
  return terms;
}

std::uint64_t GcnConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  return is_narrowing(shape) ? times(counts.sources, 2 * shape.out)
                             : times(counts.destinations, 2 * shape.source);
}

std::optional<std::size_t> GcnConv::message_cols(const ConvShape& shape) const {
  return is_narrowing(shape) ? shape.out : shape.source;
}

Rows GcnConv::messages(const ConvCall& call) const {
  const auto own = factors(call, nullptr).destination;
  const Rows rows = is_narrowing(call.shape)
                        ? call.tape.linear(call.source, call.block.num_dst, call.parameter)
                        : call.source;
  return call.tape.combine({call.tape.scaled(rows, own)}, call.block.num_dst, {});
}

}  // namespace troupe::nn
