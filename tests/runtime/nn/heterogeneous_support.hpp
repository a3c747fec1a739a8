#pragma once
/// \file heterogeneous_support.hpp
/// Blocks of heterogeneous graphs, random and golden, for the tests of this room.
#include "runtime/nn/network.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::nn::testing {

/// author 0, paper 1, venue 2, as tests/goldens/heterogeneous/make.py has them.
inline ModelTypes golden_types(std::uint16_t seeds) {
  return {.nodes = {{"author", 5}, {"paper", 6}, {"venue", 2}},
          .edges = {{"writes", NodeTypeId{0}, NodeTypeId{1}},
                    {"written_by", NodeTypeId{1}, NodeTypeId{0}},
                    {"cites", NodeTypeId{1}, NodeTypeId{1}},
                    {"holds", NodeTypeId{2}, NodeTypeId{1}}},
          .seeds = NodeTypeId{seeds}};
}

/// What a ForwardInput of a heterogeneous graph borrows.
struct HeteroBatch {
  std::vector<std::vector<OwnedBlock>> blocks;           ///< [layer][edge type]
  std::vector<std::vector<std::vector<float>>> weights;  ///< the same, of edges; empty: none
  std::vector<Matrix> features;                          ///< by node type
  std::vector<Matrix> edge_features = {};                ///< by edge type; empty: none
  std::vector<std::vector<OriginalId>> ids;

  ForwardInput input(bool training) const {
    ForwardInput in;
    for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
      auto& views = in.blocks.emplace_back();
      for (std::size_t e = 0; e < blocks[layer].size(); ++e) {
        views.push_back(blocks[layer][e].view());
        if (!weights.empty()) {
          views.back().weights = weights[layer][e];
        }
      }
    }
    for (const Matrix& x : features) {
      in.features.push_back(x.view());
    }
    for (const Matrix& x : edge_features) {
      in.edge_features.push_back(x.view());
    }
    if (training) {
      in.ids.assign(ids.begin(), ids.end());
    }
    in.dropout = {
        .training = training, .job_seed = 5, .stream_epoch = 1, .batch = 2, .node_type = 0};
    return in;
  }
};

/// Weights of all edges, some of them 0 or below.
inline void add_edge_weights(HeteroBatch& batch) {
  for (const auto& of_layer : batch.blocks) {
    auto& weights = batch.weights.emplace_back();
    for (const OwnedBlock& block : of_layer) {
      auto& values = weights.emplace_back();
      for (std::size_t e = 0; e < block.sources.size(); ++e) {
        values.push_back(static_cast<float>(e % 7) - 1.5F);
      }
    }
  }
}

/// Features of edges by position in `sources`, enough for every layer's blocks.
inline void add_edge_features(HeteroBatch& batch, std::size_t cols) {
  for (std::size_t e = 0; e < batch.blocks.front().size(); ++e) {
    std::size_t most = 0;
    for (const auto& of_layer : batch.blocks) {
      most = std::max(most, of_layer[e].sources.size());
    }
    batch.edge_features.push_back(random_matrix(most, cols, 900 + e));
  }
}

/// \param rows  [layers + 1][node type] before each layer and after the last
inline HeteroBatch random_hetero_batch(const ModelTypes& types,
                                       const std::vector<std::vector<std::uint32_t>>& rows,
                                       std::uint64_t seed) {
  HeteroBatch batch;
  for (std::size_t layer = 0; layer + 1 < rows.size(); ++layer) {
    auto& blocks = batch.blocks.emplace_back();
    for (const auto& edge : types.edges) {
      const auto sources = rows[layer][raw(edge.source)];
      blocks.push_back(random_block(rows[layer + 1][raw(edge.destination)], sources,
                                    sources == 0 ? 0 : 5, ++seed));
    }
  }
  for (std::size_t t = 0; t < types.nodes.size(); ++t) {
    batch.features.push_back(random_matrix(rows[0][t], types.nodes[t].cols, ++seed));
    auto& ids = batch.ids.emplace_back();
    for (std::uint32_t i = 0; i < rows[0][t]; ++i) {
      ids.push_back(OriginalId{1000 + 7 * std::uint64_t{i}});
    }
  }
  return batch;
}

inline OwnedBlock golden_edge_block(const std::string& name, std::uint32_t num_src) {
  OwnedBlock block{.num_dst = 0,
                   .num_src = num_src,
                   .offsets = golden("heterogeneous/" + name + "_indptr").as<std::uint32_t>(),
                   .sources = golden("heterogeneous/" + name + "_indices").as<std::uint32_t>()};
  block.num_dst = static_cast<std::uint32_t>(block.offsets.size() - 1);
  return block;
}

/// The graph of the goldens, with the first one or both of its layers.
inline HeteroBatch golden_hetero_batch(std::uint32_t layers) {
  const std::vector<std::vector<std::uint32_t>> rows = {{11, 17, 4}, {8, 9, 3}};
  const ModelTypes types = golden_types(0);
  HeteroBatch batch;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    auto& blocks = batch.blocks.emplace_back();
    for (const auto& edge : types.edges) {
      blocks.push_back(
          golden_edge_block(edge.name + std::to_string(layer + 1), rows[layer][raw(edge.source)]));
    }
  }
  for (const auto& node : types.nodes) {
    batch.features.push_back(golden_matrix("heterogeneous/x_" + node.name));
  }
  return batch;
}

}  // namespace troupe::nn::testing
