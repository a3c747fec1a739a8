#pragma once
/// \file gin.hpp
/// Graph isomorphism networks (Xu et al., ICLR 2019): W2 relu(W1 ((1 + eps) x_i + sum_j x_j) + b1) + b2
/// over in-neighbors j. What PyG's GINConv computes with a perceptron of two layers, eps fixed or trained.
/// With features of edges a neighbor counts as relu(x_j + W_edge f_ij + b_edge) (Hu et al., "Strategies for
/// pre-training graph neural networks", ICLR 2020), as in PyG's GINEConv.
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

struct GinOptions {
  float eps = 0;           ///< where it is not trained; else where it starts
  bool trained = false;    ///< eps is a parameter
  bool weighted = false;   ///< neighbors' rows count times the weights of their edges
  std::size_t hidden = 0;  ///< columns between the two products; 0: those of the result
};

class GinConv final : public Conv {
 public:
  explicit GinConv(const GinOptions& options) : options_(options) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;
  SourceUse source_use(const ConvShape& shape) const override;

 private:
  /// In-neighbors' rows, or those of in-edges, and own ones: before the perceptron, or after its first product.
  std::vector<Term> sums(const ConvCall& call, const LayerBlock& block, Rows neighbors,
                         Rows own) const;
  /// [block's edges, source] what neighbors count as.
  Rows messages_of_edges(const ConvCall& call) const;
  std::size_t lin_edge(const ConvCall& call) const {
    return call.parameter + (options_.trained ? 5 : 4);
  }
  std::size_t hidden(const ConvShape& shape) const {
    return options_.hidden > 0 ? options_.hidden : shape.out;
  }

  GinOptions options_;
};

}  // namespace troupe::nn
