#pragma once
/// \file network_layer_call.hpp
/// One layer of a network at work; shared by the network's sources alone.
#include "runtime/nn/network.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// One layer at work on one batch, or on a block of exact inference.
struct Network::LayerCall {
  Tape& tape;
  const Layer& layer;
  const std::vector<LayerBlock>& blocks;           ///< by edge type
  const std::vector<LayerBlock>* below = nullptr;  ///< of the layer below
  std::vector<Rows> rows;                          ///< by node type
  std::vector<Rows> sources = {};  ///< by position in Layer::edges, read in place; empty: `rows`
  std::optional<Rows> own = {};    ///< with `sources`: of the destinations
  const ForwardInput* dropout = nullptr;            ///< null: without
  std::span<const ConstMatrix> edge_features = {};  ///< by edge type; empty: the model reads none
  bool messages = false;
  std::size_t count(const Node& node) const {
    return blocks[layer.edges[node.edges.front()].type].num_dst;
  }
};

}  // namespace troupe::nn
