#pragma once
/// \file walk_pairs.hpp
/// Pairs of nodes that are near each other on a walk: positive examples of skip-gram models (Perozzi,
/// Al-Rfou, Skiena, "DeepWalk", KDD 2014).
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// Both as places in BatchWalks::nodes.
struct WalkPairs {
  std::vector<std::uint32_t> centers;
  std::vector<std::uint32_t> contexts;  ///< [centers]
};

/// All ordered pairs of places at most `window` steps apart, walk by walk, center by center, contexts in
/// the order of the walk. A walk that returned to its seed is a new sequence there, which begins with the
/// seed (the walk's first place).
WalkPairs walk_pairs(const BatchWalks& walks, std::uint32_t window);

/// The pairs of different nodes of the seeds' type as positive links; walks may lead through other types.
/// \requires batch.walks
PositiveLinks links_of_pairs(const SampledBatch& batch, EdgeTypeId type, std::uint32_t window);

}  // namespace troupe
