#pragma once
/// \file feature_arrays.hpp
/// The tables of parts that batches on a device read rows of.
#include "runtime/base/result.hpp"
#include "runtime/graph/normalize.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe::gpu {

/// What batches have.
struct FeaturePlan {
  Normalize normalize = Normalize::none;       ///< Of features of nodes
  std::vector<EdgeTypeId> edge_features = {};  ///< Types whose features they have
  bool original_ids = true;                    ///< Of nodes
  bool labels = true;                          ///< Of seeds
  /// Batches are made of several parts, some of them perhaps elsewhere: the host has ids, labels and
  /// features of edges, and says where each row of a node is (runtime/feature/staged_rows.hpp).
  bool staged = false;
};

/// A table of features. Borrowed; no columns: none.
struct TableArrays {
  FeatureInfo info{.cols = 0};
  std::vector<std::span<const std::byte>> pieces = {};  ///< Rows of the first part, of the next, …
  Normalize normalize = Normalize::none;
  std::vector<float> means = {};     ///< [cols] with Normalize::column
  std::vector<float> divisors = {};  ///< [cols] with Normalize::column
};

/// Borrowed. Arrays that are not read are empty.
struct FeatureArrays {
  struct Nodes {
    TableArrays features;
    std::span<const std::uint64_t> original_ids = {};
    std::span<const std::int64_t> labels = {};
    std::span<const float> targets = {};
    std::uint64_t target_cols = 0;
  };
  std::vector<Nodes> nodes = {};        ///< By NodeTypeId
  std::vector<TableArrays> edges = {};  ///< By EdgeTypeId

  /// What they take on a device.
  std::uint64_t bytes() const;
};

/// \param part  has the whole graph
/// \requires not plan.staged
/// \errors those of RowDecoder::create(); failed_precondition: nodes or rows that the part does not have
Result<FeatureArrays> features_for_device(const GraphInfo& graph, const Part& part,
                                          const FeaturePlan& plan);

/// Features of nodes in pieces: those of each part, then those that each keeps of other parts' nodes.
/// \errors the same
Result<FeatureArrays> features_of_parts(const GraphInfo& graph,
                                        std::span<const std::shared_ptr<const Part>> parts,
                                        const FeaturePlan& plan);
/// [type][piece] rows, as features_of_parts() has them; none of types without features.
std::vector<std::vector<std::uint64_t>> rows_of_pieces(
    const GraphInfo& graph, std::span<const std::shared_ptr<const Part>> parts);

}  // namespace troupe::gpu
