#include "gpu/feature/feature_arrays.hpp"

#include "runtime/feature/row_collection.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace troupe::gpu {
namespace {

/// \param rows  that the table must have
Result<std::span<const std::byte>> piece_of(const FeatureInfo& info,
                                            const std::optional<FeatureTable>& table,
                                            std::uint64_t rows, std::string_view what) {
  const auto bytes = rows * info.row_bytes();
  const auto found = table && table->row_bytes() == info.row_bytes() ? table->data.bytes.size() : 0;
  if (found != bytes) {
    return Error(Errc::failed_precondition,
                 fmt::format("features on a device: expected {} rows of {} in the part, {} bytes, "
                             "found {}",
                             rows, what, bytes, found));
  }
  return table ? table->data.bytes : std::span<const std::byte>();
}

Result<TableArrays> table_of(const FeatureInfo& info, const std::optional<FeatureTable>& table,
                             std::uint64_t rows, std::string_view what) {
  TROUPE_ASSIGN_OR_RETURN(const auto piece, piece_of(info, table, rows, what));
  return TableArrays{.info = info, .pieces = {piece}};
}

void take_normalization(const NodeTypeInfo& type, Normalize normalize, TableArrays& table) {
  table.normalize = normalize;
  if (normalize == Normalize::column) {
    const ColumnScale scale(*type.column_stats);
    table.means.assign(scale.means().begin(), scale.means().end());
    table.divisors.assign(scale.divisors().begin(), scale.divisors().end());
  }
}

Result<FeatureArrays::Nodes> nodes_for_device(const NodeTypeInfo& type, const PartNodes& part,
                                              const FeaturePlan& plan) {
  FeatureArrays::Nodes nodes;
  if (raw(part.first) != 0 || part.count != type.count) {
    return Error(Errc::failed_precondition,
                 fmt::format("features on a device: expected all {} nodes of type \"{}\" in the "
                             "part, it has {}\ntry: one part, or features on the host",
                             type.count, type.name, part.count));
  }
  TROUPE_RETURN_IF_ERROR(RowDecoder::create(type, plan.normalize));
  if (type.features) {
    TROUPE_ASSIGN_OR_RETURN(nodes.features,
                            table_of(*type.features, part.features, type.count, type.name));
    take_normalization(type, plan.normalize, nodes.features);
  }
  if (plan.original_ids) {
    nodes.original_ids = part.original_ids;
  }
  if (plan.labels) {
    nodes.labels = part.labels;
    nodes.targets = part.targets;
    nodes.target_cols = type.count == 0 ? 0 : part.targets.size() / type.count;
  }
  return nodes;
}

std::uint64_t table_bytes(const TableArrays& table) {
  std::uint64_t rows = 0;
  for (const auto& piece : table.pieces) {
    rows += piece.size_bytes();
  }
  return rows + (table.means.size() + table.divisors.size()) * std::uint64_t{sizeof(float)};
}

}  // namespace

std::uint64_t FeatureArrays::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& of_type : nodes) {
    sum += table_bytes(of_type.features) + of_type.original_ids.size_bytes() +
           of_type.labels.size_bytes() + of_type.targets.size_bytes();
  }
  for (const auto& of_type : edges) {
    sum += table_bytes(of_type);
  }
  return sum;
}

Result<FeatureArrays> features_for_device(const GraphInfo& graph, const Part& part,
                                          const FeaturePlan& plan) {
  FeatureArrays arrays;
  for (std::size_t type = 0; type < graph.node_types.size(); ++type) {
    TROUPE_ASSIGN_OR_RETURN(auto nodes,
                            nodes_for_device(graph.node_types[type], part.nodes[type], plan));
    arrays.nodes.push_back(std::move(nodes));
  }
  arrays.edges.resize(graph.edge_types.size());
  for (const auto type : plan.edge_features) {
    const auto& info = graph.edge_types[raw(type)];
    TROUPE_RETURN_IF_ERROR(RowDecoder::create(info));
    if (info.features) {
      TROUPE_ASSIGN_OR_RETURN(
          arrays.edges[raw(type)],
          table_of(*info.features, part.edges_of(type).features, info.count, info.name));
    }
  }
  return arrays;
}

Result<FeatureArrays> features_of_parts(const GraphInfo& graph,
                                        std::span<const std::shared_ptr<const Part>> parts,
                                        const FeaturePlan& plan) {
  FeatureArrays arrays;
  arrays.nodes.resize(graph.node_types.size());
  arrays.edges.resize(graph.edge_types.size());
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    const auto& type = graph.node_types[t];
    TROUPE_RETURN_IF_ERROR(RowDecoder::create(type, plan.normalize));
    if (!type.features) {
      continue;
    }
    auto& table = arrays.nodes[t].features;
    table.info = *type.features;
    take_normalization(type, plan.normalize, table);
    for (const auto& part : parts) {
      const auto& nodes = part->nodes[t];
      TROUPE_ASSIGN_OR_RETURN(const auto rows,
                              piece_of(*type.features, nodes.features, nodes.count, type.name));
      table.pieces.push_back(rows);
    }
    for (const auto& part : parts) {
      const auto& nodes = part->nodes[t];
      TROUPE_ASSIGN_OR_RETURN(
          const auto rows,
          piece_of(*type.features, nodes.halo_features,
                   nodes.halo_features ? nodes.halo_ids.size() : 0, "a halo's " + type.name));
      table.pieces.push_back(rows);
    }
  }
  return arrays;
}

std::vector<std::vector<std::uint64_t>> rows_of_pieces(
    const GraphInfo& graph, std::span<const std::shared_ptr<const Part>> parts) {
  std::vector<std::vector<std::uint64_t>> rows(graph.node_types.size());
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const bool has_rows = graph.node_types[t].features.has_value();
    for (const auto& part : parts) {
      rows[t].push_back(has_rows ? part->nodes[t].count : 0);
    }
    for (const auto& part : parts) {
      rows[t].push_back(part->nodes[t].halo_features ? part->nodes[t].halo_ids.size() : 0);
    }
  }
  return rows;
}

}  // namespace troupe::gpu
