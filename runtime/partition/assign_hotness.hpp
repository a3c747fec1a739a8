#pragma once
/// \file assign_hotness.hpp
/// Every node goes to the part whose batches need it most.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/partition/assign.hpp"

namespace troupe {

/// The training seeds, or links, are dealt out evenly at random (deal_training_seeds() in hotness.hpp);
/// each part's hotness p is that of its own seeds. Nodes are taken in chunks of
/// original ids; in a chunk the pair (node, part) with the largest score comes first,
///   score = parts * p_part(node) - sum over all parts of p(node),
/// and a part takes no more than its even share of a chunk. Among equal scores the smaller node,
/// then the smaller part comes first.
/// Source: the frequency partitioner of GraphLearn-for-PyTorch (its documentation), whose scores
///   these are; chunks there are shared out by part, here by score.
/// \errors those of node_hotness; invalid_argument: fewer training seeds or links than parts
/// \cost   4 bytes per node and part
Result<Assignment> assign_by_hotness(const GraphStore& graph, const AssignOptions& options,
                                     Executor& executor);

}  // namespace troupe
