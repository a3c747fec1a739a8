#pragma once
/// \file gcn.hpp
/// Graph convolutional networks (Kipf and Welling, ICLR 2017) on blocks, normalised as PyG does on
/// a sampled batch: W sum_j x_j / sqrt(deg i * deg j) + b over a node's in-neighbours and itself,
/// exactly one self loop per node, both degrees = sampled in-edges from other nodes + 1. So the
/// seeds get what the layers would give them on the whole sampled graph. Then what layer_stack.hpp
/// says.
///
/// Exact inference needs the degrees of neighbours, which only their owners know. So rows travel
/// ready for the next sum: each stage ends with the next layer's product, where that comes first,
/// and with the division by the root of the node's own degree. Stage 0 does only that, to the
/// features.
#include "runtime/nn/layer_stack.hpp"

namespace troupe::nn {

/// Threads and lifecycle as `Model`.
class Gcn final : public LayerStack {
 public:
  /// \requires options are valid (make_model checks them)
  explicit Gcn(const ModelOptions& options);

  std::vector<InferStage> infer_stages() const override;
  Matrix infer_layer(Executor& executor, std::span<const float> parameters, std::uint32_t stage,
                     const LayerBlock& block, ConstMatrix input) const override;
  Matrix infer_embeddings(Executor& executor, std::span<const float> parameters,
                          const LayerBlock& block, ConstMatrix input) const override;

 private:
  /// One layer from the rows ready for its sum.
  Matrix layer_rows(Executor& executor, std::span<const float> parameters, const StackLayer& layer,
                    const LayerBlock& block, ConstMatrix input, LayerState& state) const;
  void prepare(Executor& executor, const Step& step, LayerState& state) const override;
  void convolve_rows(const Step& step, std::size_t first, const LayerState& state,
                     MutMatrix conv) const override;
  MutMatrix convolve_backward(Executor& executor, const Step& step, ConstMatrix grad,
                              StackPass& pass, std::span<float> gradient) const override;
  /// Rows ready for the sum of `layer`.
  /// \param factors [num_dst] of the rows
  Matrix summands(Executor& executor, std::span<const float> parameters, const StackLayer& layer,
                  ConstMatrix rows, std::span<const float> factors) const;
};

}  // namespace troupe::nn
