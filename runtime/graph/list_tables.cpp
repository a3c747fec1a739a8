#include "runtime/graph/list_tables.hpp"

#include "runtime/base/large_memory.hpp"
#include "runtime/graph/alias_tables.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// Original ids of the nodes of one type that a part's lists name.
class NamedNodes {
 public:
  explicit NamedNodes(const PartNodes& nodes)
      : nodes_(nodes),
        halo_(nodes.halo_ids, nodes.halo_ids.empty() ? 0 : nodes.halo_ids.back() + 1) {}

  std::optional<std::uint64_t> original_id(std::uint64_t id) const {
    if (nodes_.owns(static_cast<NodeId>(id))) {
      return nodes_.original_ids[nodes_.local(static_cast<NodeId>(id))];
    }
    const auto at = halo_.rank(id);
    return at ? std::optional(nodes_.halo_original_ids[*at]) : std::nullopt;
  }

 private:
  const PartNodes& nodes_;
  RankedSet halo_;
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

Result<std::shared_ptr<const Part>> with_neighbour_originals(const Part& part,
                                                             std::span<const EdgeTypeId> edge_types,
                                                             EdgeDir dir) {
  auto copy = std::make_shared<Part>(part);
  for (const auto type : edge_types) {
    auto& edges = copy->edges[raw(type)];
    const NamedNodes nodes(part.nodes_of(edges.neighbour_type(dir)));
    const auto where = fmt::format("part {}, edge type {}", raw(part.id), raw(type));
    const bool in = dir == EdgeDir::in;
    TROUPE_RETURN_IF_ERROR(make_originals(nodes, in ? edges.in : edges.out, *copy, where));
    TROUPE_RETURN_IF_ERROR(make_originals(nodes, in ? edges.halo_in : edges.halo_out, *copy,
                                          fmt::format("{}, halo", where)));
  }
  return std::shared_ptr<const Part>(std::move(copy));
}

Result<std::shared_ptr<const Part>> with_list_tables(std::shared_ptr<const Part> part,
                                                     const ListTables& tables, EdgeDir dir) {
  if (!tables.aliases.empty()) {
    TROUPE_ASSIGN_OR_RETURN(part, with_alias_tables(*part, tables.aliases, dir));
  }
  if (!tables.original_ids.empty()) {
    TROUPE_ASSIGN_OR_RETURN(part, with_neighbour_originals(*part, tables.original_ids, dir));
  }
  return part;
}

}  // namespace troupe
