#pragma once
/// \file list_tables.hpp
/// Tables beside a part's neighbor lists that the draws of a job read: made when a part is loaded, so
/// that stores do not change and other jobs pay nothing.
#include "runtime/base/result.hpp"
#include "runtime/graph/part.hpp"

#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// Edge types whose lists need tables.
struct ListTables {
  std::vector<EdgeTypeId> aliases = {};       ///< Alias tables, and sums of weights with times
  std::vector<EdgeTypeId> original_ids = {};  ///< Original ids of neighbors
};

/// Bytes of a neighbor's original id: those of its global id, as both are below the type's count.
constexpr std::uint64_t neighbour_original_bytes(std::uint64_t count) noexcept {
  return id_width_bytes(count);
}

/// The part with the original ids of the neighbors in each list of some edge types in one direction,
/// those of its halo included.
/// \param others  parts that know the original ids of nodes that this one does not
/// \errors failed_precondition: a neighbor whose original id no part here has; out_of_memory
/// \cost   one pass over the lists, with a random read each; bytes as neighbour_original_bytes()
Result<std::shared_ptr<const Part>> with_neighbour_originals(
    const Part& part, std::span<const EdgeTypeId> edge_types, EdgeDir dir,
    std::span<const std::shared_ptr<const Part>> others = {});

/// The part with all tables, and with an index of its lists where that is worth its while
/// (list_index.hpp); itself where there is nothing to make.
/// \param others  as with_neighbour_originals() has them
/// \errors as with_alias_tables(), with_neighbour_originals() and with_list_index()
Result<std::shared_ptr<const Part>> with_list_tables(
    std::shared_ptr<const Part> part, const ListTables& tables, EdgeDir dir,
    std::span<const std::shared_ptr<const Part>> others = {});

}  // namespace troupe
