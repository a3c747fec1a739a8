#pragma once
/// \file alias_tables.hpp
/// Alias tables of a part's neighbor lists, from their weights.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <memory>
#include <span>

namespace troupe {

/// Bytes of the tables per edge.
inline constexpr std::uint64_t alias_bytes = sizeof(AliasSlot);

/// The part with a table for each list of some edge types in one direction, those of its halo included.
/// \errors failed_precondition: an edge type without weights; data_corruption: a weight that is not finite
///   and >= 0, or a list of 2^32 - 1 entries or more; out_of_memory
/// \cost   one pass over the weights, alias_bytes per edge
Result<std::shared_ptr<const Part>> with_alias_tables(const Part& part,
                                                      std::span<const EdgeTypeId> edge_types,
                                                      EdgeDir dir);

}  // namespace troupe
