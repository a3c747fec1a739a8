#pragma once
/// \file add_features.hpp
/// The second stage of `PartitionOptions::features_later`: features from the graph store into parts
/// that were written without them, each host those of its own.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace troupe {

struct AddFeaturesOptions {
  std::vector<PartId> parts = {};  ///< empty: all
  /// For the out-lists' sort, where features of edges lie with their source.
  std::uint64_t memory_bytes = 4'000'000'000;
};

struct AddedFeatures {
  std::uint64_t parts = 0;
  std::uint64_t files = 0;  ///< without the manifests
  std::uint64_t bytes = 0;
};

/// Writes the arrays that a partition with features would have had, and last each part's manifest:
/// its features are there whole or not at all. Both stores are checked against their checksums
/// first. Different parts on different threads; rows go through the page cache.
/// \param graph_store  the one that `out` was made of
/// \errors failed_precondition: `out` has its features, a part has them, another graph store, no
///   space; invalid_argument: no such part; as GraphStore::open and PartitionedStore::load_part
Result<AddedFeatures> add_features(const std::filesystem::path& graph_store,
                                   const std::filesystem::path& out,
                                   const AddFeaturesOptions& options, Executor& executor);

}  // namespace troupe
