#include "runtime/graph/alias_tables.hpp"

#include "runtime/base/large_memory.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

Status check_list(std::span<const float> weights, std::uint64_t begin, const std::string& where) {
  if (weights.size() >= no_alias) {
    return Error(Errc::data_corruption,
                 fmt::format("{}: expected lists shorter than 2^32-1, found one of {}", where,
                             weights.size()));
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0 && std::isfinite(weights[i]))) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: weight {}: expected a finite number of 0 or more, found {}",
                               where, begin + i, weights[i]));
    }
  }
  return ok_status();
}

Status make_tables(NeighbourLists& lists, Part& part, const std::string& where) {
  if (!lists.present()) {
    return ok_status();
  }
  const auto edges = lists.neighbours.size();
  if (lists.weights.size() != edges) {
    return Error(Errc::failed_precondition, where + ": expected weights of the edges, found none");
  }
  const auto tables = try_large_array<AliasSlot>(edges);
  if (!tables) {
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for alias tables of {} edges", where, edges));
  }
  AliasTableMaker maker;
  for (std::size_t row = 0; row + 1 < lists.offsets.size(); ++row) {
    const auto begin = lists.offsets[row];
    const auto weights = lists.weights.subspan(begin, lists.degree(row));
    TROUPE_RETURN_IF_ERROR(check_list(weights, begin, where));
    maker.make(weights, {tables.get() + begin, weights.size()});
  }
  lists.aliases = {tables.get(), edges};
  lists.zero_weights = std::ranges::find(lists.weights, 0.0F) != lists.weights.end();
  part.bytes += edges * alias_bytes;
  part.owners.push_back(tables);
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const Part>> with_alias_tables(const Part& part,
                                                      std::span<const EdgeTypeId> edge_types,
                                                      EdgeDir dir) {
  auto copy = std::make_shared<Part>(part);
  for (const auto type : edge_types) {
    auto& edges = copy->edges[raw(type)];
    const auto where = fmt::format("part {}, edge type {}", raw(part.id), raw(type));
    const bool in = dir == EdgeDir::in;
    TROUPE_RETURN_IF_ERROR(make_tables(in ? edges.in : edges.out, *copy, where));
    TROUPE_RETURN_IF_ERROR(
        make_tables(in ? edges.halo_in : edges.halo_out, *copy, where + ", halo"));
  }
  return std::shared_ptr<const Part>(std::move(copy));
}

}  // namespace troupe
