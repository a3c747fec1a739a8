#pragma once
/// \file alias_tables.hpp
/// Alias tables of a part's neighbor lists, from their weights; sums of weights beside them where stretches
/// of lists are drawn from.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <memory>
#include <span>

namespace troupe {

/// Bytes of the tables per edge.
inline constexpr std::uint64_t alias_bytes = sizeof(AliasSlot);
/// Bytes of the sums per edge of a type with times.
inline constexpr std::uint64_t weight_sum_bytes = sizeof(std::uint64_t);

/// Weights of a list as integers: floor(w / m * 2^31) with m the largest of them, at least 1 where w > 0.
/// \param sum_before  that they are added to
/// \param sums        [weights] is written
/// \returns the last sum, or `sum_before`
std::uint64_t add_up_weights(std::span<const float> weights, std::uint64_t sum_before,
                             std::span<std::uint64_t> sums);

/// The part with a table for each list of some edge types in one direction, those of its halo included, and
/// with sums along those that have times.
/// \errors failed_precondition: an edge type without weights; data_corruption: a weight that is not finite
///   and >= 0, or a list of 2^32 - 1 entries or more; out_of_memory
/// \cost   one pass over the weights; alias_bytes per edge, and weight_sum_bytes with times
Result<std::shared_ptr<const Part>> with_alias_tables(const Part& part,
                                                      std::span<const EdgeTypeId> edge_types,
                                                      EdgeDir dir);

}  // namespace troupe
