#include "runtime/nn/network.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe::nn {

/// One layer at work on one batch, or on a block of exact inference.
struct Network::LayerCall {
  Tape& tape;
  const Layer& layer;
  const std::vector<LayerBlock>& blocks;           ///< by edge type
  const std::vector<LayerBlock>* below = nullptr;  ///< of the layer below
  std::vector<Rows> rows;                          ///< by node type
  const ForwardInput* dropout = nullptr;           ///< null: without
  bool messages = false;
  std::size_t count(const Node& node) const {
    return blocks[layer.edges[node.edges.front()].type].num_dst;
  }
};

Activations::Activations(std::unique_ptr<BlockOps> ops)
    : ops_(ops ? std::move(ops) : std::make_unique<CpuBlockOps>()), tape_(*ops_) {}

Network::Network(ModelOptions options, const std::vector<LayerTypes>& layers,
                 std::unique_ptr<const Conv> conv)
    : options_(std::move(options)), conv_(std::move(conv)) {
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
    for (const EdgeTypeId type : layers[i].edges) {
      add_edge(type, layer);
    }
    for (Node& node : layer.nodes) {
      add_norm(layer, node);
    }
    layers_.push_back(std::move(layer));
  }
}

std::size_t Network::cols_before(std::uint32_t layer, std::size_t node_type) const {
  return layer == 0 ? options_.types.nodes[node_type].cols : options_.hidden;
}

std::string Network::name_of(std::string_view what, std::uint32_t layer,
                             const std::string& type) const {
  return options_.heterogeneous() ? fmt::format("{}{}.{}.", what, layer + 1, type)
                                  : fmt::format("{}{}.", what, layer + 1);
}

void Network::add_edge(EdgeTypeId type, Layer& layer) {
  const auto& of_type = options_.types.edges[raw(type)];
  const std::size_t source = raw(of_type.source);
  const std::size_t destination = raw(of_type.destination);
  Edge edge{.type = raw(type),
            .source = source,
            .shape = {.source = cols_before(layer.number, source),
                      .destination = cols_before(layer.number, destination),
                      .out = layer.out,
                      .last = layer.last},
            .parameter = layout().size()};
  for (NewParameter& parameter : conv_->parameters(edge.shape)) {
    parameter.name = name_of("conv", layer.number, of_type.name) + parameter.name;
    parameters_.add(parameter);
  }
  const auto node = std::ranges::find(layer.nodes, destination, &Node::type);
  node->edges.push_back(layer.edges.size());
  layer.edges.push_back(edge);
}

void Network::add_norm(Layer& layer, Node& node) {
  if (!options_.layer_norm || layer.last) {
    return;
  }
  const auto prefix = name_of("norm", layer.number, options_.types.nodes[node.type].name);
  node.norm = parameters_.add({.name = prefix + "weight", .rows = layer.out, .value = 1});
  parameters_.add({.name = prefix + "bias", .rows = layer.out});
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
  for (const std::size_t type : layers_.front().inputs) {
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

std::vector<Rows> Network::record_features(Tape& tape, const ForwardInput& input) const {
  std::vector<Rows> rows(options_.types.nodes.size());
  for (const std::size_t type : layers_.front().inputs) {
    rows[type] = tape.input(input.features[type]);
    const DropoutMask mask = mask_before(input, type, 0, options_.input_dropout);
    if (mask.active()) {
      const auto count = input.features[type].rows;
      rows[type] = tape.drop(rows[type], mask, input.ids[type].first(count));
    }
  }
  return rows;
}

/// Terms by position in Layer::edges. \param only  of the edges that end at this node; null: all
std::vector<ConvTerms> Network::record_edges(const LayerCall& call, const Node* only) const {
  std::vector<ConvTerms> terms(call.layer.edges.size());
  for (std::size_t e = 0; e < terms.size(); ++e) {
    if (only != nullptr && !std::ranges::binary_search(only->edges, e)) {
      continue;
    }
    const Edge& edge = call.layer.edges[e];
    terms[e] = conv_->record({.tape = call.tape,
                              .shape = edge.shape,
                              .parameter = edge.parameter,
                              .source = call.rows[edge.source],
                              .block = call.blocks[edge.type],
                              .below = call.below ? &(*call.below)[edge.type] : nullptr,
                              .messages = call.messages});
  }
  return terms;
}

Rows Network::record_node(const LayerCall& call, const Node& node, std::vector<ConvTerms>& terms,
                          MutMatrix into) const {
  std::vector<Term> sum;
  std::vector<std::size_t> own;
  Ending ending{.l2 = options_.l2};
  for (const std::size_t e : node.edges) {
    std::ranges::move(terms[e].neighbors, std::back_inserter(sum));
    std::ranges::copy(terms[e].own, std::back_inserter(own));
    std::ranges::copy(terms[e].biases, std::back_inserter(ending.biases));
  }
  if (!own.empty()) {
    // Own rows are added last to neighbors along one edge type, first to those along several: two
    // orders of one sum, which parameters trained by earlier versions depend on.
    const auto at = options_.heterogeneous() ? sum.begin() : sum.end();
    sum.insert(at, call.tape.own(call.rows[node.type], own));
  }
  if (!call.layer.last) {
    ending.norm = options_.layer_norm;
    ending.norm_gain = node.norm;
    ending.relu = true;
  }
  if (!call.layer.last && call.dropout != nullptr) {
    ending.mask = mask_before(*call.dropout, node.type, call.layer.number + 1, options_.dropout);
    if (ending.mask.active()) {
      ending.ids = call.dropout->ids[node.type];
    }
  }
  return call.tape.combine(std::move(sum), call.count(node), ending, into);
}

ConstMatrix Network::forward(Executor& executor, std::span<const float> parameters,
                             const ForwardInput& input, Activations& activations) const {
  check_shapes(input);
  Tape& tape = activations.tape_;
  tape.begin(executor, parameters_, parameters, true);
  std::vector<Rows> rows = record_features(tape, input);
  for (const Layer& layer : layers_) {
    const LayerCall call{.tape = tape,
                         .layer = layer,
                         .blocks = input.blocks[layer.number],
                         .below = layer.number == 0 ? nullptr : &input.blocks[layer.number - 1],
                         .rows = rows,
                         .dropout = &input};
    auto terms = record_edges(call, nullptr);
    for (const Node& node : layer.nodes) {
      rows[node.type] = record_node(call, node, terms, {});
    }
  }
  activations.logits_ = rows[raw(options_.types.seeds)];
  return tape.value(activations.logits_);
}

void Network::backward(ConstMatrix grad_logits, Activations& activations,
                       std::span<float> gradient) const {
  activations.tape_.backward(activations.logits_, grad_logits, gradient);
}

// ---- exact inference ----

/// Messages replace rows where there is one edge type; else they are sent as they are, and each
/// host makes the messages of the rows that it reads.
bool Network::sends_messages() const {
  return !options_.heterogeneous() &&
         conv_->message_cols(layers_.front().edges.front().shape).has_value();
}

std::size_t Network::message_cols(const Layer& layer) const {
  return *conv_->message_cols(layer.edges.front().shape);
}

std::vector<InferStage> Network::infer_stages() const {
  const auto types = options_.types.nodes.size();
  const bool messages = sends_messages();
  std::vector<InferStage> stages;
  if (messages) {
    stages.push_back({.outputs = {{NodeTypeId{0}, message_cols(layers_.front()), {EdgeTypeId{0}}}},
                      .in_cols = {options_.types.nodes.front().cols},
                      .neighbor_rows = false});
  }
  for (const Layer& layer : layers_) {
    InferStage stage{.outputs = {}, .in_cols = std::vector<std::uint64_t>(types)};
    for (const std::size_t type : layer.inputs) {
      stage.in_cols[type] = messages ? message_cols(layer) : cols_before(layer.number, type);
    }
    for (const Node& node : layer.nodes) {
      auto& output = stage.outputs.emplace_back();
      output.type = static_cast<NodeTypeId>(node.type);
      output.cols = messages && !layer.last ? message_cols(layers_[layer.number + 1]) : layer.out;
      for (const std::size_t e : node.edges) {
        output.edges.push_back(static_cast<EdgeTypeId>(layer.edges[e].type));
      }
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

std::vector<InferStage> Network::embedding_stages() const {
  TROUPE_ASSERT(layers_.size() > 1, "embeddings of layers", layers_.size());
  auto stages = infer_stages();
  stages.pop_back();
  for (auto& output : stages.back().outputs) {
    output.cols = options_.hidden;
  }
  return stages;
}

Matrix Network::infer(Executor& executor, std::span<const float> parameters,
                      const InferInput& input) const {
  const bool messages = sends_messages();
  const std::size_t stages = layers_.size() + (messages ? 1 : 0);
  TROUPE_ASSERT(input.stage < stages && input.blocks.size() == options_.types.edges.size() &&
                    input.rows.size() == options_.types.nodes.size(),
                "stage, edge types, node types", input.stage, stages, input.blocks.size(),
                input.rows.size());
  if (messages && input.stage == 0) {
    return infer_messages(executor, parameters, layers_.front(), input.blocks.front(),
                          input.rows.front());
  }
  const Layer& layer = layers_[input.stage - (messages ? 1 : 0)];
  Matrix rows = infer_rows(executor, parameters, layer, input);
  if (!messages || layer.last || input.embeddings) {
    return rows;
  }
  return infer_messages(executor, parameters, layers_[layer.number + 1], input.blocks.front(),
                        std::as_const(rows).view());
}

Matrix Network::infer_messages(Executor& executor, std::span<const float> parameters,
                               const Layer& layer, const LayerBlock& block,
                               ConstMatrix rows) const {
  const Edge& edge = layer.edges.front();
  TROUPE_ASSERT(rows.rows >= block.num_dst && rows.cols == edge.shape.source, "rows for messages",
                rows.rows, block.num_dst, rows.cols, edge.shape.source);
  Activations activations;
  Tape& tape = activations.tape_;
  tape.begin(executor, parameters_, parameters, false);
  const Rows source = tape.input(rows.slice(0, block.num_dst));
  const Rows made = conv_->messages({.tape = tape,
                                     .shape = edge.shape,
                                     .parameter = edge.parameter,
                                     .source = source,
                                     .block = block,
                                     .below = nullptr});
  const ConstMatrix values = tape.value(made);
  Matrix out(values.rows, values.cols);
  std::ranges::copy(values.flat(), out.data());
  return out;
}

Matrix Network::infer_rows(Executor& executor, std::span<const float> parameters,
                           const Layer& layer, const InferInput& input) const {
  const std::size_t type = raw(input.type);
  const auto node = std::ranges::find(layer.nodes, type, &Node::type);
  TROUPE_ASSERT(node != layer.nodes.end(), "a layer without rows of a type", layer.number, type);
  Activations activations;
  Tape& tape = activations.tape_;
  tape.begin(executor, parameters_, parameters, false);
  LayerCall call{.tape = tape,
                 .layer = layer,
                 .blocks = input.blocks,
                 .rows = std::vector<Rows>(input.rows.size()),
                 .messages = sends_messages()};
  for (const std::size_t read : layer.inputs) {
    call.rows[read] = tape.input(input.rows[read]);
  }
  Matrix out(call.count(*node), layer.out);
  auto terms = record_edges(call, &*node);
  record_node(call, *node, terms, out.view());
  return out;
}

}  // namespace troupe::nn
