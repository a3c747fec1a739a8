#pragma once
/// \file gcn.hpp
/// Graph convolutional networks (Kipf and Welling, ICLR 2017), normalized as PyG does on a sampled
/// batch: W sum_j x_j / sqrt(deg i * deg j) + b over a node's in-neighbors and itself, exactly one
/// self loop per node, both degrees = sampled in-edges from other nodes + 1. So the seeds get what
/// the layers would give them on the whole sampled graph.
///
/// Messages of exact inference: rows after the product, where that comes first, divided by the root
/// of the node's own degree.
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

class GcnConv final : public Conv {
 public:
  /// \param weighted  edges count by their weights, also in degrees
  explicit GcnConv(bool weighted = false) : weighted_(weighted) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;
  std::optional<std::size_t> message_cols(const ConvShape& shape) const override;
  Rows messages(const ConvCall& call) const override;

 private:
  EdgeFactors factors(const ConvCall& call, const LayerBlock* below) const;

  bool weighted_;
};

}  // namespace troupe::nn
