#pragma once
/// \file network.hpp
/// Networks of convolutions over the blocks of a batch, and layer by layer over a whole graph.
///
/// A row of node type v after a layer is the sum of the convolutions along the edge types that end
/// at v and take part (network_layers.hpp), and a bias, and with residuals its row before the layer;
/// then, as set, division by its length, layer normalization, activation and the dropout of the next
/// layer's input. Only the seeds' type has rows after the last layer, its logits, which nothing but
/// the division follows; where seeds are links the types of both ends have some, which a decoder
/// (decoder.hpp) takes. A graph of one node type and one edge type is the simplest case. Parameters, gradients and activations come from
/// outside.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch_on_device.hpp"
#include "runtime/nn/conv/conv.hpp"
#include "runtime/nn/decoder.hpp"
#include "runtime/nn/network_layers.hpp"
#include "runtime/nn/ops/tape.hpp"
#include "runtime/nn/parameter_list.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

struct ModelOptions {
  std::string kind = "graphsage";            ///< row of the catalog
  Aggregator aggregator = Aggregator::mean;  ///< of graphsage
  std::uint32_t layers =
      2;  ///< 0, with relations or a decoder: rows after the last layer are the features
  std::uint64_t in_dim = 0;  ///< columns of the seeds' type; read only where `types` is empty
  std::uint64_t hidden = 0;
  std::uint64_t out_dim = 0;
  std::uint32_t heads = 1;      ///< of attention
  std::uint32_t out_heads = 0;  ///< of the last layer; 0: as many
  bool concat = true;  ///< heads one after the other, but in the last layer: they divide `hidden`
  bool loops = true;   ///< of attention: each node has exactly one self loop
  std::uint32_t bases = 0;  ///< of rgcn: matrices that those of edge types are mixed from; 0: none
  bool share_weights = false;  ///< of gatv2: one matrix for both ends of an edge
  bool batch_norm = false;     ///< in its place: over the rows of the batch, or running statistics
  bool layer_norm = false;     ///< between layer and activation, not after the last; eps 1e-5
  bool l2 = false;             ///< rows of each layer's output divided by max(norm, 1e-12)
  Activation activation = Activation::relu;  ///< after every layer but the last
  float slope = 0.01F;                       ///< of leaky ReLU below 0
  /// Each layer's sum has the row before it, times a matrix where the columns differ.
  bool residual = false;
  /// Every node type's features times a matrix of its own, plus a bias, to `hidden` columns, come before the
  /// first layer.
  bool linear_input = false;
  /// Attention reads features of edges, those of `types`.
  bool edge_features = false;
  bool train_eps = false;       ///< of gin
  bool edge_weights = false;    ///< neighbors' rows count times the weights of their edges
  float dropout = 0;            ///< on the input of every layer but the first
  float input_dropout = 0;      ///< on the input of the first layer
  float attention_dropout = 0;  ///< probability of dropping a weight of attention
  ModelTypes types = {};        ///< empty: one node type of `in_dim` columns and one edge type
  DecoderOptions decoder = {};  ///< of pairs of rows after the last layer; its parameters come last
  /// Rows of parameters "relations" that no layer reads, in the place of a decoder's.
  struct Relations {
    std::uint64_t rows = 0;  ///< 0: none
    std::uint64_t cols = 0;
    float bound = 0;  ///< They start uniform in [-bound, bound)
    friend bool operator==(const Relations&, const Relations&) = default;
  };
  Relations relations = {};
  bool heterogeneous() const { return types.heterogeneous(); }
  /// Whether training drops elements of some layer's input: masks need original ids of the rows.
  bool drops() const { return input_dropout > 0 || (dropout > 0 && layers > 1); }
};

/// Inputs of one forward pass.
struct ForwardInput {
  /// [layers][edge types], 0 = nearest the input. Destinations and sources are nodes of the edge
  /// type's types; destination i is also row i of its type.
  std::vector<std::vector<LayerBlock>> blocks;
  /// By edge type: in-edges of the sources of the first layer, which graph convolutions count; no layer
  /// reads rows along them. Empty: none were sampled.
  std::vector<LayerBlock> below = {};
  std::vector<ConstMatrix> features;             ///< by node type: [nodes, columns]
  std::vector<std::span<const OriginalId>> ids;  ///< by node type; read by dropout only
  /// By edge type: [edges, columns] by position in the blocks' `sources`; read where the model reads
  /// features of edges.
  std::vector<ConstMatrix> edge_features = {};
  /// By node type: backward() computes the gradient of its features. Empty: of none.
  std::vector<bool> wants_gradient = {};
  DropoutContext dropout;  ///< its node type is set by the network
  /// Arrays that the device which computes has already; null: none. With it `features` are there alone.
  const BatchOnDevice* on_device = nullptr;
};

/// Default size of the input rows of a block of exact inference; results do not depend on it.
inline constexpr std::uint64_t infer_block_bytes = std::uint64_t{64} << 20;

/// One pass of exact inference over all nodes of the graph. Its input rows are the features for the
/// first stage, what the stage before made of each node for the others.
struct InferStage {
  struct Output {
    NodeTypeId type{};
    std::uint64_t cols = 0;
    /// Edge types that end here and are read. Rows of their sources are needed, unless the stage
    /// reads the destinations' rows alone.
    std::vector<EdgeTypeId> edges;
  };
  std::vector<Output> outputs;         ///< by ascending type
  std::vector<std::uint64_t> in_cols;  ///< by node type: columns of the rows it reads; 0: none
  /// Rows of the neighbors are needed; else those of the destinations alone (their edges are needed
  /// in any case).
  bool neighbor_rows = true;
};

/// Whether exact inference in place turns features into float32 rows first: they take no more than
/// the outputs of all stages together, which are kept anyway.
/// \param nodes  by node type
bool features_fit(const std::vector<InferStage>& stages, std::span<const std::uint64_t> nodes);

/// A block of one stage of exact inference.
struct InferInput {
  std::uint32_t stage = 0;
  NodeTypeId type{};               ///< of the destinations
  std::vector<LayerBlock> blocks;  ///< by edge type: destinations with all their edges
  std::vector<ConstMatrix> rows;   ///< by node type: [num_src or more, in_cols of the stage]
  /// As ForwardInput::edge_features.
  std::vector<ConstMatrix> edge_features = {};
  /// The last but one layer: rows as the last layer takes them, whatever the stage makes of them
  /// besides: the nodes' embeddings.
  bool embeddings = false;
};

/// A block of one stage of exact inference that reads sources where they lie.
struct InPlaceInput {
  std::uint32_t stage = 0;
  NodeTypeId type{};                 ///< of the destinations
  std::vector<LayerBlock> blocks;    ///< by edge type; sources are rows of `sources`
  std::vector<ConstMatrix> sources;  ///< by edge type: the sources' rows, or their source_product()
  ConstMatrix own;                   ///< [num_dst, in_cols of the stage] the destinations' rows
};

/// Upper bounds of the memory that one block of a stage takes where its operations are computed, in bytes.
struct InferFootprint {
  std::uint64_t fixed = 0;          ///< Of any block: parameters, and room for a piece of a product
  std::vector<std::uint64_t> rows;  ///< By node type: of each row that the block reads
  std::vector<std::uint64_t> edges;  ///< By edge type: of each edge
  std::uint64_t destinations = 0;    ///< Of each destination, beside its own row
};

class DeviceCopies;

/// What forward() keeps for backward(). Reused between batches to spare allocations.
class Activations {
 public:
  /// \param ops  null: on the CPU
  explicit Activations(std::unique_ptr<BlockOps> ops = nullptr);
  Activations(const Activations&) = delete;
  Activations& operator=(const Activations&) = delete;
  ~Activations();
  BlockOps& ops() { return *ops_; }
  /// Operations are computed on a device, in its memory.
  bool on_device() const { return copies_ != nullptr; }
  /// \errors of the device that computes the operations; results are zeros from there on
  Status status() const;

  /// Rows of forward_there() in host memory; as they are where they lie there. Valid until the next call.
  std::vector<ConstMatrix> to_host(std::span<const ConstMatrix> rows);
  /// Gradients of such rows for backward_there(), from host memory, where they stay until the next
  /// to_host().
  std::vector<ConstMatrix> from_host(std::span<const ConstMatrix> grads);

 private:
  friend class Network;
  std::unique_ptr<BlockOps> ops_;
  std::unique_ptr<DeviceCopies> copies_;  ///< null: operations work in host memory
  Tape tape_;
  std::vector<Rows> outputs_;
  std::vector<std::optional<Rows>> inputs_;  ///< by node type: those whose gradient is wanted
  ForwardInput
      with_offsets_;  ///< of the pass, where blocks list rows and the convolution needs all
};

/// A network of fixed shape.
/// Threads: immutable; any number of threads at once, each with its own Activations
class Network {
 public:
  /// \param layers  layer_types() of the options
  /// \requires the options are valid (make_network checks them)
  Network(ModelOptions options, const std::vector<LayerTypes>& layers,
          std::unique_ptr<const Conv> conv);

  const ModelOptions& options() const { return options_; }
  const ParameterLayout& layout() const { return parameters_.layout(); }
  std::size_t num_parameters() const { return nn::num_parameters(layout()); }

  /// Parameters before the first step: domain `initial_weights`, type = parameter number, id = flat
  /// index, uniform.
  std::vector<float> initial_parameters(std::uint64_t job_seed) const {
    return parameters_.initial_values(job_seed);
  }

  /// Logits of the seeds' type, shape [num_dst of the last layer's blocks, out_dim]; valid until
  /// the next forward on `activations`. The same bits for any executor. All arrays are in host memory,
  /// wherever the operations of `activations` are computed.
  /// \requires shapes fit (asserted); `input` and `parameters` stay alive until backward()
  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const ForwardInput& input, Activations& activations) const;

  /// The same of all types that have rows after the last layer, in the order of outputs().
  std::vector<ConstMatrix> forward_rows(Executor& executor, std::span<const float> parameters,
                                        const ForwardInput& input, Activations& activations) const;

  /// As forward_rows(), with parameters and rows in the memory of the operations of `activations`.
  std::vector<ConstMatrix> forward_there(Executor& executor, std::span<const float> parameters,
                                         const ForwardInput& input, Activations& activations) const;

  /// Gradient of sum(logits * grad_logits) with respect to the parameters, written to `gradient`
  /// (all of it; of a decoder's parameters 0).
  /// \requires forward() ran on `activations`
  void backward(ConstMatrix grad_logits, Activations& activations, std::span<float> gradient) const;
  /// The same of all types of forward_rows().
  void backward_rows(std::span<const ConstMatrix> grads, Activations& activations,
                     std::span<float> gradient) const;
  /// The same of forward_there(), with gradients in that memory.
  void backward_there(std::span<const ConstMatrix> grads, Activations& activations,
                      std::span<float> gradient) const;

  /// Types with rows after the last layer.
  std::vector<NodeTypeId> outputs() const { return options_.types.outputs(); }
  /// The decoder's parameters in a flat vector.
  template <class T>
  std::span<T> decoder_slice(std::span<T> flat) const {
    return flat.subspan(decoder_offset_);
  }
  std::size_t decoder_offset() const { return decoder_offset_; }

  /// Gradient of sum(logits * grad_logits) with respect to the features of a type that asked for it; empty
  /// if no layer reads them.
  /// \param given  gradients of rows that backward() got. Without layers one of them is the gradient, and is moved
  /// \requires backward() ran on `activations`
  Matrix input_gradient(Executor& executor, NodeTypeId type, Activations& activations,
                        std::span<Matrix> given = {}) const;

  /// Numbers that a layer's convolution along an edge type keeps (Conv::pass_numbers).
  std::uint64_t pass_numbers(std::uint32_t layer, EdgeTypeId edge_type,
                             const BlockCounts& counts) const;

  /// The stages of exact inference, in order; the last one gives the logits. One per layer, or one
  /// more where convolutions send messages (conv/conv.hpp) or the input is linear: the first makes
  /// those of the features, and reads the nodes' own rows alone.
  std::vector<InferStage> infer_stages() const;
  /// The stages that end with the nodes' embeddings. \requires two layers or more
  std::vector<InferStage> embedding_stages() const;

  /// One block of a stage, without dropout. A row's bits do not depend on which other rows are in the
  /// block. Parameters, lists and all rows are in the memory of the tape's operations.
  /// \param out  [num_dst, cols of the output]
  void infer(Tape& tape, Executor& executor, std::span<const float> parameters,
             const InferInput& input, MutMatrix out) const;
  /// The same on the CPU.
  Matrix infer(Executor& executor, std::span<const float> parameters,
               const InferInput& input) const;
  /// Memory of a block of infer(), for the rows of one type.
  /// \param product_rows  of a piece of a product (BlockOps::product_rows())
  InferFootprint infer_footprint(std::uint32_t stage, NodeTypeId type,
                                 std::size_t product_rows) const;

  /// Whether every convolution reads sources along edges alone, so that infer_in_place() can be used.
  bool reads_in_place() const;
  /// Columns of the product that a stage makes of the sources of an edge type; 0: it takes their rows.
  /// \requires reads_in_place()
  std::size_t source_product_cols(std::uint32_t stage, EdgeTypeId edge_type) const;
  /// That product of some rows, in the memory of the tape's operations.
  /// \param out  [rows, source_product_cols]
  void source_product(Tape& tape, Executor& executor, std::span<const float> parameters,
                      std::uint32_t stage, EdgeTypeId edge_type, ConstMatrix rows,
                      MutMatrix out) const;
  /// One block of a stage, the same bits as infer() gives, and memory as there.
  /// \param out  [num_dst, cols of the output]
  /// \requires reads_in_place()
  void infer_in_place(Tape& tape, Executor& executor, std::span<const float> parameters,
                      const InPlaceInput& input, MutMatrix out) const;

 private:
  struct Edge {
    std::size_t type = 0;
    std::size_t source = 0;       ///< node type
    std::size_t destination = 0;  ///< node type
    ConvShape shape;
    std::size_t parameter = 0;
  };
  /// A node type that a layer gives rows of.
  struct Node {
    std::size_t type = 0;
    std::vector<std::size_t> edges;  ///< positions in Layer::edges of those that end here
    std::size_t conv = 0;            ///< parameters of Conv::node_parameters()
    std::size_t norm = 0;            ///< parameters gain and bias, and running statistics, if any
    std::optional<std::size_t> skip = {};  ///< parameter of the residual; none: as it is, if at all
  };
  struct Layer {
    std::uint32_t number = 0;
    std::size_t out = 0;
    bool last = false;
    std::size_t shared = 0;  ///< parameters of Conv::shared_parameters()
    std::vector<Edge> edges;
    std::vector<Node> nodes;
    std::vector<std::size_t> inputs;                  ///< node types
    std::vector<std::size_t> source_parameters = {};  ///< by node type: Conv::source_parameters()
  };
  struct LayerCall;

  std::size_t cols_before(std::uint32_t layer, std::size_t node_type) const;
  std::vector<std::size_t> types_read() const;
  std::string name_of(std::string_view what, std::uint32_t layer, const std::string& type) const;
  ConvShape shape_of(EdgeTypeId type, const Layer& layer) const;
  void add_inputs(const LayerTypes& first);
  void add_parameters(std::vector<NewParameter> parameters, const std::string& prefix);
  void add_shared(const LayerTypes& types, Layer& layer);
  void add_sources(const LayerTypes& types, Layer& layer);
  void add_edge(EdgeTypeId type, Layer& layer);
  void add_node(Layer& layer, Node& node);
  void add_norm(Layer& layer, Node& node);
  void add_skip(Layer& layer, Node& node);
  void check_shapes(const ForwardInput& input) const;
  void record(Executor& executor, std::span<const float> parameters, const ForwardInput& input,
              Activations& activations) const;
  std::vector<Rows> record_features(const ForwardInput& input, Activations& activations) const;
  ConvCall edge_call(const LayerCall& call, std::size_t edge) const;
  std::vector<ConvTerms> record_joint(const LayerCall& call, const Node* only) const;
  std::vector<ConvTerms> record_edges(const LayerCall& call, const Node* only) const;
  Ending ending_of(const LayerCall& call, const Node& node) const;
  Rows record_node(const LayerCall& call, const Node& node, std::vector<ConvTerms>& terms,
                   MutMatrix into) const;
  const Edge& edge_of(std::uint32_t stage, EdgeTypeId edge_type) const;
  static const Node& node_of(const Layer& layer, NodeTypeId type);
  Rows record_input(Tape& tape, std::size_t node_type, Rows rows, std::size_t count,
                    MutMatrix into) const;
  bool sends_messages() const;
  std::uint32_t first_layer_stage() const;
  std::size_t message_cols(const Layer& layer) const;
  Rows record_stage(Tape& tape, const InferInput& input, MutMatrix into) const;
  Rows record_messages(Tape& tape, const Layer& layer, const LayerBlock& block, Rows rows) const;
  Rows record_layer(Tape& tape, const Layer& layer, const InferInput& input, MutMatrix into) const;
  std::uint64_t pass_bytes(const Edge& edge, const BlockCounts& counts) const;

  ModelOptions options_;
  std::unique_ptr<const Conv> conv_;
  ParameterList parameters_;
  std::vector<Layer> layers_;
  std::vector<std::size_t> inputs_;  ///< by node type: weight and bias of a linear input
  std::size_t decoder_offset_ = 0;   ///< in a flat vector: the network's own parameters end here
};

}  // namespace troupe::nn
