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

/// Beside the tables of lists with times, whose stretches the tables do not serve.
Status make_sums(NeighbourLists& lists, Part& part, const std::string& where) {
  const auto edges = lists.weights.size();
  const auto sums = try_large_array<std::uint64_t>(edges);
  if (!sums) {
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for sums of weights of {} edges", where, edges));
  }
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row + 1 < lists.offsets.size(); ++row) {
    const auto begin = lists.offsets[row];
    const auto degree = lists.degree(row);
    sum = add_up_weights(lists.weights.subspan(begin, degree), sum, {sums.get() + begin, degree});
  }
  lists.weight_sums = {sums.get(), edges};
  part.bytes += edges * weight_sum_bytes;
  part.owners.push_back(sums);
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
  return lists.times.empty() ? ok_status() : make_sums(lists, part, where);
}

}  // namespace

std::uint64_t add_up_weights(std::span<const float> weights, std::uint64_t sum_before,
                             std::span<std::uint64_t> sums) {
  const auto largest = std::ranges::max_element(weights);
  const double most = largest == weights.end() ? 0 : static_cast<double>(*largest);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) {
      const auto units =
          static_cast<std::uint64_t>(static_cast<double>(weights[i]) / most * 0x1p31);
      sum_before += std::max(std::uint64_t{1}, units);
    }
    sums[i] = sum_before;
  }
  return sum_before;
}

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
