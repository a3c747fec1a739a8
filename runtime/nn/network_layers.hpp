#pragma once
/// \file network_layers.hpp
/// Types of a graph as a network sees them, and which edge types take part in which layer.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::nn {

struct ModelTypes {
  struct Node {
    std::string name;
    std::uint64_t cols = 0;  ///< of the features; 0: none
  };
  /// Messages go from the source to the destination.
  struct Edge {
    std::string name;
    NodeTypeId source{};
    NodeTypeId destination{};
    std::uint64_t cols = 0;  ///< of the edges' features that the model reads; 0: none
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  NodeTypeId seeds{};  ///< whose logits are wanted
  /// Types of the other ends of links, whose rows after the last layer are wanted too.
  std::vector<NodeTypeId> other_ends = {};

  /// Several node or edge types: parameters have the types' names.
  bool heterogeneous() const { return nodes.size() > 1 || edges.size() > 1; }
  /// Types with rows after the last layer: `seeds`, then the others.
  std::vector<NodeTypeId> outputs() const {
    std::vector<NodeTypeId> outputs{seeds};
    for (const NodeTypeId type : other_ends) {
      if (std::ranges::find(outputs, type) == outputs.end()) {
        outputs.push_back(type);
      }
    }
    return outputs;
  }
};

/// Types that one layer takes and gives; all lists ascending.
struct LayerTypes {
  std::vector<EdgeTypeId> edges;
  std::vector<NodeTypeId> inputs;   ///< whose rows it reads: their neighbors' or their own
  std::vector<NodeTypeId> outputs;  ///< whose rows it computes

  bool reads(NodeTypeId type) const { return std::ranges::binary_search(inputs, type); }
  bool gives(NodeTypeId type) const { return std::ranges::binary_search(outputs, type); }
};

/// The layers, 0 = nearest the input. All node types have rows before layer 0. A node type has rows
/// after a layer if an edge type ends at it whose source and destination types have rows before it.
/// Of what could be computed only what the seeds' rows after the last layer depend on takes part.
/// \errors invalid_argument: a type of outputs() has no rows after the last layer; types out of range
Result<std::vector<LayerTypes>> layer_types(const ModelTypes& types, std::uint32_t layers);

}  // namespace troupe::nn
