#pragma once
/// \file graphsage.hpp
/// GraphSAGE (Hamilton, Ying, Leskovec: "Inductive representation learning on large graphs", NIPS
/// 2017) on blocks. A layer is W_l aggregate(neighbours) + b_l + W_r self, then, as set, division
/// by the row's length, layer normalisation and ReLU (the last layer has neither of the last two).
#include "runtime/nn/aggregate.hpp"
#include "runtime/nn/dropout.hpp"
#include "runtime/nn/grow_buffer.hpp"
#include "runtime/nn/model.hpp"
#include "runtime/nn/ops.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// What one layer keeps for its backward pass. The views lie in the memory beside them, in the
/// caller's features, or in the layer before.
struct SageLayerState {
  ConstMatrix input;                ///< [num_src, in] after dropout
  ConstMatrix aggregated;           ///< [num_dst, in], where W_l comes after the aggregation
  ConstMatrix conv;                 ///< [num_dst, out] before layer normalisation and ReLU
  ConstMatrix output;               ///< [num_dst, out] after ReLU and the next layer's dropout
  std::span<std::uint32_t> argmax;  ///< [num_dst * in] for max
  std::span<float> lengths;         ///< [num_dst] for l2
  std::span<NormStats> stats;       ///< [num_dst] for layer_norm
  EdgesBySource by_source;

  GrowBuffer<float> input_memory;  ///< first layer with input_dropout only
  GrowBuffer<float> aggregated_memory;
  GrowBuffer<float> transformed_memory;  ///< [num_src, out], where W_l comes first
  GrowBuffer<float> conv_memory;         ///< where `conv` is not `output`
  GrowBuffer<float> output_memory;
  GrowBuffer<std::uint32_t> argmax_memory;
  GrowBuffer<float> lengths_memory;
  GrowBuffer<NormStats> stats_memory;
};

struct SagePass final : Model::Pass {
  std::vector<SageLayerState> layers;
  std::array<GrowBuffer<float>, 2> gradients;  ///< of the rows between layers, in turn
  GrowBuffer<float> grad_aggregated;
  GrowBuffer<float> grad_transformed;
  GrowBuffer<float> weight_partials;
  GrowBuffer<float> column_partials;
  GrowBuffer<float> column_sums;
};

/// Threads and lifecycle as `Model`.
class GraphSage final : public Model {
 public:
  /// \requires options are valid (make_model checks them)
  explicit GraphSage(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  const ParameterLayout& layout() const override { return layout_; }
  std::vector<float> initial_parameters(std::uint64_t job_seed) const override;
  std::unique_ptr<Pass> make_pass() const override;
  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const ForwardInput& input, Pass& pass) const override;
  void backward(Executor& executor, std::span<const float> parameters, const ForwardInput& input,
                ConstMatrix grad_logits, Pass& pass, std::span<float> gradient) const override;
  Matrix infer_layer(Executor& executor, std::span<const float> parameters, std::uint32_t layer,
                     const LayerBlock& block, ConstMatrix input) const override;

 private:
  /// Shape of a layer and where its parameters lie in the layout.
  struct Layer {
    std::uint32_t number = 0;
    std::size_t in = 0;
    std::size_t out = 0;
    bool last = false;
    bool norm = false;
    /// W_l before the aggregation: where rows get narrower and the aggregation is linear. Depends
    /// on shape alone.
    bool transform_first = false;
    std::size_t first_slice =
        0;  ///< lin_l.weight, lin_l.bias, lin_r.weight, norm.weight, norm.bias
  };

  /// A layer's parameters, or their gradients.
  template <class T>
  struct Weights {
    MatrixView<T> left;
    std::span<T> bias;
    MatrixView<T> right;
    std::span<T> gain;  ///< empty without layer_norm, as norm_bias
    std::span<T> norm_bias;
  };
  template <class T>
  Weights<T> weights_of(const Layer& layer, std::span<T> flat) const;

  /// One layer at work on one block.
  struct Step {
    const Layer& layer;
    Weights<const float> weights;
    const LayerBlock& block;
    DropoutMask next_mask;  ///< dropout of the next layer's input; inactive after the last
    std::span<const OriginalId> ids;  ///< of the batch's nodes, if the mask is active
    bool keep = true;                 ///< what only backward needs
  };

  void add_slice(std::string name, std::size_t rows, std::size_t cols);
  void check_shapes(std::span<const float> parameters, const ForwardInput& input) const;
  void drop_features(Executor& executor, const ForwardInput& input, SageLayerState& state) const;
  /// From `state.input` to `out` [num_dst, out].
  void forward_layer(Executor& executor, const Step& step, SageLayerState& state,
                     MutMatrix out) const;
  void finish_rows(const Step& step, std::size_t first, const SageLayerState& state, MutMatrix conv,
                   MutMatrix out) const;

  /// Turns `grad` [num_dst, out] into the gradient before bias, in place, writes the layer's
  /// parameter gradients and returns the gradient of its input in the pass's memory: nothing for
  /// the first layer, where nobody needs it.
  MutMatrix backward_layer(Executor& executor, const Step& step, MutMatrix grad, SagePass& pass,
                           const Weights<float>& gradient) const;
  void finish_backward_rows(const Step& step, std::size_t first, const SageLayerState& state,
                            MutMatrix grad, std::span<float> column_sums) const;
  MutMatrix input_gradient(Executor& executor, const Step& step, ConstMatrix grad,
                           ConstMatrix grad_neighbours, SagePass& pass) const;

  ModelOptions options_;
  ParameterLayout layout_;
  std::vector<Layer> layers_;
};

template <class T>
GraphSage::Weights<T> GraphSage::weights_of(const Layer& layer, std::span<T> flat) const {
  const auto part = [&](std::size_t i) {
    const ParameterSlice& slice = layout_[layer.first_slice + i];
    return flat.subspan(slice.offset, slice.size());
  };
  Weights<T> weights{.left = {part(0).data(), layer.out, layer.in},
                     .bias = part(1),
                     .right = {part(2).data(), layer.out, layer.in},
                     .gain = {},
                     .norm_bias = {}};
  if (layer.norm) {
    weights.gain = part(3);
    weights.norm_bias = part(4);
  }
  return weights;
}

}  // namespace troupe::nn
