// Shares of nodes and edges that a program names, and look-up of original ids.
#include "launcher/session_state.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/job/link_owners.hpp"
#include "runtime/sample/seed_split.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Positions of one rank's share. \param owner_of  [position] -> part
template <class OwnerOf>
std::vector<std::uint64_t> positions_of_rank(const Session::State& s, std::uint64_t count,
                                             SplitWay way, OwnerOf owner_of) {
  const auto rank = raw(s.place.options.rank);
  const auto world = s.place.options.world;
  if (way == SplitWay::even) {
    return even_split(count, world)[rank];
  }
  std::vector<PartId> owners(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    owners[i] = owner_of(i);
  }
  return local_split(owners, parts_of_ranks(make_layout(s.run->job)))[rank];
}

SeedList some_of(const SeedList& all, std::span<const std::uint64_t> positions) {
  SeedList some;
  some.node_type = all.node_type;
  for (const auto position : positions) {
    some.original.push_back(all.original[position]);
    some.global.push_back(all.global[position]);
    if (!all.times.empty()) {
      some.times.push_back(all.times[position]);
    }
  }
  return some;
}

SeedList share_of_nodes(const Session::State& s, const SeedList& all, SplitWay way) {
  const auto& book = *s.place.host->book;
  return some_of(all, positions_of_rank(s, all.global.size(), way, [&](std::uint64_t i) {
                   return book.owner(all.node_type, all.global[i]);
                 }));
}

/// What stands for original ids from `begin` on where a mask is not 0.
template <class Id>
std::vector<Id> named_by(std::span<const std::uint8_t> mask, std::uint64_t begin) {
  std::vector<Id> ids;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) {
      ids.push_back(static_cast<Id>(begin + i));
    }
  }
  return ids;
}

template <class Type>
Result<const Type*> type_at(const std::vector<Type>& types, std::size_t place, const char* what) {
  if (place >= types.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{} type: expected < {}, got {}", what, types.size(), place));
  }
  return &types[place];
}

Status check_mask(std::span<const std::uint8_t> mask, std::uint64_t length,
                  const std::string& type) {
  if (mask.size() != length) {
    return Error(Errc::invalid_argument,
                 fmt::format("mask of {}: expected {} entries, got {}", type, length, mask.size()));
  }
  return ok_status();
}

Result<std::shared_ptr<const SeedOrder>> order_of_role(const Session::State& s,
                                                       const std::string& role) {
  const auto found = s.place.options.orders.find(role);
  if (found == s.place.options.orders.end()) {
    return Error(Errc::not_found, fmt::format("role: the split has no \"{}\"", role));
  }
  return found->second;
}

}  // namespace

Result<std::vector<NodeId>> Session::find_nodes(std::span<const OriginalId> nodes,
                                                NodeTypeId node_type) {
  auto& s = *state_;
  const auto& host = *s.place.host;
  TROUPE_ASSIGN_OR_RETURN(const auto* const type,
                          type_at(host.graph->node_types, raw(node_type), "node"));
  const auto stranger =
      std::ranges::find_if(nodes, [end = type->count](OriginalId id) { return raw(id) >= end; });
  if (stranger != nodes.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("nodes: expected original ids of {} below {}, got {}", type->name,
                             type->count, raw(*stranger)));
  }
  const DirectorySlices slices{type->count, host.book->parts()};
  std::vector<NodeId> found(nodes.size());
  for (std::size_t first = 0; first < nodes.size(); first += edge_lookup_piece) {
    const auto end = std::min(first + edge_lookup_piece, nodes.size());
    std::map<PartId, FindNodes> of_parts;
    std::map<PartId, std::vector<std::size_t>> places;
    for (std::size_t i = first; i < end; ++i) {
      const auto part = slices.part_of(nodes[i]);
      of_parts[part].node_type = node_type;
      of_parts[part].places.push_back(raw(nodes[i]) - slices.first(raw(part)));
      places[part].push_back(i);
    }
    AskHolders<FindNodes> asked;
    for (auto& [part, question] : of_parts) {
      asked.questions.emplace_back(part, Ref<FindNodes>(std::move(question)));
    }
    TROUPE_ASSIGN_OR_RETURN(const auto replies, s.ask<HolderReplies<NodesFound>>(std::move(asked)));
    std::size_t question = 0;
    for (const auto& [part, of_part] : places) {
      const auto& ids = replies->replies[question++]->nodes;
      const bool fits = ids.size() == of_part.size() && std::ranges::all_of(ids, [&](NodeId id) {
                          return host.book->contains(node_type, id);
                        });
      if (!fits) {
        return Error(Errc::data_corruption,
                     fmt::format("nodes, part {}: expected {} ids below {}, got others", raw(part),
                                 of_part.size(), type->count));
      }
      for (std::size_t i = 0; i < ids.size(); ++i) {
        found[of_part[i]] = ids[i];
      }
    }
  }
  return found;
}

Result<SeedList> Session::split_nodes(std::span<const OriginalId> nodes, SplitWay way,
                                      NodeTypeId node_type) {
  SeedList all;
  all.node_type = node_type;
  all.original.assign(nodes.begin(), nodes.end());
  TROUPE_ASSIGN_OR_RETURN(auto global, find_nodes(nodes, node_type));
  all.global.assign(global.begin(), global.end());
  return share_of_nodes(*state_, all, way);
}

Result<SeedList> Session::split_nodes(std::span<const std::uint8_t> mask, SplitWay way,
                                      NodeTypeId node_type) {
  TROUPE_ASSIGN_OR_RETURN(const auto* const type,
                          type_at(state_->place.host->graph->node_types, raw(node_type), "node"));
  TROUPE_RETURN_IF_ERROR(check_mask(mask, type->count, type->name));
  return split_nodes(named_by<OriginalId>(mask, 0), way, node_type);
}

Result<SeedList> Session::split_seeds(const std::string& role, SplitWay way) const {
  if (way == SplitWay::even) {
    return seeds(role);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto share, seeds(role));  // whether the role has any
  TROUPE_ASSIGN_OR_RETURN(const auto order, order_of_role(*state_, role));
  return share_of_nodes(*state_, order->seeds(), way);
}

Result<LinkList> Session::split_links(const std::string& role, SplitWay way) const {
  TROUPE_ASSIGN_OR_RETURN(auto share, links(role));
  if (way == SplitWay::even) {
    return share;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto order, order_of_role(*state_, role));
  const auto& all = *order->links();
  const auto& host = *state_->place.host;
  const auto owners = owners_of_links(all, *host.graph, *host.book, host.sample->dir);
  return links_at(
      all, positions_of_rank(*state_, all.size(), way, [&](std::uint64_t i) { return owners[i]; }));
}

Result<std::vector<EdgeId>> Session::split_edges(std::span<const EdgeId> edges, SplitWay way,
                                                 EdgeTypeId edge_type) {
  const auto& host = *state_->place.host;
  TROUPE_ASSIGN_OR_RETURN(const auto* const type,
                          type_at(host.graph->edge_types, raw(edge_type), "edge"));
  EdgeNodes ends;
  if (way == SplitWay::local) {
    TROUPE_ASSIGN_OR_RETURN(ends, find_edges(edges, edge_type));
  }
  const bool in = host.sample->dir == EdgeDir::in;
  const auto positions = positions_of_rank(*state_, edges.size(), way, [&](std::uint64_t i) {
    return in ? host.book->owner(type->destination, ends.destinations[i])
              : host.book->owner(type->source, ends.sources[i]);
  });
  std::vector<EdgeId> share;
  for (const auto position : positions) {
    share.push_back(edges[position]);
  }
  return share;
}

Result<std::vector<EdgeId>> Session::split_edges(std::span<const std::uint8_t> mask, SplitWay way,
                                                 EdgeTypeId edge_type) {
  TROUPE_ASSIGN_OR_RETURN(const auto* const type,
                          type_at(state_->place.host->graph->edge_types, raw(edge_type), "edge"));
  TROUPE_RETURN_IF_ERROR(
      check_mask(mask, type->end_of_edge_ids() - type->edge_id_begin, type->name));
  return split_edges(named_by<EdgeId>(mask, type->edge_id_begin), way, edge_type);
}

}  // namespace troupe
