#pragma once
/// \file hgt.hpp
/// Heterogeneous graph transformers (Hu, Dong, Wang, Sun: "Heterogeneous graph transformer", WWW 2020).
/// Per node type q = W_q x + b_q, k = W_k x + b_k, v = W_v x + b_v; along an edge type, for each head,
/// a_ij = softmax of p (q_i . A k_j) / sqrt(columns of a head) over the in-edges of all edge types
/// together, and the sum of a_ij M v_j; then W_o gelu(sum) + b_o, and where the layer keeps the columns,
/// s times that and 1 - s times the row before it, s = 1 / (1 + exp(-skip)) per node type. What PyG's
/// HGTConv computes; inside, rows have `width` columns in every layer.
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

struct HgtOptions {
  std::uint32_t heads = 1;
  std::size_t width = 0;  ///< columns of all heads together
};

class HgtConv final : public Conv {
 public:
  explicit HgtConv(const HgtOptions& options) : options_(options) {}
  bool is_joint() const override { return true; }
  std::vector<NewParameter> source_parameters(const ConvShape& shape) const override;
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  std::vector<NewParameter> node_parameters(const ConvShape& shape) const override;
  std::vector<Rows> record_source(Tape& tape, Rows rows, std::size_t parameter) const override;
  ConvTerms record_joint(const JointCall& call) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;

 private:
  std::size_t head_cols() const { return options_.width / options_.heads; }

  HgtOptions options_;
};

}  // namespace troupe::nn
