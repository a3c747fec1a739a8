#include "runtime/nn/network_layers.hpp"

#include <fmt/format.h>

namespace troupe::nn {
namespace {

using Flags = std::vector<bool>;

template <class Id>
std::vector<Id> ids_of(const Flags& flags) {
  std::vector<Id> ids;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) {
      ids.push_back(static_cast<Id>(i));
    }
  }
  return ids;
}

Status check_range(const ModelTypes& types) {
  const auto nodes = types.nodes.size();
  for (const NodeTypeId output : types.outputs()) {
    if (raw(output) >= nodes) {
      return Error(Errc::invalid_argument,
                   fmt::format("seeds: expected a node type below {}, got {}", nodes, raw(output)));
    }
  }
  for (const auto& edge : types.edges) {
    if (raw(edge.source) >= nodes || raw(edge.destination) >= nodes) {
      return Error(Errc::invalid_argument,
                   fmt::format("edge type \"{}\": expected node types below {}, got {} and {}",
                               edge.name, nodes, raw(edge.source), raw(edge.destination)));
    }
  }
  return ok_status();
}

/// [layers + 1] node types that have rows before each layer, and after the last.
std::vector<Flags> with_rows(const ModelTypes& types, std::uint32_t layers) {
  std::vector<Flags> rows{Flags(types.nodes.size(), true)};
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    const Flags& before = rows.back();
    Flags after(types.nodes.size());
    for (const auto& edge : types.edges) {
      if (before[raw(edge.source)] && before[raw(edge.destination)]) {
        after[raw(edge.destination)] = true;
      }
    }
    rows.push_back(std::move(after));
  }
  return rows;
}

}  // namespace

Result<std::vector<LayerTypes>> layer_types(const ModelTypes& types, std::uint32_t layers) {
  TROUPE_RETURN_IF_ERROR(check_range(types));
  const auto rows = with_rows(types, layers);
  for (const NodeTypeId output : types.outputs()) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      if (!rows[layer + 1][raw(output)]) {
        return Error(Errc::invalid_argument,
                     fmt::format("no edge type brings anything to \"{}\" nodes in layer {} of {}",
                                 types.nodes[raw(output)].name, layer + 1, layers));
      }
    }
  }
  std::vector<LayerTypes> result(layers);
  Flags wanted(types.nodes.size());
  for (const NodeTypeId output : types.outputs()) {
    wanted[raw(output)] = true;
  }
  for (std::uint32_t layer = layers; layer-- > 0;) {
    result[layer].outputs = ids_of<NodeTypeId>(wanted);
    Flags used(types.edges.size());
    Flags inputs(types.nodes.size());
    for (std::size_t e = 0; e < types.edges.size(); ++e) {
      const auto source = raw(types.edges[e].source);
      const auto destination = raw(types.edges[e].destination);
      used[e] = wanted[destination] && rows[layer][source] && rows[layer][destination];
      inputs[source] = inputs[source] || used[e];
      inputs[destination] = inputs[destination] || used[e];
    }
    result[layer].edges = ids_of<EdgeTypeId>(used);
    result[layer].inputs = ids_of<NodeTypeId>(inputs);
    wanted = std::move(inputs);
  }
  return result;
}

}  // namespace troupe::nn
