#include "runtime/nn/model.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/gcn.hpp"
#include "runtime/nn/graphsage.hpp"
#include "runtime/nn/typed_sage.hpp"

#include <fmt/format.h>

namespace troupe::nn {
namespace {

constexpr std::uint64_t widest_row = std::uint64_t{1} << 24;
constexpr std::uint32_t most_layers = 255;  // a layer's number is 8 bits of a stream's name

Status check_dim(const char* name, std::uint64_t value) {
  if (value < 1 || value > widest_row) {
    return Error(Errc::invalid_argument, fmt::format("model {}: expected 1 to {} columns, got {}",
                                                     name, widest_row, value));
  }
  return ok_status();
}

Status check_probability(const char* name, float value) {
  if (!(value >= 0.0F && value < 1.0F)) {
    return Error(Errc::invalid_argument,
                 fmt::format("model {}: expected a number in [0, 1), got {}", name, value));
  }
  return ok_status();
}

Status check_options(const ModelOptions& options) {
  if (options.kind != "graphsage" && options.kind != "gcn") {
    return Error(Errc::unimplemented,
                 fmt::format("model kind: expected graphsage or gcn, got \"{}\"", options.kind));
  }
  if (options.layers < 1 || options.layers > most_layers) {
    return Error(Errc::invalid_argument, fmt::format("model layers: expected 1 to {}, got {}",
                                                     most_layers, options.layers));
  }
  if (!options.typed()) {
    TROUPE_RETURN_IF_ERROR(check_dim("in_dim", options.in_dim));
  }
  TROUPE_RETURN_IF_ERROR(check_dim("out_dim", options.out_dim));
  if (options.layers > 1) {
    TROUPE_RETURN_IF_ERROR(check_dim("hidden", options.hidden));
  }
  TROUPE_RETURN_IF_ERROR(check_probability("dropout", options.dropout));
  return check_probability("input_dropout", options.input_dropout);
}

/// Names of all parameters, for which there are as many streams.
constexpr std::size_t most_slices = 65536;

Result<std::unique_ptr<Model>> make_typed(const ModelOptions& options) {
  if (options.kind != "graphsage") {
    return Error(Errc::unimplemented,
                 fmt::format("model kind: expected graphsage for a graph with several types, got "
                             "\"{}\"",
                             options.kind));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto layers, typed_layers(options.types, options.layers));
  for (const NodeTypeId type : layers.front().inputs) {
    const auto& of_type = options.types.nodes[raw(type)];
    const auto name = fmt::format("features of \"{}\"", of_type.name);
    TROUPE_RETURN_IF_ERROR(check_dim(name.c_str(), of_type.cols));
  }
  std::size_t slices = 0;
  for (const TypedLayer& layer : layers) {
    slices += 3 * layer.edges.size() + 2 * layer.outputs.size();
  }
  if (slices > most_slices) {
    return Error(Errc::invalid_argument,
                 fmt::format("model: expected at most {} parameters by name, got {}; try: fewer "
                             "layers or edge types",
                             most_slices, slices));
  }
  return std::unique_ptr<Model>(std::make_unique<TypedSage>(options, layers));
}

}  // namespace

std::size_t num_parameters(const ParameterLayout& layout) {
  return layout.empty() ? 0 : layout.back().offset + layout.back().size();
}

std::size_t Model::num_parameters() const {
  return nn::num_parameters(layout());
}

std::uint64_t Model::output_dim(std::uint32_t layer) const {
  TROUPE_ASSERT(layer < options().layers, "layer", layer, "of", options().layers);
  return layer + 1 == options().layers ? options().out_dim : options().hidden;
}

std::vector<InferStage> Model::infer_stages() const {
  std::vector<InferStage> stages;
  std::uint64_t in_cols = options().in_dim;
  for (std::uint32_t layer = 0; layer < options().layers; ++layer) {
    stages.push_back({.in_cols = in_cols, .out_cols = output_dim(layer)});
    in_cols = output_dim(layer);
  }
  return stages;
}

Matrix Model::infer_embeddings(Executor& executor, std::span<const float> parameters,
                               const LayerBlock& block, ConstMatrix input) const {
  TROUPE_ASSERT(options().layers > 1, "embeddings of", options().layers, "layers");
  return infer_layer(executor, parameters, options().layers - 2, block, input);
}

Result<std::unique_ptr<Model>> make_model(const ModelOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_options(options));
  if (options.typed()) {
    return make_typed(options);
  }
  if (options.kind == "gcn") {
    return std::unique_ptr<Model>(std::make_unique<Gcn>(options));
  }
  return std::unique_ptr<Model>(std::make_unique<GraphSage>(options));
}

}  // namespace troupe::nn
