#include "runtime/sample/hop_checks.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

Status check_choice(const Part& part, const HopRequest& request,
                    std::span<const ChoiceKind> kinds) {
  if (request.choice >= kinds.size()) {
    return sampling_refused(
        part, Errc::invalid_argument,
        fmt::format("expected a choice < {}, got {}", kinds.size(), request.choice));
  }
  const auto& kind = kinds[request.choice];
  if (kind.make == nullptr) {
    return sampling_refused(part, Errc::unimplemented,
                            fmt::format("the choice \"{}\" is not built yet", kind.name));
  }
  return ok_status();
}

Status check_excluded(const Part& part, const HopSection& section, std::uint64_t nodes) {
  const auto& excluded = section.excluded;
  if (!excluded.empty() && excluded.back().place >= nodes) {
    return sampling_refused(
        part, Errc::invalid_argument,
        fmt::format("expected excluded edges of nodes at places below {}, got {}", nodes,
                    excluded.back().place));
  }
  if (std::ranges::adjacent_find(excluded, std::ranges::greater_equal()) != excluded.end()) {
    return sampling_refused(part, Errc::invalid_argument,
                            "expected excluded edges in ascending order, none twice");
  }
  return ok_status();
}

Status check_within(const Part& part, const HopRequest& request, const HopSection& section) {
  if (!section.within) {
    return ok_status();
  }
  if (*section.within >= request.frontiers.size() || section.fanout != all_neighbours ||
      section.first_position != 0) {
    return sampling_refused(
        part, Errc::invalid_argument,
        fmt::format("a set of neighbors needs a frontier < {} and a whole answer with "
                    "fanout -1, got frontier {}, fanout {}, first position {}",
                    request.frontiers.size(), *section.within, section.fanout,
                    section.first_position));
  }
  const auto type = part.edges_of(section.edge_type).neighbour_type(request.dir);
  if (request.frontiers[*section.within].node_type != type) {
    return sampling_refused(
        part, Errc::invalid_argument,
        fmt::format("expected a set of neighbors of type {}, got one of type {}", raw(type),
                    raw(request.frontiers[*section.within].node_type)));
  }
  return ok_status();
}

/// What can be said without the part's lists.
Status check_sections(const Part& part, const HopRequest& request) {
  const HopSection* before = nullptr;
  for (const auto& section : request.sections) {
    if (section.frontier >= request.frontiers.size()) {
      return sampling_refused(part, Errc::invalid_argument,
                              fmt::format("expected a frontier < {}, got {}",
                                          request.frontiers.size(), section.frontier));
    }
    const auto& frontier = request.frontiers[section.frontier];
    if (raw(section.edge_type) >= part.edges.size() ||
        raw(frontier.node_type) >= part.nodes.size()) {
      return sampling_refused(
          part, Errc::invalid_argument,
          fmt::format("expected edge type < {} and node type < {}, got {} and {}",
                      part.edges.size(), part.nodes.size(), raw(section.edge_type),
                      raw(frontier.node_type)));
    }
    if (!frontier.trees.empty() && frontier.trees.size() != frontier.nodes.size()) {
      return sampling_refused(part, Errc::invalid_argument,
                              fmt::format("expected trees of {} nodes or none, got {}",
                                          frontier.nodes.size(), frontier.trees.size()));
    }
    if (!frontier.times.empty() && frontier.times.size() != frontier.nodes.size()) {
      return sampling_refused(part, Errc::invalid_argument,
                              fmt::format("expected times of {} nodes or none, got {}",
                                          frontier.nodes.size(), frontier.times.size()));
    }
    if (before != nullptr && section.edge_type <= before->edge_type) {
      return sampling_refused(part, Errc::invalid_argument,
                              fmt::format("expected edge types in ascending order, got {} after {}",
                                          raw(section.edge_type), raw(before->edge_type)));
    }
    if (section.fanout < all_neighbours) {
      return sampling_refused(
          part, Errc::invalid_argument,
          fmt::format("expected fanout >= 0 or -1 for all, got {}", section.fanout));
    }
    const bool resumes = section.first_position != 0;
    if (resumes && (section.fanout != all_neighbours || frontier.nodes.empty())) {
      return sampling_refused(
          part, Errc::invalid_argument,
          fmt::format("first position {} needs fanout -1 and a node, got fanout {}, {} nodes",
                      section.first_position, section.fanout, frontier.nodes.size()));
    }
    TROUPE_RETURN_IF_ERROR(check_excluded(part, section, frontier.nodes.size()));
    TROUPE_RETURN_IF_ERROR(check_within(part, request, section));
    before = &section;
  }
  return ok_status();
}

}  // namespace

Error sampling_refused(const Part& part, Errc code, const std::string& what) {
  return {code, fmt::format("sampling in part {}: {}", raw(part.id), what)};
}

Status check_hop_request(const Part& part, const HopRequest& request,
                         std::span<const ChoiceKind> kinds) {
  TROUPE_RETURN_IF_ERROR(check_choice(part, request, kinds));
  return check_sections(part, request);
}

}  // namespace troupe
