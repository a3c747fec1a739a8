#pragma once
/// \file gatv2.hpp
/// Graph attention with dynamic scores (Brody, Alon, Yahav: "How attentive are graph attention
/// networks?", ICLR 2022): sum of a_ij (W_l x_j + b_l) + b over in-neighbors and the node itself,
/// exactly one self loop each, with a_ij = softmax over them of
/// att leaky_relu(W_l x_j + b_l + W_r x_i + b_r, 0.2), for each of several heads. With features of edges, without loops, W_edge f_ij is
/// added before leaky_relu. Heads as GatConv has them. Training may drop a_ij. What PyG's GATv2Conv computes.
/// On a graph of several types, without loops, the softmax runs over the in-neighbors along the edge type, and layers add up
/// what comes along the types that end at a node: PyG's HeteroConv of GATv2Conv with the sum.
#include "runtime/nn/conv/gat.hpp"

namespace troupe::nn {

class Gatv2Conv final : public Conv {
 public:
  /// \param shared  W_r and b_r are W_l and b_l; on graphs of one type
  Gatv2Conv(const GatOptions& options, bool shared) : options_(options), shared_(shared) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;

 private:
  GatOptions options_;
  bool shared_;
};

}  // namespace troupe::nn
