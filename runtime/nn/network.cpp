#include "runtime/nn/network.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/device_copies.hpp"
#include "runtime/nn/network_layer_call.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace troupe::nn {
namespace {

/// Rows of a gradient that a task copies.
constexpr std::size_t copied_rows = 256;

}  // namespace

Network::Network(ModelOptions options, const std::vector<LayerTypes>& layers,
                 std::unique_ptr<const Conv> conv)
    : options_(std::move(options)), conv_(std::move(conv)) {
  if (!layers.empty()) {
    add_inputs(layers.front());
  }
  for (std::uint32_t i = 0; i < options_.layers; ++i) {
    const bool last = i + 1 == options_.layers;
    Layer layer{.number = i,
                .out = last ? options_.out_dim : options_.hidden,
                .last = last,
                .edges = {},
                .nodes = {},
                .inputs = {}};
    for (const NodeTypeId type : layers[i].inputs) {
      layer.inputs.push_back(raw(type));
    }
    for (const NodeTypeId type : layers[i].outputs) {
      layer.nodes.push_back({.type = raw(type), .edges = {}});
    }
    add_shared(layers[i], layer);
    add_sources(layers[i], layer);
    for (const EdgeTypeId type : layers[i].edges) {
      add_edge(type, layer);
    }
    for (Node& node : layer.nodes) {
      add_node(layer, node);
      add_norm(layer, node);
      add_skip(layer, node);
    }
    layers_.push_back(std::move(layer));
  }
  decoder_offset_ = nn::num_parameters(layout());
  if (!options_.decoder.kind.empty()) {
    add_parameters(decoder_parameters(options_.decoder, options_.out_dim), "");
  }
  if (const auto& relations = options_.relations; relations.rows > 0) {
    parameters_.add({.name = "relations",
                     .rows = relations.rows,
                     .cols = relations.cols,
                     .bound = relations.bound});
  }
}

/// Node types whose features are read.
std::vector<std::size_t> Network::types_read() const {
  if (!layers_.empty()) {
    return layers_.front().inputs;
  }
  std::vector<std::size_t> types;
  for (const NodeTypeId type : outputs()) {
    types.push_back(raw(type));
  }
  return types;
}

std::size_t Network::cols_before(std::uint32_t layer, std::size_t node_type) const {
  return layer == 0 && !options_.linear_input ? options_.types.nodes[node_type].cols
                                              : options_.hidden;
}

std::string Network::name_of(std::string_view what, std::uint32_t layer,
                             const std::string& type) const {
  return options_.heterogeneous() ? fmt::format("{}{}.{}.", what, layer + 1, type)
                                  : fmt::format("{}{}.", what, layer + 1);
}

void Network::add_inputs(const LayerTypes& first) {
  if (!options_.linear_input) {
    return;
  }
  inputs_.resize(options_.types.nodes.size());
  for (const NodeTypeId type : first.inputs) {
    const auto& node = options_.types.nodes[raw(type)];
    const auto prefix =
        options_.heterogeneous() ? fmt::format("input.{}.", node.name) : std::string("input.");
    const float bound = linear_bound(node.cols);
    inputs_[raw(type)] = parameters_.add(
        {.name = prefix + "weight", .rows = options_.hidden, .cols = node.cols, .bound = bound});
    parameters_.add({.name = prefix + "bias", .rows = options_.hidden, .bound = bound});
  }
}

ConvShape Network::shape_of(EdgeTypeId type, const Layer& layer) const {
  const auto& of_type = options_.types.edges[raw(type)];
  return {.source = cols_before(layer.number, raw(of_type.source)),
          .destination = cols_before(layer.number, raw(of_type.destination)),
          .out = layer.out,
          .last = layer.last,
          .edge = options_.edge_features ? of_type.cols : 0};
}

void Network::add_parameters(std::vector<NewParameter> parameters, const std::string& prefix) {
  for (NewParameter& parameter : parameters) {
    parameter.name = prefix + parameter.name;
    parameters_.add(parameter);
  }
}

void Network::add_shared(const LayerTypes& types, Layer& layer) {
  std::vector<ConvShape> shapes;
  for (const EdgeTypeId type : types.edges) {
    shapes.push_back(shape_of(type, layer));
  }
  layer.shared = layout().size();
  add_parameters(conv_->shared_parameters(shapes), fmt::format("conv{}.", layer.number + 1));
}

/// Of the node types that edges start at, in their order.
void Network::add_sources(const LayerTypes& types, Layer& layer) {
  if (!conv_->is_joint()) {
    return;
  }
  layer.source_parameters.resize(options_.types.nodes.size());
  for (const NodeTypeId input : types.inputs) {
    const auto starts = [&](EdgeTypeId e) { return options_.types.edges[raw(e)].source == input; };
    if (std::ranges::any_of(types.edges, starts)) {
      const std::size_t cols = cols_before(layer.number, raw(input));
      layer.source_parameters[raw(input)] = layout().size();
      add_parameters(
          conv_->source_parameters(
              {.source = cols, .destination = cols, .out = layer.out, .last = layer.last}),
          name_of("conv", layer.number, options_.types.nodes[raw(input)].name));
    }
  }
}

void Network::add_node(Layer& layer, Node& node) {
  const std::size_t cols = cols_before(layer.number, node.type);
  node.conv = layout().size();
  add_parameters(conv_->node_parameters(
                     {.source = cols, .destination = cols, .out = layer.out, .last = layer.last}),
                 name_of("conv", layer.number, options_.types.nodes[node.type].name));
}

void Network::add_edge(EdgeTypeId type, Layer& layer) {
  const auto& of_type = options_.types.edges[raw(type)];
  const std::size_t destination = raw(of_type.destination);
  const Edge edge{.type = raw(type),
                  .source = raw(of_type.source),
                  .destination = destination,
                  .shape = shape_of(type, layer),
                  .parameter = layout().size()};
  add_parameters(conv_->parameters(edge.shape), name_of("conv", layer.number, of_type.name));
  const auto node = std::ranges::find(layer.nodes, destination, &Node::type);
  node->edges.push_back(layer.edges.size());
  layer.edges.push_back(edge);
}

void Network::add_norm(Layer& layer, Node& node) {
  if (!(options_.layer_norm || options_.batch_norm) || layer.last) {
    return;
  }
  const auto prefix = name_of("norm", layer.number, options_.types.nodes[node.type].name);
  node.norm = parameters_.add({.name = prefix + "weight", .rows = layer.out, .value = 1});
  parameters_.add({.name = prefix + "bias", .rows = layer.out});
  if (options_.batch_norm) {
    parameters_.add({.name = prefix + "running_mean", .rows = layer.out, .trained = false});
    parameters_.add(
        {.name = prefix + "running_var", .rows = layer.out, .value = 1, .trained = false});
  }
}

void Network::add_skip(Layer& layer, Node& node) {
  const std::size_t cols = cols_before(layer.number, node.type);
  if (!options_.residual || cols == layer.out) {
    return;
  }
  node.skip = parameters_.add(
      {.name = name_of("skip", layer.number, options_.types.nodes[node.type].name) + "weight",
       .rows = layer.out,
       .cols = cols,
       .bound = linear_bound(cols)});
}

std::uint64_t Network::pass_numbers(std::uint32_t layer, EdgeTypeId edge_type,
                                    const BlockCounts& counts) const {
  const auto& edges = layers_.at(layer).edges;
  const auto edge = std::ranges::find(edges, raw(edge_type), &Edge::type);
  return edge == edges.end() ? 0 : conv_->pass_numbers(edge->shape, counts);
}

/// Rows that a layer reads are there: of the features, or of the layer below. The tape checks the
/// rest.
void Network::check_shapes(const ForwardInput& input) const {
  const auto& types = options_.types;
  TROUPE_ASSERT(input.blocks.size() == layers_.size(), "blocks", input.blocks.size(),
                layers_.size());
  const bool drops = input.dropout.training && options_.drops();
  TROUPE_ASSERT(input.features.size() == types.nodes.size() &&
                    (!drops || input.ids.size() == types.nodes.size()),
                "node types", input.features.size(), input.ids.size(), types.nodes.size());
  for (const auto& blocks : input.blocks) {
    TROUPE_ASSERT(blocks.size() == types.edges.size(), "edge types", blocks.size(),
                  types.edges.size());
  }
  TROUPE_ASSERT(input.below.empty() || input.below.size() == types.edges.size(), "edge types",
                input.below.size(), types.edges.size());
  for (const std::size_t type : types_read()) {
    const ConstMatrix& x = input.features[type];
    TROUPE_ASSERT(x.cols == types.nodes[type].cols, "features of type", type, x.cols,
                  types.nodes[type].cols);
    TROUPE_ASSERT(!drops || input.ids[type].size() >= x.rows, "ids for dropout of type", type,
                  input.ids[type].size(), x.rows);
  }
}

namespace {

/// The dropout of a node type's rows before a layer.
DropoutMask mask_before(const ForwardInput& input, std::size_t node_type, std::uint32_t layer,
                        float p) {
  DropoutContext context = input.dropout;
  context.node_type = static_cast<std::uint16_t>(node_type);
  return dropout_mask(context, layer, p);
}

}  // namespace

std::vector<Rows> Network::record_features(const ForwardInput& input,
                                           Activations& activations) const {
  Tape& tape = activations.tape_;
  std::vector<Rows> rows(options_.types.nodes.size());
  activations.inputs_.assign(rows.size(), std::nullopt);
  for (const std::size_t type : types_read()) {
    const bool wanted = type < input.wants_gradient.size() && input.wants_gradient[type];
    rows[type] = tape.input(input.features[type], wanted);
    if (wanted) {
      activations.inputs_[type] = rows[type];
    }
    const DropoutMask mask = mask_before(input, type, 0, options_.input_dropout);
    if (mask.active()) {
      const auto count = input.features[type].rows;
      rows[type] = tape.drop(rows[type], mask, input.ids[type].first(count));
    }
    if (options_.linear_input) {
      rows[type] = record_input(tape, type, rows[type], input.features[type].rows, {});
    }
  }
  return rows;
}

/// Rows of a node type as the first layer reads them, where the input is linear.
Rows Network::record_input(Tape& tape, std::size_t node_type, Rows rows, std::size_t count,
                           MutMatrix into) const {
  const std::size_t weight = inputs_[node_type];
  Ending ending;
  ending.biases = {weight + 1};
  return tape.combine({tape.own(rows, {weight})}, count, ending, into);
}

/// Terms by position in Layer::edges. \param only  of the edges that end at this node; null: all
std::vector<ConvTerms> Network::record_edges(const LayerCall& call, const Node* only) const {
  if (conv_->is_joint()) {
    return record_joint(call, only);
  }
  std::vector<ConvTerms> terms(call.layer.edges.size());
  for (std::size_t e = 0; e < terms.size(); ++e) {
    if (only == nullptr || std::ranges::binary_search(only->edges, e)) {
      terms[e] = conv_->record(edge_call(call, e));
    }
  }
  return terms;
}

ConvCall Network::edge_call(const LayerCall& call, std::size_t edge) const {
  const Edge& of = call.layer.edges[edge];
  std::optional<Rows> features;
  if (of.shape.edge > 0) {
    TROUPE_ASSERT(of.type < call.edge_features.size(), "features of edges of type", of.type);
    const LayerBlock& block = call.blocks[of.type];
    const ConstMatrix& all = call.edge_features[of.type];
    const std::size_t first = block.first_edge();
    const std::size_t count = block.num_edges();
    TROUPE_ASSERT(all.cols == of.shape.edge && first + count <= all.rows, "features of edges",
                  all.cols, of.shape.edge, first, count, all.rows);
    features = call.tape.input(all.slice(first, count));
  }
  DropoutMask attention;
  if (call.dropout != nullptr) {
    attention = attention_mask(call.dropout->dropout, static_cast<std::uint16_t>(of.type),
                               call.layer.number, options_.attention_dropout);
  }
  return {.tape = call.tape,
          .shape = of.shape,
          .parameter = of.parameter,
          .source = call.own ? call.sources[edge] : call.rows[of.source],
          .block = call.blocks[of.type],
          .below = call.below ? &(*call.below)[of.type] : nullptr,
          .messages = call.messages,
          .own = call.own,
          .multiplied = call.own && conv_->source_use(of.shape).product,
          .destination = call.own ? *call.own : call.rows[of.destination],
          .shared = call.layer.shared,
          .edge_features = features,
          .prepared = {},
          .attention_mask = attention};
}

/// A node type's terms stand at the first of its edge types.
std::vector<ConvTerms> Network::record_joint(const LayerCall& call, const Node* only) const {
  std::vector<ConvTerms> terms(call.layer.edges.size());
  std::vector<std::vector<Rows>> prepared(options_.types.nodes.size());
  for (const Node& node : call.layer.nodes) {
    if (only != nullptr && &node != only) {
      continue;
    }
    std::vector<ConvCall> edges;
    for (const std::size_t e : node.edges) {
      const std::size_t source = call.layer.edges[e].source;
      if (prepared[source].empty()) {
        prepared[source] = conv_->record_source(call.tape, call.rows[source],
                                                call.layer.source_parameters[source]);
      }
      edges.push_back(edge_call(call, e));
      edges.back().prepared = prepared[source];
    }
    const std::size_t cols = cols_before(call.layer.number, node.type);
    terms[node.edges.front()] = conv_->record_joint({.tape = call.tape,
                                                     .shape = {.source = cols,
                                                               .destination = cols,
                                                               .out = call.layer.out,
                                                               .last = call.layer.last},
                                                     .parameter = node.conv,
                                                     .own = call.rows[node.type],
                                                     .edges = edges});
  }
  return terms;
}

/// What follows the sum of a node type's rows, without biases.
Ending Network::ending_of(const LayerCall& call, const Node& node) const {
  Ending ending{.l2 = options_.l2};
  if (call.layer.last) {
    return ending;
  }
  ending.norm = options_.layer_norm;
  ending.norm_gain = node.norm;
  ending.relu = options_.activation == Activation::relu;
  ending.activation = ending.relu ? Activation::none : options_.activation;
  ending.slope = options_.slope;
  if (call.dropout != nullptr) {
    ending.mask = mask_before(*call.dropout, node.type, call.layer.number + 1, options_.dropout);
    if (ending.mask.active()) {
      ending.ids = call.dropout->ids[node.type];
    }
  }
  return ending;
}

Rows Network::record_node(const LayerCall& call, const Node& node, std::vector<ConvTerms>& terms,
                          MutMatrix into) const {
  std::vector<Term> sum;
  std::vector<std::size_t> own;
  Ending ending = ending_of(call, node);
  for (const std::size_t e : node.edges) {
    std::ranges::move(terms[e].neighbors, std::back_inserter(sum));
    std::ranges::copy(terms[e].own, std::back_inserter(own));
    std::ranges::copy(terms[e].biases, std::back_inserter(ending.biases));
  }
  const ConvTerms once = conv_->node_terms(node.conv);
  std::ranges::copy(once.own, std::back_inserter(own));
  std::ranges::copy(once.biases, std::back_inserter(ending.biases));
  const Rows before = call.own ? *call.own : call.rows[node.type];
  if (node.skip) {
    own.push_back(*node.skip);
  }
  if (!own.empty()) {
    // Own rows are added last to neighbors along one edge type, first to those along several: two
    // orders of one sum, which parameters trained by earlier versions depend on.
    const auto at = options_.heterogeneous() ? sum.begin() : sum.end();
    sum.insert(at, call.tape.own(before, own));
  }
  if (options_.residual && !node.skip) {
    sum.push_back(call.tape.own(before));
  }
  if (call.layer.last || !options_.batch_norm) {
    return call.tape.combine(std::move(sum), call.count(node), ending, into);
  }
  const Ending before_norm{.biases = ending.biases, .l2 = std::exchange(ending.l2, false)};
  ending.biases.clear();
  const Rows rows = call.tape.combine(std::move(sum), call.count(node), before_norm);
  const bool training = call.dropout != nullptr && call.dropout->dropout.training;
  return call.tape.batch_norm(rows, node.norm, training, ending, into);
}

ConstMatrix Network::forward(Executor& executor, std::span<const float> parameters,
                             const ForwardInput& input, Activations& activations) const {
  return forward_rows(executor, parameters, input, activations).front();
}

std::vector<ConstMatrix> Network::forward_rows(Executor& executor,
                                               std::span<const float> parameters,
                                               const ForwardInput& input,
                                               Activations& activations) const {
  DeviceCopies* const copies = activations.copies_.get();
  const auto there = copies == nullptr ? parameters : copies->parameters(parameters);
  return activations.to_host(forward_there(executor, there, input, activations));
}

namespace {

bool lists_rows(const ForwardInput& input) {
  return std::ranges::any_of(input.blocks, [](const auto& blocks) {
    return std::ranges::any_of(blocks,
                               [](const LayerBlock& block) { return block.listed.has_value(); });
  });
}

}  // namespace

std::vector<ConstMatrix> Network::forward_there(Executor& executor,
                                                std::span<const float> parameters,
                                                const ForwardInput& input,
                                                Activations& activations) const {
  check_shapes(input);
  DeviceCopies* const copies = activations.copies_.get();
  const ForwardInput* here = &input;
  if (copies == nullptr && !conv_->takes_listed_rows() && lists_rows(input)) {
    activations.with_offsets_ = input;
    for (auto& blocks : activations.with_offsets_.blocks) {
      std::ranges::transform(blocks, blocks.begin(), with_offsets);
    }
    auto& below = activations.with_offsets_.below;
    std::ranges::transform(below, below.begin(), with_offsets);
    here = &activations.with_offsets_;
  }
  record(executor, parameters, copies == nullptr ? *here : copies->input(input), activations);
  std::vector<ConstMatrix> rows;
  for (const Rows& output : activations.outputs_) {
    rows.push_back(activations.tape_.value(output));
  }
  return rows;
}

void Network::record(Executor& executor, std::span<const float> parameters,
                     const ForwardInput& input, Activations& activations) const {
  Tape& tape = activations.tape_;
  tape.begin(executor, parameters_, parameters, true);
  std::vector<Rows> rows = record_features(input, activations);
  const std::vector<LayerBlock>* below = input.below.empty() ? nullptr : &input.below;
  for (const Layer& layer : layers_) {
    const auto& blocks = input.blocks[layer.number];
    const LayerCall call{.tape = tape,
                         .layer = layer,
                         .blocks = blocks,
                         .below = std::exchange(below, &blocks),
                         .rows = rows,
                         .dropout = &input,
                         .edge_features = input.edge_features};
    auto terms = record_edges(call, nullptr);
    for (const Node& node : layer.nodes) {
      rows[node.type] = record_node(call, node, terms, {});
    }
  }
  activations.outputs_.clear();
  for (const NodeTypeId type : outputs()) {
    activations.outputs_.push_back(rows[raw(type)]);
  }
}

void Network::backward(ConstMatrix grad_logits, Activations& activations,
                       std::span<float> gradient) const {
  backward_rows({&grad_logits, 1}, activations, gradient);
}

void Network::backward_rows(std::span<const ConstMatrix> grads, Activations& activations,
                            std::span<float> gradient) const {
  DeviceCopies* const copies = activations.copies_.get();
  if (copies == nullptr) {
    return backward_there(grads, activations, gradient);
  }
  backward_there(activations.from_host(grads), activations, copies->gradient(gradient.size()));
  copies->fetch(gradient);
}

void Network::backward_there(std::span<const ConstMatrix> grads, Activations& activations,
                             std::span<float> gradient) const {
  const auto& outputs = activations.outputs_;
  TROUPE_ASSERT(grads.size() == outputs.size(), "gradients of rows", grads.size(), outputs.size());
  std::vector<Tape::Result> results;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    results.push_back({outputs[i], grads[i]});
  }
  activations.tape_.backward(results, gradient);
}

Matrix Network::input_gradient(Executor& executor, NodeTypeId type, Activations& activations,
                               std::span<Matrix> given) const {
  const auto& input = activations.inputs_[raw(type)];
  if (!input) {
    return {};
  }
  const ConstMatrix gradient = activations.tape_.gradient(*input);
  for (Matrix& it : given) {
    if (gradient.size() > 0 && std::as_const(it).view().data == gradient.data) {
      return std::move(it);
    }
  }
  Matrix copy(gradient.rows, gradient.cols);
  if (activations.copies_) {
    activations.copies_->download(gradient.data, copy.view().flat());
    return copy;
  }
  const auto to = copy.view();
  for_each_piece(executor, gradient.rows, copied_rows, [&](std::size_t first, std::size_t count) {
    std::ranges::copy(gradient.slice(first, count).flat(), to.slice(first, count).data);
  });
  return copy;
}

}  // namespace troupe::nn
