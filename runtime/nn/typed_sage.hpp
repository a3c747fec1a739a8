#pragma once
/// \file typed_sage.hpp
/// GraphSAGE on graphs with several node and edge types. A row of node type v after a layer is the
/// sum, over the edge types e that end at v and take part (typed_layers.hpp), of
/// W_e aggregate(neighbours along e) + b_e + S_e self, then what layer_finish.hpp says: what PyG's
/// HeteroConv of SAGEConv with aggr "sum" computes. Only the seeds' type has rows after the last
/// layer.
#include "runtime/nn/aggregate.hpp"
#include "runtime/nn/grow_buffer.hpp"
#include "runtime/nn/layer_finish.hpp"
#include "runtime/nn/model.hpp"
#include "runtime/nn/parameter_list.hpp"
#include "runtime/nn/typed_layers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {

/// Threads and lifecycle as `Model`. It has no exact inference.
class TypedSage final : public Model {
 public:
  /// \param layers  typed_layers() of the options
  /// \requires the other options are valid (make_model checks them)
  TypedSage(const ModelOptions& options, const std::vector<TypedLayer>& layers);

  const ModelOptions& options() const override { return options_; }
  const ParameterLayout& layout() const override { return parameters_.layout(); }
  std::vector<float> initial_parameters(std::uint64_t job_seed) const override {
    return parameters_.initial_values(job_seed);
  }
  std::unique_ptr<Pass> make_pass() const override;
  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const ForwardInput& input, Pass& pass) const override;
  void backward(Executor& executor, std::span<const float> parameters, const ForwardInput& input,
                ConstMatrix grad_logits, Pass& pass, std::span<float> gradient) const override;
  std::vector<InferStage> infer_stages() const override { return {}; }
  Matrix infer_layer(Executor& executor, std::span<const float> parameters, std::uint32_t stage,
                     const LayerBlock& block, ConstMatrix input) const override;

 private:
  /// An edge type in a layer.
  struct Edge {
    std::size_t type = 0;
    std::size_t source = 0;
    std::size_t in = 0;  ///< columns of the source's rows
    /// The product before the aggregation, as in StackLayer.
    bool transform_first = false;
    std::size_t left = 0;  ///< the parameters W_e, b_e, S_e
    std::size_t bias() const { return left + 1; }
    std::size_t right() const { return left + 2; }
  };
  /// A node type that a layer gives rows of.
  struct Node {
    std::size_t type = 0;
    std::size_t in = 0;
    std::vector<std::size_t> edges;  ///< positions in Layer::edges of those that end here
    std::size_t norm = 0;            ///< the parameters gain and bias, if the layer has them
  };
  struct Layer {
    std::uint32_t number = 0;
    std::size_t out = 0;
    bool last = false;
    bool norm = false;
    std::vector<Edge> edges;
    std::vector<Node> nodes;
    std::vector<std::size_t> inputs;  ///< node types
  };
  /// What an edge type in a layer keeps for backward.
  struct EdgeState {
    ConstMatrix summands;  ///< [num_src, in or out] the rows that are aggregated
    MutMatrix aggregated;  ///< [num_dst, in or out]
    std::span<std::uint32_t> argmax;
    EdgesBySource by_source;
    /// Where the product comes first: of what it made [num_src, out]; else of `aggregated`.
    MutMatrix grad_neighbours;
    GrowBuffer<float> transformed_memory;
    GrowBuffer<float> aggregated_memory;
    GrowBuffer<std::uint32_t> argmax_memory;
    GrowBuffer<float> gradient_memory;
  };
  /// What a node type in a layer keeps. All S_e of it see the same rows, so their sum does.
  struct NodeState : FinishState {
    MutMatrix self_weight;  ///< [out, in]
    std::span<float> bias;  ///< [out] sum of all b_e
    GrowBuffer<float> self_memory;
    GrowBuffer<float> bias_memory;
  };
  struct LayerState {
    std::vector<EdgeState> edges;   ///< as Layer::edges
    std::vector<NodeState> nodes;   ///< as Layer::nodes
    std::vector<ConstMatrix> rows;  ///< by node type: the layer's input, after dropout
  };
  struct Gradients {
    MutMatrix rows;
    std::array<GrowBuffer<float>, 2> memory;  ///< of layers in turn
  };
  struct TypedPass final : Pass {
    std::vector<LayerState> layers;
    std::vector<GrowBuffer<float>> dropped;  ///< by node type: features, with input_dropout only
    std::vector<Gradients> gradients;        ///< by node type
    GrowBuffer<float> weight_partials;
    FinishScratch finish;
  };
  /// One layer at work on one batch.
  struct Step {
    const Layer& layer;
    std::span<const float> parameters;
    const ForwardInput& input;
    LayerState& state;
    const LayerBlock& block(const Edge& edge) const {
      return input.typed.blocks[layer.number][edge.type];
    }
    /// Rows that the layer gives of a node type.
    std::size_t count(const Node& node) const { return block(layer.edges[node.edges[0]]).num_dst; }
  };

  std::size_t cols_before(std::uint32_t layer, std::size_t node_type) const;
  void add_edge(EdgeTypeId type, Layer& layer);
  void add_norm(const Layer& layer, Node& node);
  void check_shapes(std::span<const float> parameters, const ForwardInput& input) const;
  void check_block(const Layer& layer, const Node& node, const Edge& edge,
                   const ForwardInput& input) const;
  void drop_features(Executor& executor, const ForwardInput& input, TypedPass& pass) const;
  void prepare_edge(Executor& executor, const Step& step, std::size_t position) const;
  void prepare_node(const Step& step, std::size_t position) const;
  LayerFinish finish_of(const Step& step, const Node& node) const;
  ConstMatrix compute_node(Executor& executor, const Step& step, std::size_t position) const;
  void convolve_rows(const Step& step, std::size_t position, std::size_t first,
                     MutMatrix conv) const;

  // typed_sage_backward.cpp
  void sort_by_source(Executor& executor, const ForwardInput& input, TypedPass& pass) const;
  void node_backward(Executor& executor, const Step& step, std::size_t position, TypedPass& pass,
                     std::span<float> gradient) const;
  void edge_backward(Executor& executor, const Step& step, std::size_t position, ConstMatrix grad,
                     TypedPass& pass, std::span<float> gradient) const;
  MutMatrix input_gradient(Executor& executor, const Step& step, std::size_t node_type,
                           TypedPass& pass) const;
  void add_edge_gradients(const Step& step, std::size_t node_type, std::size_t first,
                          MutMatrix rows) const;

  ModelOptions options_;
  ParameterList parameters_;
  std::vector<Layer> layers_;
};

}  // namespace troupe::nn
