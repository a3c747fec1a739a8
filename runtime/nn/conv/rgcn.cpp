#include "runtime/nn/conv/rgcn.hpp"

namespace troupe::nn {

std::vector<NewParameter> RgcnConv::parameters(const ConvShape& shape) const {
  if (bases_ > 0) {
    return {{.name = "comp", .rows = bases_, .bound = glorot_bound(1, bases_)}};
  }
  return {{.name = "weight",
           .rows = shape.out,
           .cols = shape.source,
           .bound = glorot_bound(shape.out, shape.source)}};
}

std::vector<NewParameter> RgcnConv::shared_parameters(std::span<const ConvShape> shapes) const {
  if (bases_ == 0) {
    return {};
  }
  const ConvShape& shape = shapes.front();
  return {{.name = "bases",
           .rows = bases_ * shape.out,
           .cols = shape.source,
           .bound = glorot_bound(shape.out, shape.source)}};
}

std::vector<NewParameter> RgcnConv::node_parameters(const ConvShape& shape) const {
  return {{.name = "root",
           .rows = shape.out,
           .cols = shape.destination,
           .bound = glorot_bound(shape.out, shape.destination)},
          {.name = "bias", .rows = shape.out}};
}

ConvTerms RgcnConv::node_terms(std::size_t parameter) const {
  return {.neighbors = {}, .own = {parameter}, .biases = {parameter + 1}};
}

ConvTerms RgcnConv::record(const ConvCall& call) const {
  Tape& tape = call.tape;
  ConvTerms terms;
  if (is_narrowing(call.shape)) {
    terms.neighbors.push_back(
        call.multiplied
            ? tape.aggregate(call.source, call.block, Aggregator::mean)
            : tape.aggregate_products(call.source, call.block, Aggregator::mean, call.parameter));
  } else {
    const std::size_t weight = bases_ > 0 ? tape.mix(call.shared, call.parameter) : call.parameter;
    terms.neighbors.push_back(tape.aggregate(call.source, call.block, Aggregator::mean, {weight}));
  }
  return terms;
}

std::uint64_t RgcnConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  return is_narrowing(shape) ? times(counts.sources, 2 * shape.out)
                             : times(counts.destinations, 2 * shape.source);
}

SourceUse RgcnConv::source_use(const ConvShape& shape) const {
  SourceUse use{.in_place = true};
  if (is_narrowing(shape)) {
    use.product = 0;
  }
  return use;
}

}  // namespace troupe::nn
