#pragma once
/// \file seed_limits.hpp
/// Which seeds a batch can grow from. Builders of batches take these limits for granted, and seeds may come from
/// another process, so they are checked first.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/links/link_options.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>

namespace troupe {

/// \param seeds  number of the batch's seeds
/// \errors invalid_argument: more seeds than places of 32 bits, or disjoint trees whose nodes have no number of 64
Status check_seed_count(const GraphInfo& graph, const PartitionBook& book,
                        const SampleOptions& options, std::uint64_t seeds);

/// \param type, seeds  node type and number of the nodes that walks begin at
/// \errors invalid_argument: more walks than have numbers, or no step leaves from the type
/// \requires options.walks
Status check_walk_seeds(const GraphInfo& graph, const SampleOptions& options, NodeTypeId type,
                        std::uint64_t seeds);

/// \param types  of the ends of the links
/// \errors invalid_argument: as check_seed_count(), with the ends of negative links; links of a type, or with ends of
///   a type, that negative links are not drawn for
/// \requires options.links
Status check_link_seeds(const GraphInfo& graph, const PartitionBook& book,
                        const SampleOptions& options, const PositiveLinks& links,
                        LinkEndTypes types);

}  // namespace troupe
