#pragma once
/// \file end_loader.hpp
/// Loads ends of edges beside a part. For store.cpp only.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/graph/store_files.hpp"

#include <memory>

namespace troupe {

/// The part with the ends of a type's edges in both directions.
/// \errors data_corruption: arrays that differ from what the store says of them
/// \requires partition.ends is not empty
Result<std::shared_ptr<const Part>> with_edge_ends(const StoreFiles& files, const GraphInfo& info,
                                                   const PartitionInfo& partition, const Part& part,
                                                   EdgeTypeId type);

}  // namespace troupe
