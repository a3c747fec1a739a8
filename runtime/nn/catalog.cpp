#include "runtime/nn/catalog.hpp"

#include "runtime/nn/conv/gat.hpp"
#include "runtime/nn/conv/gatv2.hpp"
#include "runtime/nn/conv/gcn.hpp"
#include "runtime/nn/conv/gin.hpp"
#include "runtime/nn/conv/hgt.hpp"
#include "runtime/nn/conv/rgat.hpp"
#include "runtime/nn/conv/rgcn.hpp"
#include "runtime/nn/conv/sage.hpp"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace troupe::nn {
namespace {

constexpr std::array<std::string_view, 4> sage_options = {"aggregator", "edge_features",
                                                          "edge_weights", "residual"};
constexpr std::array<std::string_view, 1> gcn_options = {"edge_weights"};
constexpr std::array<std::string_view, 7> gat_options = {
    "heads", "out_heads", "concat", "loops", "edge_features", "residual", "attention_dropout"};
constexpr std::array<std::string_view, 8> gatv2_options = {
    "heads",         "out_heads",     "concat",   "loops",
    "edge_features", "share_weights", "residual", "attention_dropout"};
constexpr std::array<std::string_view, 6> rgat_options = {
    "heads", "out_heads", "concat", "edge_features", "residual", "attention_dropout"};
constexpr std::array<std::string_view, 1> hgt_options = {"heads"};
constexpr std::array<std::string_view, 2> rgcn_options = {"bases", "residual"};
constexpr std::array<std::string_view, 4> gin_options = {"train_eps", "edge_features",
                                                         "edge_weights", "residual"};

GatOptions gat(const ModelOptions& options) {
  return {.heads = options.heads,
          .one_loop = options.loops,
          .concat = options.concat,
          .out_heads = options.out_heads,
          .drops = options.attention_dropout > 0};
}

constexpr std::array kinds = {
    ModelKind{.name = "graphsage",
              .help = "GraphSAGE (Hamilton et al., 2017), with one aggregator for all layers",
              .heterogeneous = true,
              .options = sage_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<SageConv>(options.aggregator, options.edge_weights);
              }},
    ModelKind{.name = "gcn",
              .help = "graph convolutional network (Kipf and Welling, 2017), symmetric norm",
              .options = gcn_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<GcnConv>(options.edge_weights);
              }},
    ModelKind{.name = "gat",
              .help = "graph attention network (Veličković et al., 2018)",
              .options = gat_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<GatConv>(gat(options));
              }},
    ModelKind{.name = "gatv2",
              .help = "graph attention with dynamic scores (Brody et al., 2022)",
              .heterogeneous = true,
              .options = gatv2_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<Gatv2Conv>(gat(options), options.share_weights);
              }},
    ModelKind{
        .name = "gin",
        .help = "graph isomorphism network (Xu et al., 2019), with a perceptron of two layers",
        .options = gin_options,
        .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
          return std::make_unique<GinConv>(
              GinOptions{.trained = options.train_eps, .weighted = options.edge_weights});
        }},
    ModelKind{.name = "rgcn",
              .help = "relational graph convolutional network (Schlichtkrull et al., 2018)",
              .heterogeneous = true,
              .options = rgcn_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<RgcnConv>(options.bases);
              }},
    ModelKind{
        .name = "rgat",
        .help = "graph attention along each edge type, and their sum (Busbridge et al., 2019)",
        .heterogeneous = true,
        .options = rgat_options,
        .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
          return std::make_unique<RgatConv>(gat(options));
        }},
    ModelKind{.name = "hgt",
              .help = "heterogeneous graph transformer (Hu et al., 2020)",
              .heterogeneous = true,
              .options = hgt_options,
              .make = [](const ModelOptions& options) -> std::unique_ptr<const Conv> {
                return std::make_unique<HgtConv>(
                    HgtOptions{.heads = options.heads, .width = options.hidden});
              }},
};

constexpr std::uint64_t widest_row = std::uint64_t{1} << 24;
constexpr std::uint32_t most_layers = 255;  // a layer's number is 8 bits of a stream's name
/// Parameters by name, for which there are as many streams.
constexpr std::size_t most_slices = 65536;

Status check_dim(std::string_view name, std::uint64_t value) {
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
  const std::uint32_t fewest = options.relations.rows > 0 || !options.decoder.kind.empty() ? 0 : 1;
  if (options.layers < fewest || options.layers > most_layers) {
    return Error(Errc::invalid_argument, fmt::format("model layers: expected {} to {}, got {}",
                                                     fewest, most_layers, options.layers));
  }
  if (options.types.nodes.empty()) {
    TROUPE_RETURN_IF_ERROR(check_dim("in_dim", options.in_dim));
  }
  TROUPE_RETURN_IF_ERROR(check_dim("out_dim", options.out_dim));
  if (options.layers > 1 || options.linear_input) {
    TROUPE_RETURN_IF_ERROR(check_dim("hidden", options.hidden));
  }
  TROUPE_RETURN_IF_ERROR(check_probability("dropout", options.dropout));
  TROUPE_RETURN_IF_ERROR(check_probability("attention_dropout", options.attention_dropout));
  const bool always = options.kind == "hgt";  // its last layer has heads of `hidden` columns, too
  if (always) {
    TROUPE_RETURN_IF_ERROR(check_dim("hidden", options.hidden));
  }
  const bool divided = options.concat && (options.layers > 1 || always);
  if (options.heads < 1 || (divided && options.hidden % options.heads != 0)) {
    return Error(Errc::invalid_argument,
                 fmt::format("model heads: expected a divisor of hidden, {} columns, got {}",
                             options.hidden, options.heads));
  }
  return check_probability("input_dropout", options.input_dropout);
}

ModelTypes one_type(std::uint64_t cols) {
  return {.nodes = {{"node", cols}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}}};
}

/// Matrices of all edge types are mixed from the same ones, so they have one shape.
Status check_bases(const ModelOptions& options, const LayerTypes& first) {
  if (options.bases == 0 || options.linear_input) {
    return ok_status();
  }
  const auto& types = options.types;
  const auto source = [&](EdgeTypeId edge) -> const ModelTypes::Node& {
    return types.nodes[raw(types.edges[raw(edge)].source)];
  };
  const auto& one = source(first.edges.front());
  for (const EdgeTypeId edge : first.edges) {
    if (source(edge).cols != one.cols) {
      return Error(Errc::invalid_argument,
                   fmt::format("model bases: expected features of equally many columns, got {} of "
                               "\"{}\" and {} of \"{}\"",
                               one.cols, one.name, source(edge).cols, source(edge).name));
    }
  }
  return ok_status();
}

Status check_decoder(const DecoderOptions& decoder) {
  if (decoder.kind.empty()) {
    return ok_status();
  }
  const auto* kind = find_kind(decoder_kinds(), decoder.kind);
  if (kind == nullptr || (!kind->many && decoder.outputs != 1)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("decoder: expected one of {}, with one output for \"dot\", got \"{}\" "
                    "with {}",
                    fmt::join(names_of(decoder_kinds()), ", "), decoder.kind, decoder.outputs));
  }
  TROUPE_RETURN_IF_ERROR(check_dim("decoder hidden", decoder.hidden));
  return check_dim("decoder outputs", decoder.outputs);
}

/// Without layers the rows of the ends are read as they are.
Result<std::unique_ptr<Network>> network_without_layers(const ModelOptions& options,
                                                        const ModelKind& kind) {
  if (options.relations.rows > 0) {
    TROUPE_RETURN_IF_ERROR(check_dim("relations", options.relations.cols));
  }
  TROUPE_RETURN_IF_ERROR(check_decoder(options.decoder));
  for (const NodeTypeId type : options.types.outputs()) {
    const auto& of_type = options.types.nodes[raw(type)];
    if (of_type.cols != options.out_dim) {
      return Error(
          Errc::invalid_argument,
          fmt::format("model without layers: expected rows of \"{}\" in {} columns, got {}",
                      of_type.name, options.out_dim, of_type.cols));
    }
  }
  return std::make_unique<Network>(options, std::vector<LayerTypes>(), kind.make(options));
}

Status check_slices(const Network& network) {
  if (network.layout().size() > most_slices) {
    return Error(Errc::invalid_argument,
                 fmt::format("model: expected at most {} parameters by name, got {}; try: fewer "
                             "layers or edge types",
                             most_slices, network.layout().size()));
  }
  return ok_status();
}

Error not_built(std::string_view name) {
  std::vector<std::string_view> built;
  for (const auto& kind : kinds) {
    if (kind.make != nullptr) {
      built.push_back(kind.name);
    }
  }
  return {Errc::unimplemented,
          fmt::format("model kind: expected {}, got \"{}\"", fmt::join(built, " or "), name)};
}

}  // namespace

std::span<const ModelKind> model_kinds() {
  return kinds;
}

const ModelKind* find_model_kind(std::string_view name) {
  return find_kind(kinds, name);
}

Result<std::unique_ptr<Network>> make_network(const ModelOptions& options) {
  const auto* kind = find_model_kind(options.kind);
  if (kind == nullptr) {
    return not_built(options.kind);
  }
  return make_network(options, *kind);
}

Result<std::unique_ptr<Network>> make_network(const ModelOptions& options, const ModelKind& kind) {
  if (kind.make == nullptr) {
    return not_built(kind.name);
  }
  TROUPE_RETURN_IF_ERROR(check_options(options));
  ModelOptions complete = options;
  if (complete.types.nodes.empty()) {
    complete.types = one_type(options.in_dim);
  }
  if (complete.layers == 0) {
    return network_without_layers(complete, kind);
  }
  const auto& types = complete.types;
  if (types.heterogeneous() && !kind.heterogeneous) {
    return Error(Errc::unimplemented,
                 fmt::format("model kind: expected one for a graph of {} node types and {} edge "
                             "types, got \"{}\"",
                             types.nodes.size(), types.edges.size(), kind.name));
  }
  if (options.edge_weights &&
      (!reads_option(kind, "edge_weights") || options.aggregator == Aggregator::max)) {
    return Error(Errc::unimplemented,
                 fmt::format("model edge_weights: expected a kind among {}, without the aggregator "
                             "max, got \"{}\"",
                             readers_of(kinds, "edge_weights", "\""), kind.name));
  }
  const bool adds_loops = reads_option(kind, "loops") && options.loops;
  const bool shares = reads_option(kind, "share_weights") && options.share_weights;
  if (types.heterogeneous() && (adds_loops || shares)) {
    return Error(Errc::unimplemented,
                 fmt::format("model {}: expected false with \"{}\" on a graph of {} node types and "
                             "{} edge types, got true",
                             adds_loops ? "loops" : "share_weights", kind.name, types.nodes.size(),
                             types.edges.size()));
  }
  if (options.edge_features && (adds_loops || !reads_option(kind, "edge_features"))) {
    return Error(Errc::unimplemented,
                 fmt::format("model edge_features: expected a kind among {}, with loops false, got "
                             "\"{}\"",
                             readers_of(kinds, "edge_features", "\""), kind.name));
  }
  if (options.attention_dropout > 0 && !reads_option(kind, "attention_dropout")) {
    return Error(Errc::unimplemented,
                 fmt::format("model attention_dropout: expected a kind among {}, got \"{}\"",
                             readers_of(kinds, "attention_dropout", "\""), kind.name));
  }
  if (options.residual && !reads_option(kind, "residual")) {
    return Error(Errc::unimplemented,
                 fmt::format("model residual: expected a kind among {}, got \"{}\"",
                             readers_of(kinds, "residual", "\""), kind.name));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto layers, layer_types(types, options.layers));
  for (const NodeTypeId type : layers.front().inputs) {
    const auto& of_type = types.nodes[raw(type)];
    TROUPE_RETURN_IF_ERROR(
        check_dim(fmt::format("features of \"{}\"", of_type.name), of_type.cols));
  }
  TROUPE_RETURN_IF_ERROR(check_bases(complete, layers.front()));
  TROUPE_RETURN_IF_ERROR(check_decoder(complete.decoder));
  auto network = std::make_unique<Network>(complete, layers, kind.make(complete));
  TROUPE_RETURN_IF_ERROR(check_slices(*network));
  return network;
}

}  // namespace troupe::nn
