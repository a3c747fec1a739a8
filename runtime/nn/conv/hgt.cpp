#include "runtime/nn/conv/hgt.hpp"

#include "runtime/base/assert.hpp"

#include <cmath>

namespace troupe::nn {
namespace {

Rows product_and_bias(Tape& tape, Rows rows, std::size_t count, std::size_t weight) {
  Ending ending;
  ending.biases = {weight + 1};
  return tape.combine({tape.own(rows, {weight})}, count, ending);
}

void add_linear(const std::string& name, std::size_t rows, std::size_t cols,
                std::vector<NewParameter>& parameters) {
  const float bound = linear_bound(cols);
  parameters.push_back({.name = name + ".weight", .rows = rows, .cols = cols, .bound = bound});
  parameters.push_back({.name = name + ".bias", .rows = rows, .bound = bound});
}

}  // namespace

std::vector<NewParameter> HgtConv::source_parameters(const ConvShape& shape) const {
  std::vector<NewParameter> parameters;
  add_linear("k_lin", options_.width, shape.source, parameters);
  add_linear("v_lin", options_.width, shape.source, parameters);
  return parameters;
}

std::vector<NewParameter> HgtConv::parameters(const ConvShape& /*shape*/) const {
  const std::size_t cols = head_cols();
  const float bound = glorot_bound(cols, cols);
  return {{.name = "k_rel", .rows = options_.width, .cols = cols, .bound = bound},
          {.name = "v_rel", .rows = options_.width, .cols = cols, .bound = bound},
          {.name = "p_rel", .rows = options_.heads, .value = 1}};
}

std::vector<NewParameter> HgtConv::node_parameters(const ConvShape& shape) const {
  std::vector<NewParameter> parameters;
  add_linear("q_lin", options_.width, shape.destination, parameters);
  add_linear("out_lin", shape.out, options_.width, parameters);
  if (shape.out == shape.destination) {
    parameters.push_back({.name = "skip", .rows = 1, .value = 1});
  }
  return parameters;
}

std::vector<Rows> HgtConv::record_source(Tape& tape, Rows rows, std::size_t parameter) const {
  const std::size_t count = tape.value(rows).rows;
  return {product_and_bias(tape, rows, count, parameter),
          product_and_bias(tape, rows, count, parameter + 2)};
}

ConvTerms HgtConv::record_joint(const JointCall& call) const {
  Tape& tape = call.tape;
  const std::size_t rows = call.edges.front().block.num_dst;
  const Rows query = product_and_bias(tape, call.own, rows, call.parameter);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_cols()));
  std::vector<Tape::Pair> pairs;
  std::vector<Rows> messages;
  for (const ConvCall& edge : call.edges) {
    const std::size_t sources = edge.block.num_src;
    pairs.push_back({.source = tape.head_products(edge.prepared[0], sources, edge.parameter),
                     .destination = query,
                     .vectors = edge.parameter + 2,
                     .block = &edge.block,
                     .score = PairScore::product,
                     .scale = scale});
    messages.push_back(tape.head_products(edge.prepared[1], sources, edge.parameter + 1));
  }
  const auto weights = tape.pair_attention(pairs);
  std::vector<Term> terms;
  for (std::size_t e = 0; e < messages.size(); ++e) {
    terms.push_back(tape.attend(messages[e], weights[e], call.edges[e].block, false));
  }
  Ending ending;
  ending.activation = Activation::gelu;
  const Rows summed = tape.combine(std::move(terms), rows, ending);
  Rows out = product_and_bias(tape, summed, rows, call.parameter + 2);
  if (call.shape.out == call.shape.destination) {
    out = tape.gate(out, call.own, call.parameter + 4);
  }
  return {.neighbors = {tape.own(out)}, .own = {}, .biases = {}};
}

ConvTerms HgtConv::record(const ConvCall& /*call*/) const {
  TROUPE_ASSERT(false, "a convolution that records all edge types of a node type together");
  return {};
}

/// Keys and values of sources before and after their products, rows of destinations, and the weights of
/// edges, each with its gradient.
std::uint64_t HgtConv::pass_numbers(const ConvShape& shape, const BlockCounts& counts) const {
  const auto sources = times(counts.sources, 8 * options_.width);
  const auto destinations = times(counts.destinations, plus(8 * options_.width, 4 * shape.out));
  return plus(plus(sources, destinations), times(counts.edges, 2 * std::uint64_t{options_.heads}));
}

}  // namespace troupe::nn
