// Edges that a StoreWriter makes links of.
#include "runtime/data/stream_store_state.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

using namespace stream_store;

namespace {

constexpr std::size_t most_names = 16;  ///< that an error lists

Error wrong_edge_split(std::string what) {
  return Error(Errc::invalid_argument, std::move(what));
}

}  // namespace

/// \param name  empty: the only type
Result<EdgeTypeId> StoreWriter::State::type_to_split(const std::string& name) const {
  std::vector<std::string_view> names;
  std::optional<std::size_t> found;
  for (std::size_t type = 0; type < edges_.size(); ++type) {
    const auto& info = edges_[type].info;
    if (!edges_[type].reverse_of) {
      names.push_back(info.name);
      found = name.empty() || name == info.name ? std::optional(type) : found;
    }
  }
  if (!found || (name.empty() && names.size() > 1)) {
    const auto shown = std::min(names.size(), most_names);
    return wrong_edge_split(fmt::format(
        "edge split: expected the name of an edge type among {}{}, got {}",
        fmt::join(std::span(names).first(shown), ", "), shown < names.size() ? ", …" : "",
        name.empty() ? std::string("none") : fmt::format("\"{}\"", name)));
  }
  return static_cast<EdgeTypeId>(*found);
}

/// Finds the types and opens the roles of an edge split, if one was asked for.
Status StoreWriter::State::begin_edge_split() {
  if (!options_.edge_split) {
    return ok_status();
  }
  const auto& split = *options_.edge_split;
  TROUPE_RETURN_IF_ERROR(check_edge_split(split));
  std::vector<std::string> names{split.type};
  names.insert(names.end(), split.more_types.begin(), split.more_types.end());
  NewLinks links{.labels = names.size() > 1};
  bool distinct = false;
  for (const auto& name : names) {
    TROUPE_ASSIGN_OR_RETURN(const auto type, type_to_split(name));
    if (std::ranges::find(links.types, type) != links.types.end()) {
      return wrong_edge_split(
          fmt::format("edge split: expected each edge type once, got \"{}\" twice", name));
    }
    const auto& edges = edges_[raw(type)];
    links.times = links.times || edges.info.has_times;
    distinct = distinct || edges.transforms.dedup;
    links.types.push_back(type);
    edge_roles_.emplace_back(type, EdgeRoles(split, edges.info.source == edges.info.destination));
  }
  const auto without = std::ranges::find_if(
      links.types, [&](EdgeTypeId type) { return !edges_[raw(type)].info.has_times; });
  if (split.times && without != links.types.end()) {
    return wrong_edge_split(
        fmt::format("edge split by time: expected edges with times, got \"{}\" without\n"
                    "try: import the times, too, or split by shares",
                    edges_[raw(*without)].info.name));
  }
  if (links.times && without != links.types.end()) {
    return wrong_edge_split(fmt::format(
        "edge split: expected edge types with times, or such without, got \"{}\" without",
        edges_[raw(*without)].info.name));
  }
  links.type = links.types.front();
  links.relations = links.labels ? links.types.size() : 0;
  if (!links.labels) {
    links.types.clear();
  }
  for (std::size_t role = 0; role < link_role_names.size(); ++role) {
    if (edge_roles_.front().second.used(role)) {
      const RoleName name("", link_role_names[role]);
      TROUPE_RETURN_IF_ERROR(open_links(name, links));
      links_.at(name).distinct = distinct;
    }
  }
  return ok_status();
}

Result<std::vector<std::uint8_t>> StoreWriter::State::split_edges(EdgeTypeId type,
                                                                  const EdgePiece& piece) {
  std::vector<std::uint8_t> roles;
  const auto split = std::ranges::find(edge_roles_, type, &std::pair<EdgeTypeId, EdgeRoles>::first);
  if (split == edge_roles_.end()) {
    return roles;
  }
  const auto relation = static_cast<float>(split - edge_roles_.begin());
  const bool drop_loops = edges_[raw(type)].transforms.drop_self_loops;
  struct Columns {
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    std::vector<std::int64_t> times;
  };
  std::array<Columns, link_role_names.size()> columns;
  for (std::size_t i = 0; i < piece.sources.size(); ++i) {
    roles.push_back(split->second.by_time()
                        ? split->second.of_time(piece.times[i])
                        : split->second.of(piece.sources[i], piece.destinations[i]));
    if (drop_loops && piece.sources[i] == piece.destinations[i]) {
      continue;
    }
    auto& of_role = columns[roles.back()];
    of_role.sources.push_back(piece.sources[i]);
    of_role.destinations.push_back(piece.destinations[i]);
    if (!piece.times.empty()) {
      of_role.times.push_back(piece.times[i]);
    }
  }
  for (std::size_t role = 0; role < columns.size(); ++role) {
    const auto& [sources, destinations, times] = columns[role];
    const std::vector<float> labels(edge_roles_.size() > 1 ? sources.size() : 0, relation);
    if (!sources.empty()) {
      TROUPE_RETURN_IF_ERROR(add_links({"", std::string(link_role_names[role])},
                                       {sources, destinations, times, labels}));
    }
  }
  return roles;
}

}  // namespace troupe
