#include "runtime/graph/list_tables.hpp"

#include "runtime/base/large_memory.hpp"
#include "runtime/graph/alias_tables.hpp"
#include "runtime/graph/list_index.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// Original ids of the nodes of one type that a part's lists name.
class NamedNodes {
 public:
  NamedNodes(const PartNodes& nodes, std::vector<const PartNodes*> others)
      : nodes_(nodes),
        halo_(nodes.halo_ids, nodes.halo_ids.empty() ? 0 : nodes.halo_ids.back() + 1),
        others_(std::move(others)) {
    std::ranges::sort(others_, {}, [](const PartNodes* of_part) { return of_part->first; });
  }

  std::optional<std::uint64_t> original_id(std::uint64_t id) const {
    if (nodes_.owns(static_cast<NodeId>(id))) {
      return nodes_.original_ids[nodes_.local(static_cast<NodeId>(id))];
    }
    const auto at = halo_.rank(id);
    return at ? std::optional(nodes_.halo_original_ids[*at]) : known_elsewhere(id);
  }

 private:
  std::optional<std::uint64_t> known_elsewhere(std::uint64_t id) const {
    const auto behind =
        std::ranges::upper_bound(others_, static_cast<NodeId>(id), {},
                                 [](const PartNodes* of_part) { return of_part->first; });
    // Parts without nodes of the type begin where the next one does.
    for (auto other = behind; other != others_.begin();) {
      const PartNodes& nodes = **--other;
      if (nodes.owns(static_cast<NodeId>(id))) {
        return nodes.original_ids[nodes.local(static_cast<NodeId>(id))];
      }
      if (nodes.count > 0) {
        break;
      }
    }
    return std::nullopt;
  }

  const PartNodes& nodes_;
  RankedSet halo_;
  std::vector<const PartNodes*> others_;  ///< In order of their first nodes
};

template <class IdT>
Status write_originals(const NamedNodes& nodes, NeighbourLists& lists, Part& part,
                       const std::string& where) {
  const auto edges = lists.neighbours.size();
  const auto originals = try_large_array<IdT>(edges);
  if (!originals) {
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for original ids of {} neighbors", where, edges));
  }
  const auto missing = lists.neighbours.visit([&](auto ids) -> std::optional<std::uint64_t> {
    for (std::size_t i = 0; i < edges; ++i) {
      const auto original = nodes.original_id(ids[i]);
      if (!original) {
        return ids[i];
      }
      originals.get()[i] = static_cast<IdT>(*original);
    }
    return std::nullopt;
  });
  if (missing) {
    return Error(
        Errc::failed_precondition,
        fmt::format("{}: the original id of neighbor {} is not known here", where, *missing));
  }
  lists.neighbour_originals = std::span<const IdT>(originals.get(), edges);
  part.bytes += edges * sizeof(IdT);
  part.owners.push_back(originals);
  return ok_status();
}

Status make_originals(const NamedNodes& nodes, NeighbourLists& lists, Part& part,
                      const std::string& where) {
  if (!lists.present()) {
    return ok_status();
  }
  return lists.neighbours.width_bytes() == 4
             ? write_originals<std::uint32_t>(nodes, lists, part, where)
             : write_originals<std::uint64_t>(nodes, lists, part, where);
}

}  // namespace

Result<std::shared_ptr<const Part>> with_neighbour_originals(
    const Part& part, std::span<const EdgeTypeId> edge_types, EdgeDir dir,
    std::span<const std::shared_ptr<const Part>> others) {
  auto copy = std::make_shared<Part>(part);
  for (const auto type : edge_types) {
    auto& edges = copy->edges[raw(type)];
    const auto neighbours = edges.neighbour_type(dir);
    std::vector<const PartNodes*> known;
    for (const auto& other : others) {
      known.push_back(&other->nodes_of(neighbours));
    }
    const NamedNodes nodes(part.nodes_of(neighbours), std::move(known));
    const auto where = fmt::format("part {}, edge type {}", raw(part.id), raw(type));
    const bool in = dir == EdgeDir::in;
    TROUPE_RETURN_IF_ERROR(make_originals(nodes, in ? edges.in : edges.out, *copy, where));
    TROUPE_RETURN_IF_ERROR(make_originals(nodes, in ? edges.halo_in : edges.halo_out, *copy,
                                          fmt::format("{}, halo", where)));
  }
  return std::shared_ptr<const Part>(std::move(copy));
}

Result<std::shared_ptr<const Part>> with_list_tables(
    std::shared_ptr<const Part> part, const ListTables& tables, EdgeDir dir,
    std::span<const std::shared_ptr<const Part>> others) {
  if (!tables.aliases.empty()) {
    TROUPE_ASSIGN_OR_RETURN(part, with_alias_tables(*part, tables.aliases, dir));
  }
  if (!tables.original_ids.empty()) {
    TROUPE_ASSIGN_OR_RETURN(part,
                            with_neighbour_originals(*part, tables.original_ids, dir, others));
  }
  return with_list_index(std::move(part), dir);
}

}  // namespace troupe
