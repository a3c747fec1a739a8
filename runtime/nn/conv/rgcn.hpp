#pragma once
/// \file rgcn.hpp
/// Relational graph convolutional networks (Schlichtkrull et al.: "Modeling relational data with graph
/// convolutional networks", ESWC 2018): root x_i + b + sum over relations r of W_r mean(x_j) over
/// in-neighbors along r. A relation is an edge type; root and b are those of a node type. With bases,
/// W_r = sum over b of comp[r, b] V_b, the V_b common to all relations of a layer. What PyG's
/// RGCNConv computes with its default aggregation.
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

class RgcnConv final : public Conv {
 public:
  /// \param bases  0: each relation has a matrix of its own
  explicit RgcnConv(std::uint32_t bases) : bases_(bases) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  std::vector<NewParameter> shared_parameters(std::span<const ConvShape> shapes) const override;
  std::vector<NewParameter> node_parameters(const ConvShape& shape) const override;
  ConvTerms node_terms(std::size_t parameter) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;
  SourceUse source_use(const ConvShape& shape) const override;
  bool takes_listed_rows() const override { return true; }

 private:
  /// Whether the product comes first.
  bool is_narrowing(const ConvShape& shape) const {
    return bases_ == 0 && shape.out < shape.source;
  }

  std::uint32_t bases_;
};

}  // namespace troupe::nn
