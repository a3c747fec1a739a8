#pragma once
/// \file feature_arrays.hpp
/// The tables of a part that batches on a device read rows of.
#include "runtime/base/result.hpp"
#include "runtime/graph/normalize.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::gpu {

/// What batches have.
struct FeaturePlan {
  Normalize normalize = Normalize::none;       ///< Of features of nodes
  std::vector<EdgeTypeId> edge_features = {};  ///< Types whose features they have
  bool original_ids = true;                    ///< Of nodes
  bool labels = true;                          ///< Of seeds
};

/// A table of features. Borrowed; no columns: none.
struct TableArrays {
  FeatureInfo info{.cols = 0};
  std::span<const std::byte> rows = {};
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
/// \errors those of RowDecoder::create(); failed_precondition: nodes or rows that the part does not have
Result<FeatureArrays> features_for_device(const GraphInfo& graph, const Part& part,
                                          const FeaturePlan& plan);

}  // namespace troupe::gpu
