#pragma once
/// \file graphsage.hpp
/// GraphSAGE (Hamilton, Ying, Leskovec: "Inductive representation learning on large graphs", NIPS
/// 2017) on blocks. A layer is W_l aggregate(neighbours) + b_l + W_r self, then what
/// layer_stack.hpp says.
#include "runtime/nn/layer_stack.hpp"

namespace troupe::nn {

/// Threads and lifecycle as `Model`.
class GraphSage final : public LayerStack {
 public:
  /// \requires options are valid (make_model checks them)
  explicit GraphSage(const ModelOptions& options);

  Matrix infer_layer(Executor& executor, std::span<const float> parameters, std::uint32_t stage,
                     const LayerBlock& block, ConstMatrix input) const override;

 private:
  void prepare(Executor& executor, const Step& step, LayerState& state) const override;
  void convolve_rows(const Step& step, std::size_t first, const LayerState& state,
                     MutMatrix conv) const override;
  MutMatrix convolve_backward(Executor& executor, const Step& step, ConstMatrix grad,
                              StackPass& pass, std::span<float> gradient) const override;
  /// \param grad_neighbours of the aggregated rows, or of the rows that were aggregated
  MutMatrix input_gradient(Executor& executor, const Step& step, ConstMatrix grad,
                           ConstMatrix grad_neighbours, StackPass& pass) const;
};

}  // namespace troupe::nn
