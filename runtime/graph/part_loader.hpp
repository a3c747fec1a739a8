#pragma once
/// \file part_loader.hpp
/// Loads and checks the arrays of one part, or of a whole graph as one part. For the sources of
/// this folder only.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/graph/store_files.hpp"

#include <memory>
#include <string>

namespace troupe {

/// What to load. With `partition` null the whole graph: global ids equal original ids, in-lists
/// only, no halo.
struct PartRequest {
  const StoreFiles& files;
  const GraphInfo& info;
  const PartitionInfo* partition = nullptr;
  PartId part{};
  PartScope scope = PartScope::all;
};

/// With Verify::full every id, offset and label is checked too, so that later code can trust them.
Result<std::shared_ptr<const Part>> load_part_arrays(const PartRequest& request);

}  // namespace troupe
