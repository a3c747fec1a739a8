#pragma once
/// \file model.hpp
/// Models with explicit forward and backward, no tape (design, section 14). Parameters and
/// gradients of a model are one flat float32 vector each, so that ranks can reduce them in chunks;
/// `ParameterLayout` names the slices.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

enum class Aggregator : std::uint8_t { mean, max, sum };

/// The types of a graph as a model sees them.
struct ModelTypes {
  struct Node {
    std::string name;
    std::uint64_t cols = 0;  ///< of the features; 0: none
  };
  /// Messages go from the source to the destination.
  struct Edge {
    std::string name;
    NodeTypeId source{};
    NodeTypeId destination{};
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  NodeTypeId seeds{};  ///< whose logits are wanted
};

struct ModelOptions {
  std::string kind = "graphsage";            ///< or "gcn"
  Aggregator aggregator = Aggregator::mean;  ///< graphsage
  std::uint32_t layers = 2;
  std::uint64_t in_dim = 0;
  std::uint64_t hidden = 0;
  std::uint64_t out_dim = 0;
  bool layer_norm = false;  ///< between layer and ReLU, not after the last; eps 1e-5
  bool l2 = false;          ///< rows of each layer's output divided by max(norm, 1e-12)
  float dropout = 0;        ///< on the input of every layer but the first
  float input_dropout = 0;  ///< on the input of the first layer
  ModelTypes types = {};    ///< without any: one node type and one edge type
  bool typed() const { return !types.nodes.empty(); }
};

/// One named slice of the flat parameter vector, shape [rows, cols] row-major (a vector has cols =
/// 1).
struct ParameterSlice {
  std::string name;  ///< e.g. "conv1.lin_l.weight"
  std::size_t offset = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t size() const { return rows * cols; }
};
using ParameterLayout = std::vector<ParameterSlice>;
/// Length of the flat vector.
std::size_t num_parameters(const ParameterLayout& layout);

/// What dropout masks depend on besides layer and column (design, section 4): job seed, epoch,
/// batch, original ids.
struct DropoutContext {
  bool training = false;  ///< false: no dropout at all
  std::uint64_t job_seed = 0;
  std::uint32_t stream_epoch = 0;
  std::uint64_t batch = 0;
  std::uint16_t node_type = 0;
  std::span<const OriginalId>
      ids;  ///< of the batch's nodes, by batch-local index; empty if not training
};

/// What a typed graph has instead of blocks, features and ids.
struct TypedInput {
  /// [layers][edge types], 0 = nearest the input. Destinations and sources are nodes of the edge
  /// type's types; destination i is also row i of its type.
  std::vector<std::vector<LayerBlock>> blocks;
  std::vector<ConstMatrix> features;             ///< by node type: [nodes, columns]
  std::vector<std::span<const OriginalId>> ids;  ///< by node type; none if not training
};

/// Inputs of one forward pass.
struct ForwardInput {
  std::vector<LayerBlock> blocks;  ///< [layers], 0 = nearest the input
  ConstMatrix features;            ///< [blocks[0].num_src, in_dim]
  DropoutContext dropout;
  TypedInput typed = {};
};

/// Input rows of a block of exact inference, unless told otherwise; does not change results.
inline constexpr std::uint64_t infer_block_bytes = std::uint64_t{64} << 20;

/// One pass of exact inference over all nodes of the graph. Its input rows are the features for the
/// first stage, what the stage before made of each node for the others.
struct InferStage {
  std::uint64_t in_cols = 0;
  std::uint64_t out_cols = 0;
  /// Rows of the neighbours are needed; else those of the destinations alone (their edges are
  /// needed in any case).
  bool neighbour_rows = true;
};

/// A model of fixed shape. Stateless: parameters come from outside, activations live in the
/// caller's `Pass`.
/// Threads: const members from any number of threads at once, each with its own Pass.
class Model {
 public:
  /// What forward() keeps for backward(). Reused between batches to spare allocations.
  class Pass {
   public:
    virtual ~Pass() = default;
  };
  virtual ~Model() = default;

  virtual const ModelOptions& options() const = 0;
  virtual const ParameterLayout& layout() const = 0;
  std::size_t num_parameters() const;

  /// Parameters before the first step: domain `initial_weights`, type = parameter number, id = flat
  /// index, uniform.
  virtual std::vector<float> initial_parameters(std::uint64_t job_seed) const = 0;

  virtual std::unique_ptr<Pass> make_pass() const = 0;

  /// Logits of the destinations of the last block, shape [num_dst, out_dim]; valid until the next
  /// forward on `pass`. The same bits for any executor.
  /// \requires shapes fit (asserted)
  virtual ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                              const ForwardInput& input, Pass& pass) const = 0;

  /// Gradient of sum(logits * grad_logits) with respect to the parameters, written to `gradient`
  /// (all of it).
  /// \requires forward() ran on `pass` with the same input and parameters
  virtual void backward(Executor& executor, std::span<const float> parameters,
                        const ForwardInput& input, ConstMatrix grad_logits, Pass& pass,
                        std::span<float> gradient) const = 0;

  /// The stages of exact inference, in order; the last one gives the logits. One per layer, unless
  /// a model says otherwise; none if the model has no exact inference.
  virtual std::vector<InferStage> infer_stages() const;

  /// One stage of exact inference, without dropout: input rows to rows [block.num_dst, out_cols of
  /// the stage]. A row's bits do not depend on which other rows are in the block.
  /// \param stage from 0
  /// \param block  destinations with all their edges, as in the whole graph
  /// \param input  [block.num_src, in_cols of the stage]; without neighbour_rows [block.num_dst or
  ///   more, in_cols]
  virtual Matrix infer_layer(Executor& executor, std::span<const float> parameters,
                             std::uint32_t stage, const LayerBlock& block,
                             ConstMatrix input) const = 0;
  /// The stage before the last one, but with rows [block.num_dst, hidden] as the last layer takes
  /// them, whatever the stage makes of them besides: the nodes' embeddings.
  /// \requires two layers or more
  virtual Matrix infer_embeddings(Executor& executor, std::span<const float> parameters,
                                  const LayerBlock& block, ConstMatrix input) const;
  std::uint64_t output_dim(std::uint32_t layer) const;
};

/// \errors invalid_argument: sizes that make no model; unimplemented: a kind that is not built yet
Result<std::unique_ptr<Model>> make_model(const ModelOptions& options);

}  // namespace troupe::nn
