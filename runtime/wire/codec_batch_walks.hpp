#pragma once
/// \file codec_batch_walks.hpp
/// The walks of a ReadyBatch. Only for runtime/wire/*.cpp.
#include "runtime/sample/mini_batch.hpp"
#include "runtime/wire/codec_batch_lists.hpp"
#include "schema/batches.capnp.h"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::net {

inline void write_walks(const BatchWalks& walks, wire::ReadyBatch::Walks::Builder out) {
  auto types = out.initColumnTypes(static_cast<unsigned>(walks.column_types.size()));
  for (unsigned i = 0; i < types.size(); ++i) {
    types.set(i, raw(walks.column_types[i]));
  }
  out.setWalks(static_cast<std::uint32_t>(walks.nodes.size() / walks.columns()));
  out.setRestarts(static_cast<std::uint32_t>(walks.restarts.size()));
  out.setUndecided(walks.undecided);
}

/// Batch-local indices are those of the columns' types.
inline Status check_walks(const BatchWalks& walks, const SampledBatch& batch) {
  const auto columns = walks.columns();
  for (std::size_t place = 0; place < walks.nodes.size(); ++place) {
    const auto column = place % columns;
    const auto& ends = batch.nodes[raw(walks.column_types[column])].hop_end;
    const auto end = column == 0 ? ends.front() : ends.back();
    const auto node = walks.nodes[place];
    if (node >= end && (column == 0 || node != BatchWalks::no_node)) {
      return corrupt_batch(fmt::format("walks: expected indices below {} in column {}, found {}",
                                       end, column, node));
    }
  }
  const auto bad = std::ranges::find_if(walks.restarts, [&](std::uint32_t place) {
    return place >= walks.nodes.size() || place % columns < 2;
  });
  if (bad != walks.restarts.end() ||
      std::ranges::adjacent_find(walks.restarts, std::ranges::greater_equal()) !=
          walks.restarts.end()) {
    return corrupt_batch(
        fmt::format("restarts of walks: expected ascending places below {} behind the first step",
                    walks.nodes.size()));
  }
  return ok_status();
}

inline Status read_walks(Unpacker& lists, wire::ReadyBatch::Reader in, SampledBatch& out) {
  if (!in.getHasWalks()) {
    return ok_status();
  }
  const auto from = in.getWalks();
  const auto types = from.getColumnTypes();
  constexpr std::uint32_t most_columns = 256;
  if (types.size() < 2 || types.size() > most_columns || types[0] != raw(out.seed_type)) {
    return corrupt_batch(
        fmt::format("walks: expected 2 to {} columns of which the first is of type {}, found {}",
                    most_columns, raw(out.seed_type), types.size()));
  }
  auto& walks = out.walks.emplace();
  walks.steps = types.size() - 1;
  for (const auto type : types) {
    if (type >= out.nodes.size()) {
      return corrupt_batch(
          fmt::format("walks: expected node types below {}, found {}", out.nodes.size(), type));
    }
    walks.column_types.push_back(static_cast<NodeTypeId>(type));
  }
  walks.undecided = from.getUndecided();
  TROUPE_ASSIGN_OR_RETURN(
      walks.nodes, lists.take<std::uint32_t>("nodes of walks",
                                             std::uint64_t{from.getWalks()} * walks.columns()));
  TROUPE_ASSIGN_OR_RETURN(walks.restarts,
                          lists.take<std::uint32_t>("restarts of walks", from.getRestarts()));
  return check_walks(walks, out);
}

}  // namespace troupe::net
