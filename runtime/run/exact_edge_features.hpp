#pragma once
/// \file exact_edge_features.hpp
/// Features of edges as blocks of exact inference read them.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <span>
#include <vector>

namespace troupe {

/// Those of all edges of a block, float32 [edges, columns] by edge type; without rows where a type has no
/// features or is not among `types`. A block's edges are in the lists of the part that has its destinations,
/// and so are their features.
/// \param decoders  by edge type
/// \param types     that the block reads
/// \param block     sampled with the entry numbers of edges
/// \errors invalid_argument: the part has no such features, or no row of an entry
Result<std::vector<Matrix>> edge_features_of_block(Executor& executor, const Part& part,
                                                   std::span<const RowDecoder> decoders,
                                                   std::span<const EdgeTypeId> types,
                                                   const SampledBatch& block);

}  // namespace troupe
