#pragma once
/// \file typed_layers.hpp
/// Which edge types take part in which layer of a model on a typed graph, and which node types have
/// rows between layers. Of GraphSAGE: typed_sage.hpp.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/model.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace troupe::nn {

/// What one layer takes and gives; all lists ascending.
struct TypedLayer {
  std::vector<EdgeTypeId> edges;
  std::vector<NodeTypeId> inputs;   ///< whose rows it reads: their neighbours' or their own
  std::vector<NodeTypeId> outputs;  ///< whose rows it computes

  bool reads(NodeTypeId type) const { return std::ranges::binary_search(inputs, type); }
  bool gives(NodeTypeId type) const { return std::ranges::binary_search(outputs, type); }
};

/// The layers, 0 = nearest the input. All node types have rows before layer 0. A node type has rows
/// after a layer if an edge type ends at it whose source and destination types have rows before it.
/// Of what could be computed only what the seeds' rows after the last layer depend on takes part.
/// \errors invalid_argument: the seeds' type has no rows after the last layer; types out of range
Result<std::vector<TypedLayer>> typed_layers(const ModelTypes& types, std::uint32_t layers);

}  // namespace troupe::nn
