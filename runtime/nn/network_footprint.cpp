// Memory of the blocks of exact inference.
#include "runtime/base/saturating.hpp"
#include "runtime/nn/network.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

/// Memory of a tape grows by a quarter more than was asked for.
constexpr std::uint64_t with_growth(std::uint64_t bytes) {
  return plus(bytes, bytes / 4);
}

constexpr std::uint64_t bytes_of(std::uint64_t numbers) {
  return times(numbers, sizeof(float));
}

/// Every array begins at a multiple of 256 bytes.
constexpr std::uint64_t array_bytes = 256;
constexpr std::uint64_t arrays_of_edge_type = 24;

/// Sums with their biases, what a norm keeps, and the result: of a row, in columns of the widest of them.
constexpr std::uint64_t rows_of_destination = 6;
/// Factors of a graph convolution, length and statistics of a norm.
constexpr std::uint64_t numbers_of_row = 8;

}  // namespace

std::uint64_t Network::pass_bytes(const Edge& edge, const BlockCounts& counts) const {
  return bytes_of(conv_->pass_numbers(edge.shape, counts));
}

InferFootprint Network::infer_footprint(std::uint32_t stage, NodeTypeId type,
                                        std::size_t product_rows) const {
  const auto stages = infer_stages();
  const InferStage& of = stages.at(stage);
  const auto output = std::ranges::find(of.outputs, type, &InferStage::Output::type);
  std::uint64_t out = std::max(output->cols, options_.hidden);
  std::uint64_t in = out;
  InferFootprint footprint{.rows = {}, .edges = {}};
  for (const auto cols : of.in_cols) {
    in = std::max(in, cols);
    footprint.rows.push_back(cols == 0 ? 0 : bytes_of(plus(cols, numbers_of_row)));
  }
  footprint.edges.resize(options_.types.edges.size());
  if (stage >= first_layer_stage()) {
    const Layer& layer = layers_[stage - first_layer_stage()];
    out = std::max<std::uint64_t>(out, layer.out);
    for (const std::size_t e : node_of(layer, type).edges) {
      const Edge& edge = layer.edges[e];
      auto& of_source = footprint.rows[edge.source];
      of_source = plus(of_source, pass_bytes(edge, {.sources = 1}));
      footprint.destinations = plus(footprint.destinations, pass_bytes(edge, {.destinations = 1}));
      // Rows that are summed before they are added to those of other types.
      footprint.destinations = plus(footprint.destinations, bytes_of(out));
      footprint.edges[edge.type] = plus(pass_bytes(edge, {.edges = 1}), bytes_of(edge.shape.edge));
    }
  }
  for (const auto e : output->edges) {  // lists, with an offset of each destination
    const auto entry = sizeof(std::uint32_t) + (options_.edge_weights ? sizeof(float) : 0);
    footprint.edges[raw(e)] = plus(footprint.edges[raw(e)], entry);
    footprint.destinations = plus(footprint.destinations, sizeof(std::uint32_t));
  }
  footprint.destinations =
      plus(footprint.destinations, bytes_of(plus(times(rows_of_destination, out), numbers_of_row)));
  for (auto& bytes : footprint.rows) {
    bytes = with_growth(bytes);
  }
  for (auto& bytes : footprint.edges) {
    bytes = with_growth(bytes);
  }
  footprint.destinations = with_growth(footprint.destinations);
  // The padded last piece of a product, before it and after it with all heads; the parameters, with sums of
  // some, and mixtures.
  const std::uint64_t heads = std::max({options_.heads, options_.out_heads, std::uint32_t{1}});
  footprint.fixed = plus(bytes_of(times(plus(in, times(out, heads)), product_rows)),
                         with_growth(bytes_of(times(2, num_parameters()))));
  if (options_.bases > 0) {
    footprint.fixed =
        plus(footprint.fixed, with_growth(bytes_of(times(output->edges.size(), times(in, out)))));
  }
  footprint.fixed = plus(footprint.fixed,
                         times(plus(output->edges.size(), 1), arrays_of_edge_type * array_bytes));
  return footprint;
}

}  // namespace troupe::nn
