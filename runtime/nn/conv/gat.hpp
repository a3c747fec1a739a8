#pragma once
/// \file gat.hpp
/// Graph attention networks (Veličković et al., ICLR 2018): sum of a_ij W x_j + b over in-neighbors
/// and the node itself, exactly one self loop each, with a_ij = softmax over them of
/// leaky_relu(att_src W x_j + att_dst W x_i, 0.2), for each of several heads. With features of edges, without loops, att_edge W_edge f_ij is
/// added to the score. Training may drop a_ij
/// (ConvCall::attention_mask). Heads stand one after the other, in the last layer their mean, or their mean in all
/// layers. What PyG's GATConv computes.
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

struct GatOptions {
  std::uint32_t heads = 1;
  bool one_loop = true;         ///< false: edges as they are
  bool concat = true;           ///< heads one after the other; false: their mean, in all layers
  bool mean_last = true;        ///< the last layer gives the mean of its heads
  std::uint32_t out_heads = 0;  ///< of the last layer; 0: as many as of the others
  bool drops = false;           ///< training drops weights

  std::uint32_t heads_of(const ConvShape& shape) const {
    return shape.last && out_heads > 0 ? out_heads : heads;
  }
  bool is_mean(const ConvShape& shape) const { return !concat || (shape.last && mean_last); }
  /// Numbers per edge and loop that backward keeps: `copies` of the weights, and those of dropout.
  std::uint64_t weight_numbers(std::uint64_t of_heads, std::uint64_t copies) const {
    return of_heads * (copies + (drops ? 2U : 0U));
  }
  /// Columns of one head.
  std::size_t head_cols(const ConvShape& shape) const {
    return is_mean(shape) ? shape.out : shape.out / heads_of(shape);
  }
};

/// Weights as a term takes them: in training with those dropped that the call's mask has.
Rows dropped_weights(const ConvCall& call, Rows weights);
/// Weights of a block's edges, as a term takes them, from scores of both ends, and of the edges' features where they are read:
/// att_edge W_edge f_ij, parameters `lin_edge`, `att_edge` that follow each other.
Rows scored_attention(const ConvCall& call, Rows source, Rows destination, std::size_t lin_edge,
                      bool one_loop);
/// Those parameters; none without features.
std::vector<NewParameter> edge_parameters(const ConvShape& shape, std::size_t heads,
                                          std::size_t cols);

class GatConv final : public Conv {
 public:
  explicit GatConv(const GatOptions& options) : options_(options) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;

 private:
  GatOptions options_;
};

}  // namespace troupe::nn
