#pragma once
/// \file layer_stack.hpp
/// What models that stack one kind of convolution over blocks have in common: dropout, the layers'
/// shapes and parameters, and what follows a convolution (layer_finish.hpp). For the models of this
/// room, not for their users.
#include "runtime/nn/aggregate.hpp"
#include "runtime/nn/dropout.hpp"
#include "runtime/nn/grow_buffer.hpp"
#include "runtime/nn/layer_finish.hpp"
#include "runtime/nn/model.hpp"
#include "runtime/nn/parameter_list.hpp"
#include "runtime/nn/weighted_sum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::nn {

/// Shape of a layer and where its parameters lie in the layout.
struct StackLayer {
  std::uint32_t number = 0;
  std::size_t in = 0;
  std::size_t out = 0;
  bool last = false;
  bool norm = false;
  /// The product before the aggregation: where rows get narrower and the aggregation is linear.
  /// Depends on shape alone.
  bool transform_first = false;
  std::size_t first_slice = 0;  ///< the convolution's parameters, then norm.weight, norm.bias
  std::size_t norm_slice = 0;
};

/// A parameter of a convolution. The second one of every convolution is its bias.
struct ConvParameter {
  std::string name;
  std::size_t rows = 0;
  std::size_t cols = 0;
  float bound = 0;  ///< starts uniform in ±bound
};

/// What one layer keeps for its backward pass. The views lie in the memory beside them, in the
/// caller's features, or in the layer before.
struct LayerState : FinishState {
  ConstMatrix input;     ///< [num_src, in] after dropout
  ConstMatrix summands;  ///< [num_src, in or out] the rows that are aggregated
  MutMatrix aggregated;  ///< [num_dst, in], where the product comes after the aggregation
  std::span<std::uint32_t> argmax;  ///< GraphSAGE: [num_dst * in] for max
  EdgeFactors factors;              ///< GCN
  EdgesBySource by_source;

  GrowBuffer<float> input_memory;  ///< first layer with input_dropout only
  GrowBuffer<float> aggregated_memory;
  GrowBuffer<float> transformed_memory;  ///< [num_src, out], where the product comes first
  GrowBuffer<std::uint32_t> argmax_memory;
  GcnFactors factor_memory;
};

struct StackPass final : Model::Pass {
  std::vector<LayerState> layers;
  std::array<GrowBuffer<float>, 2> gradients;  ///< of the rows between layers, in turn
  GrowBuffer<float> grad_aggregated;
  GrowBuffer<float> grad_transformed;
  GrowBuffer<float> weight_partials;
  FinishScratch finish;
};

/// Threads and lifecycle as `Model`.
class LayerStack : public Model {
 public:
  const ModelOptions& options() const override { return options_; }
  const ParameterLayout& layout() const override { return parameters_.layout(); }
  std::vector<float> initial_parameters(std::uint64_t job_seed) const override;
  std::unique_ptr<Pass> make_pass() const override;
  ConstMatrix forward(Executor& executor, std::span<const float> parameters,
                      const ForwardInput& input, Pass& pass) const override;
  void backward(Executor& executor, std::span<const float> parameters, const ForwardInput& input,
                ConstMatrix grad_logits, Pass& pass, std::span<float> gradient) const override;

 protected:
  using ConvParameters = std::vector<ConvParameter> (*)(std::size_t in, std::size_t out);
  /// \param linear  the aggregation is linear
  LayerStack(const ModelOptions& options, ConvParameters conv_parameters, bool linear);

  /// One layer at work on one block.
  struct Step {
    const StackLayer& layer;
    std::span<const float> parameters;  ///< of the whole model
    const LayerBlock& block;
    const LayerBlock* below;  ///< of the layer below, if there is one in the batch
    DropoutMask next_mask;    ///< dropout of the next layer's input; inactive after the last
    std::span<const OriginalId> ids;  ///< of the batch's nodes, if the mask is active
    bool keep = true;                 ///< what only backward needs
  };
  /// One that stands alone: no dropout, nothing kept.
  static Step inference_step(const StackLayer& layer, std::span<const float> parameters,
                             const LayerBlock& block) {
    return {layer, parameters, block, nullptr, {}, {}, false};
  }

  /// Computes what rows of the convolution need from other rows than the aggregated ones.
  virtual void prepare(Executor& executor, const Step& step, LayerState& state) const = 0;
  /// Destinations [first, first + conv.rows) of the convolution, without its bias.
  virtual void convolve_rows(const Step& step, std::size_t first, const LayerState& state,
                             MutMatrix conv) const = 0;
  /// Writes the gradients of the convolution's parameters, but for the bias, into the model's
  /// `gradient`, and returns the gradient of the layer's input in the pass's memory: nothing for
  /// the first layer, where nobody needs it.
  /// \param grad [num_dst, out] of the convolution
  virtual MutMatrix convolve_backward(Executor& executor, const Step& step, ConstMatrix grad,
                                      StackPass& pass, std::span<float> gradient) const = 0;

  /// From what prepare() left in `state` to `out` [num_dst, out].
  void compute_layer(Executor& executor, const Step& step, LayerState& state, MutMatrix out) const;
  /// summands = input W^T for all sources.
  void transform_sources(Executor& executor, const Step& step, ConstMatrix weight,
                         LayerState& state) const;
  void check_inference(std::span<const float> parameters, const StackLayer& layer,
                       const LayerBlock& block, std::size_t rows, bool fits) const;

  const std::vector<StackLayer>& layers() const { return layers_; }
  /// The i-th parameter of a layer's convolution in a flat vector of the model's size.
  template <class T>
  std::span<T> vector_of(const StackLayer& layer, std::size_t i, std::span<T> flat) const {
    return parameters_.vector_of(layer.first_slice + i, flat);
  }
  template <class T>
  MatrixView<T> matrix_of(const StackLayer& layer, std::size_t i, std::span<T> flat) const {
    return parameters_.matrix_of(layer.first_slice + i, flat);
  }

 private:
  void check_shapes(std::span<const float> parameters, const ForwardInput& input) const;
  void drop_features(Executor& executor, const ForwardInput& input, LayerState& state) const;
  LayerFinish finish_of(const Step& step) const;
  /// Turns `grad` [num_dst, out] of the layer's output into that of its convolution, in place, and
  /// writes the gradients of bias and normalisation.
  void end_backward(Executor& executor, const Step& step, MutMatrix grad, StackPass& pass,
                    std::span<float> gradient) const;

  ModelOptions options_;
  ParameterList parameters_;
  std::vector<StackLayer> layers_;
};

}  // namespace troupe::nn
