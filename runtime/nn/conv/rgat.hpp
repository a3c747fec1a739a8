#pragma once
/// \file rgat.hpp
/// Attention along each edge type on its own, and the sum over the edge types that end at a node, as
/// relational graph attention networks have it (Busbridge et al., 2019, within relations): sum of
/// a_ij W_src x_j + b over in-neighbors, a_ij = softmax over those along the edge type of
/// leaky_relu(att_src W_src x_j + att_dst W_dst x_i, 0.2), for each of several heads. Heads as GatConv
/// has them, as dropout of a_ij; no loops are added. What PyG's HeteroConv of GATConv computes for two
/// node types, with the sum.
#include "runtime/nn/conv/gat.hpp"

namespace troupe::nn {

class RgatConv final : public Conv {
 public:
  /// \param options  `one_loop` is not read
  explicit RgatConv(const GatOptions& options) : options_(options) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;

 private:
  GatOptions options_;
};

}  // namespace troupe::nn
