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

/// Types of the ends of a batch's pairs: those of LinkOptions::pair_types by turns, one step further in each
/// epoch, so that all have their turn in runs of few batches.
/// \param seeds  type that the walks begin at, of which both ends are where the options name no types
LinkEndTypes turn_of_pairs(const LinkOptions& options, BatchKey key, NodeTypeId seeds);

/// The pairs of different nodes of two types as positive links; walks may lead through other types.
/// \param type   that the links count as ones of
/// \param types  of centers and of contexts
/// \requires batch.walks
PositiveLinks links_of_pairs(const SampledBatch& batch, EdgeTypeId type, LinkEndTypes types,
                             std::uint32_t window);

}  // namespace troupe
