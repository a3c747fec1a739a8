#pragma once
/// \file sage.hpp
/// GraphSAGE (Hamilton, Ying, Leskovec: "Inductive representation learning on large graphs", NIPS
/// 2017): W_l aggregate(neighbors) + b_l + W_r own. Along several edge types the sum of those is
/// what PyG's HeteroConv of SAGEConv computes with aggr "sum". With features of edges W_edge aggregate(f_ij) is
/// added: the same as one matrix for the aggregate of rows [x_j, f_ij].
#include "runtime/nn/conv/conv.hpp"

namespace troupe::nn {

class SageConv final : public Conv {
 public:
  /// \param weighted  neighbors' rows count times the weights of their edges; not for the maximum
  explicit SageConv(Aggregator aggregator, bool weighted = false)
      : aggregator_(aggregator), weighted_(weighted) {}
  std::vector<NewParameter> parameters(const ConvShape& shape) const override;
  ConvTerms record(const ConvCall& call) const override;
  std::uint64_t pass_numbers(const ConvShape& shape, const BlockCounts& counts) const override;
  SourceUse source_use(const ConvShape& shape) const override;

 private:
  Term neighbors(const ConvCall& call, const LayerBlock& block, Rows rows,
                 std::vector<std::size_t> weights) const;

  Aggregator aggregator_;
  bool weighted_;
};

}  // namespace troupe::nn
